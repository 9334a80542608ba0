"""Memory that a simulation and the coupling share without waiting for each other."""
