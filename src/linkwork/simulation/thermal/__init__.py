"""Temperature: random velocities, the Langevin thermostat, Fixman's potential."""
