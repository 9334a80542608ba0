"""Force fields: the compiled kernel, OpenMM as an engine, and what both can be asked."""
