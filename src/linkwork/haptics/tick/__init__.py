"""The coupling between hands and bodies, which runs a thousand times per second."""
