"""Steps in time, backwards: one file per integrator and per part of a step."""
