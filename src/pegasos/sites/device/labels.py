"""Labels on a device: which lanes a row is in, and on what side."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.sites.device.arrays import as_tensor
from pegasos.util.arguments import check_sample_weight, floats


def signs_of(y: Any, n: int, device: torch.device) -> tuple[Tensor, bool]:
    """(K, n) labels in {-1, 0, +1}, and whether y was one binary problem."""
    if np.ndim(y) == 2 or (isinstance(y, Tensor) and y.ndim == 2):
        columns = as_tensor("y", y).to(device)
        _same_rows(columns.shape[0], n)
        wrong = ~((columns == -1) | (columns == 0) | (columns == 1))
        if bool(wrong.any()):
            row, lane = (int(v) for v in wrong.nonzero()[0])
            raise ValueError(
                "y with several columns must hold -1, 0 and +1, got "
                f"{columns[row, lane].item()!r} at row {row}, column {lane}"
            )
        return columns.to(torch.int8).T.contiguous(), False
    classes, codes = classes_of(y, n, device)
    if len(classes) != 2:
        raise ValueError(
            f"y must hold two classes, got {len(classes)}; pegasos.LinearSVC trains several, or "
            "pass y as (n, K) in {-1, 0, +1}"
        )
    return (2 * codes - 1).to(torch.int8)[None, :], True


def classes_of(y: Any, n: int, device: torch.device) -> tuple[NDArray[Any], Tensor]:
    """The classes, sorted, and (n,) the number of each row's."""
    if not isinstance(y, Tensor) and not hasattr(y, "__dlpack__"):
        y = np.asarray(y)
    if isinstance(y, np.ndarray) and y.dtype.kind not in "fiub":
        try:
            classes, inverse = np.unique(y, return_inverse=True)
        except TypeError:
            raise TypeError("y mixes labels of several types, or has missing ones") from None
        if y.ndim != 1:
            raise ValueError(f"y must be (n,), got shape {y.shape}")
        _same_rows(len(y), n)
        return classes, torch.from_numpy(inverse).to(device)
    labels = as_tensor("y", y).to(device)
    if labels.ndim != 1:
        raise ValueError(f"y must be (n,), got shape {tuple(labels.shape)}")
    _same_rows(len(labels), n)
    if labels.dtype in (torch.uint16, torch.uint32, torch.uint64):
        labels = labels.to(torch.int64)
    elif labels.dtype == torch.bfloat16:
        labels = labels.float()
    truths = labels.dtype == torch.bool
    if truths:
        labels = labels.to(torch.uint8)
    least, most = torch.aminmax(labels)
    if labels.is_floating_point() and not bool(torch.isfinite(least + most)):
        _check_finite(labels)
    upper = labels == most
    if bool((upper | (labels == least)).all()):  # two classes need no sorting
        found, codes = torch.unique(torch.stack([least, most])), upper.to(torch.int8)
    else:
        found, codes = torch.unique(labels, return_inverse=True)
    names = found.cpu().numpy()
    if truths:
        names = names.astype(bool)
    if isinstance(y, np.ndarray):
        names = names.astype(y.dtype)
    return names, codes


def _check_finite(labels: Tensor) -> None:
    wrong = (~torch.isfinite(labels)).nonzero()
    if len(wrong):
        raise ValueError(f"y contains NaN or infinity (inf) at row {int(wrong[0])}")


def check_sides(y: Tensor) -> None:
    """Raise ValueError for a lane that has no row on one side."""
    there = torch.stack([(y > 0).any(dim=1), (y < 0).any(dim=1)]).tolist()  # asked for once
    for name, lanes in zip(("+1", "-1"), there, strict=True):
        if not all(lanes):
            where = f" in column {lanes.index(False)} of y" if len(y) > 1 else ""
            raise ValueError(
                f"y needs examples of two classes; none of class {name}{where} is there with a "
                "positive sample weight (with several columns, 0 means: not part of the problem)"
            )


def weights_of(sample_weight: Any, n: int, device: torch.device) -> Tensor | None:
    """(1, n) sample weights in float64, checked."""
    if sample_weight is None:
        return None
    if not isinstance(sample_weight, Tensor) and not hasattr(sample_weight, "__dlpack__"):
        sample_weight = floats("sample_weight", sample_weight)
    if isinstance(sample_weight, np.ndarray):
        own = check_sample_weight(sample_weight, n)
        return torch.from_numpy(own.T.copy()).to(device)
    weight = as_tensor("sample_weight", sample_weight).to(device, torch.float64)
    if tuple(weight.shape) != (n,):
        raise ValueError(
            f"sample_weight must have one entry per row ({n}), got shape {tuple(weight.shape)}"
        )
    bad = ~(torch.isfinite(weight) & (weight >= 0))
    if bool(bad.any()):
        row = int(bad.nonzero()[0])
        raise ValueError(
            f"sample_weight must be finite and not negative, got {weight[row].item()} at row {row}"
        )
    if not bool(weight.any()):
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
    return weight[None, :]


def _same_rows(labels: int, n: int) -> None:
    if labels != n:
        raise ValueError(f"X and y disagree: X has {n} rows, y has {labels}")
