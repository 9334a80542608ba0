"""Which bonds turn, and the linkage they make."""
