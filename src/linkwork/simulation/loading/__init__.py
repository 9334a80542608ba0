"""What acts: loads, motors, actuators, fields, and the accelerations under it."""
