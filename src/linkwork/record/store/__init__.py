"""Folders and files of recordings: containers, checksums, locks."""
