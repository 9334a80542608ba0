"""Benchmarks. Each file has `run(options) -> Report`, and `configure(parser)` if it takes options of its own."""
