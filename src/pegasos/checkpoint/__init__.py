"""Checkpoints: what a training has done, on disk, to go on from after it was killed."""

from pegasos.checkpoint.errors import CheckpointError
from pegasos.checkpoint.folder import Checkpoint, Part, warned_of_full_disk
from pegasos.checkpoint.manifest import checksum, describe
from pegasos.checkpoint.saving import Saving

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Part",
    "Saving",
    "checksum",
    "describe",
    "warned_of_full_disk",
]
