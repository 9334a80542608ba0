"""How bodies that are held respond, condensed from a simulation."""
