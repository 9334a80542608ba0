"""File → Linkage."""
