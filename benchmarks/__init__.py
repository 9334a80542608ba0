"""Benchmarks: every file or folder here that defines `run(options) -> Report` is one.

`configure(parser)` adds options of its own. A benchmark of several files is a folder; `harness` is what all of them share.
"""
