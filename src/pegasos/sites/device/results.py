"""Arrays go back to where they came from."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from pegasos.run.outcome import Outcome


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
