"""How bodies that are held answer, condensed from a simulation."""
