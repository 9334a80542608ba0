"""What several test files use: pages of the docs, recordings, scene files, command lines, kernels compiled elsewhere."""
