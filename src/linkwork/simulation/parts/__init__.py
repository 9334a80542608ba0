"""What simulations are made of: each part has its arrays, what a checkpoint keeps of them, and how that is checked."""
