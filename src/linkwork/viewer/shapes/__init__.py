"""How bodies are drawn: as instances of few prototypes, fine or coarse."""
