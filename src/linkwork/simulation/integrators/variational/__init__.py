"""The variational integrator: discrete equations of motion, their solution, its memory of steps."""
