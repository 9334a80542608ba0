"""The walk over paths of the assembly tree: O(log n) responses."""
