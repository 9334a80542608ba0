"""The linkage that moves between two updates: gathered from active joints and the rigid groups between them."""
