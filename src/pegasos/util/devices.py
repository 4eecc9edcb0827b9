"""Which arrays are on a device, told without importing torch."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

_CPU = 1  # of DLPack's kinds of device


def on_device(X: Any, device: Any) -> bool:
    """Whether a fit is to happen on a device: one was named, or X is on one."""
    return device is not None or is_device_array(X)


def is_device_array(X: Any) -> bool:
    """Whether X is an array of torch, CuPy or the like that is not in the memory of the host."""
    where = getattr(X, "__dlpack_device__", None)
    return where is not None and int(where()[0]) != _CPU


def kind_of_device(X: Any, device: Any) -> str | None:
    """The kind of device that a fit happens on, as its checkpoint says it; None: in memory."""
    if device is not None:
        return str(device).partition(":")[0]
    return "cuda" if is_device_array(X) else None


def gpu_part(name: str) -> Any:
    """A module of ``pegasos.gpu``; raises ImportError with what to install."""
    try:
        importlib.import_module("torch")
    except ImportError:
        raise ImportError(
            "training on a device needs torch: pip install 'pegasos[gpu]', or leave device out to "
            "train on the CPU"
        ) from None
    return importlib.import_module(f"pegasos.gpu.{name}")


def is_tensor(value: Any) -> bool:
    """Whether it is an array of torch, CuPy or the like, wherever it is."""
    return hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray)


def to_host(value: Any) -> Any:
    """An array of torch, CuPy or the like as NumPy's; anything else as it is."""
    if not is_tensor(value):
        return value
    if hasattr(value, "detach"):
        tensor = value.detach().cpu()
        # NumPy has no bfloat16; float32 holds every one of its numbers.
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    return value.get() if hasattr(value, "get") else np.asarray(value)
