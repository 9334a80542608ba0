"""Another body hangs from the world."""
