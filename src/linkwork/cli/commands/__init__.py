"""The commands, one per file: each has NAME, SUMMARY, configure(parser) and run(arguments)."""
