"""From the description to arrays: faults, order, splitting, who is near whom."""
