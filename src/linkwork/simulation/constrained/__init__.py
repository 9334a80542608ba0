"""Loops and couplings in the step, and how the linkage responds to impulses."""
