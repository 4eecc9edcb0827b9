"""Checkpoints: what a training has done, on disk, to go on from after it was killed."""
