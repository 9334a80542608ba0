"""Which joints move: the metrics that decide, the choice, and what follows from a change of it."""
