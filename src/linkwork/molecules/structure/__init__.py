"""Structure files and peptides: atoms, what was changed on the way, what was missing."""
