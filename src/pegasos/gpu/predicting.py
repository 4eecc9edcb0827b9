"""Scores and classes of rows on a device, as arrays like the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.sites.device.arrays import as_tensor, like, rows_tensor
from pegasos.sites.device.products import products
from pegasos.util.devices import to_host


def scores_on_device(X: Any, coef: Any, intercept: Any) -> Tensor:
    """(n, lanes) w.x + b."""
    rows = rows_tensor(X)
    weights = as_tensor("coef_", coef).to(rows.device, torch.float64)
    if rows.shape[1] != weights.shape[1]:
        raise ValueError(
            f"X has {rows.shape[1]} features, but the model expects {weights.shape[1]}"
        )
    found = products(rows, weights, exact=False).T
    scores = found + as_tensor("intercept_", intercept).to(rows.device, torch.float64)
    if not bool(torch.isfinite(scores).all()):
        row = int((~torch.isfinite(scores)).nonzero()[0, 0])
        raise ValueError(f"Input X contains NaN or infinity at row {row}.")
    return scores


def accuracy_on_device(predicted: Any, y: Any, sample_weight: Any) -> float:
    """The share of rows that are right."""
    if isinstance(predicted, np.ndarray):
        right = torch.from_numpy(predicted == np.asarray(to_host(y)))
    else:
        said = as_tensor("predictions", predicted)
        right = said == as_tensor("y", y).to(said.device)
    if sample_weight is None:
        return float(right.double().mean())
    weight = as_tensor("sample_weight", sample_weight).to(right.device, torch.float64)
    return float((right * weight).sum() / weight.sum())


def classes_on_device(scores: Any, classes: NDArray[Any]) -> Any:
    """The classes that scores mean, as an array like them; NumPy's, where they are no numbers."""
    tensor = as_tensor("scores", scores)
    places = (tensor > 0).long() if tensor.ndim == 1 else tensor.argmax(1)
    if classes.dtype.kind not in "fiub":
        return classes[places.cpu().numpy()]
    return like(scores)(torch.from_numpy(np.ascontiguousarray(classes)).to(places.device)[places])
