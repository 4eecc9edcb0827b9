"""What rows go through before a model sees them, saved with it: text to numbers, scaling."""
