"""Water and air around the bodies of a linkage: buoyancy, drag, added mass, current, the seabed."""
