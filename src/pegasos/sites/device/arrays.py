"""Arrays from anywhere as tensors on a device, without copies if they are there, and back."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.state import Arrays, expect

if TYPE_CHECKING:
    from pegasos.run.outcome import Outcome

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
"""Numbers that rows are trained on as they are."""


def device_of(X: Any, device: Any) -> torch.device:
    """Where to train: what was asked for, else where X is; raises if there is no such device."""
    try:
        found = as_tensor("X", X).device if device is None else torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(
            f"device must be the name of a torch device, like 'cuda' or 'cuda:1', got {device!r}"
        ) from None
    if found.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(
                f"device={device!r}, but torch finds no GPU here: it was built "
                f"{'for CUDA ' + torch.version.cuda if torch.version.cuda else 'without CUDA'}; "
                "leave device out to train on the CPU"
            )
        if found.index is None:
            found = torch.device("cuda", torch.cuda.current_device())
        elif found.index >= torch.cuda.device_count():
            raise ValueError(
                f"device={device!r}, but there are {torch.cuda.device_count()} GPUs here"
            )
    elif found.type != "cpu":
        raise ValueError(
            f"rows are trained on a CUDA device or the CPU, got {str(found)!r}: give device='cpu'"
        )
    return found


def as_tensor(name: str, value: Any) -> Tensor:
    """A tensor that shares memory with an array; of torch, of NumPy, or one that speaks DLPack."""
    if isinstance(value, Tensor):
        return value.detach()
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        return torch.from_dlpack(value)
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        array = array.astype(np.int64)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if any(stride < 0 or stride % array.itemsize for stride in array.strides):
        array = np.ascontiguousarray(array)
    with warnings.catch_warnings():
        # Nothing here writes to it.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)


def rows_tensor(X: Any) -> Tensor:
    """X as a tensor of two dimensions and of numbers that are trained on as they are."""
    tensor = as_tensor("X", X)
    if tensor.is_sparse or tensor.layout != torch.strided:
        raise TypeError("X is a sparse tensor: give a SciPy CSR matrix, or X.to_dense()")
    if tensor.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional (rows x features), got shape {tuple(tensor.shape)}; "
            "use X.reshape(-1, 1) for a single feature"
        )
    if tensor.is_complex():
        raise TypeError(f"X must hold real numbers, got dtype {tensor.dtype}")
    if tensor.dtype not in FLOATS:
        tensor = tensor.to(torch.float32 if tensor.element_size() == 1 else torch.float64)
    return tensor


def sent(values: NDArray[Any], device: torch.device) -> Tensor:
    """A small array of the host's as a tensor on the device; nobody waits until it is there."""
    return torch.from_numpy(np.array(values)).to(device, non_blocking=True)


def host(tensor: Tensor) -> NDArray[Any]:
    """A tensor as an array of the host's: waits until it is there."""
    return np.asarray(tensor.cpu().numpy())


def refill(tensors: Mapping[str, Tensor], arrays: Arrays) -> None:
    """Write arrays that were read from a file over tensors; ValueError if they are not alike."""
    expect(arrays.keys() == tensors.keys(), f"has {sorted(arrays)}, not {sorted(tensors)}")
    for name, tensor in tensors.items():
        found = torch.from_numpy(arrays[name])
        expect(
            found.shape == tensor.shape and found.dtype == tensor.dtype,
            f"{name} has the type {found.dtype} and the shape {tuple(found.shape)}, "
            f"not {tensor.dtype} and {tuple(tensor.shape)}",
        )
        tensor.copy_(found)


def like(X: Any) -> Callable[[Any], Any]:
    """What turns tensors and NumPy arrays into arrays like X, on its device."""
    if isinstance(X, Tensor):
        device = X.device
        return lambda value: torch.as_tensor(value).to(device)
    if not isinstance(X, np.ndarray) and hasattr(X, "__dlpack__"):
        module = importlib.import_module(type(X).__module__.split(".")[0])
        kind, number = X.__dlpack_device__()
        device = torch.device("cuda", number) if int(kind) == 2 else torch.device("cpu")
        return lambda value: module.from_dlpack(torch.as_tensor(value).to(device))
    return lambda value: value.cpu().numpy() if isinstance(value, Tensor) else value


def returned_like(X: Any, outcome: Outcome, duals: Tensor | None) -> Outcome:
    """The outcome with arrays like X, and the duals, if they were kept."""
    turn = like(X)
    found = outcome.duals if duals is None else turn(duals.T)
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack__"):
        return replace(outcome, duals=found)
    return replace(outcome, W=turn(outcome.W), b=turn(outcome.b), duals=found)
