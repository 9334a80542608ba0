"""Exit codes of the program."""

DONE = 0
REFUSED = 1  # a LinkworkError or a file that cannot be read; stderr says why
WRONG_USAGE = 2  # as argparse has it
MISSED = 3  # `bench --strict`: a requirement was not met
INTERRUPTED = 130  # as shells have it: 128 + SIGINT
