"""Ready linkages for users, tests and benchmarks alike; sizes are parameters, seeds make them repeatable."""
