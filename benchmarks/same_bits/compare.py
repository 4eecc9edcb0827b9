"""What is kept of a fit, and how far two are apart."""

import hashlib

import numpy as np

PARTS = ("weights", "intercepts", "duals", "bounds")
KEPT = 4096  # weights, evenly spaced where there are more


def summary(trained):
    """A hash of each part and of all, and numbers that tell how far another fit is from this."""
    flat = {name: flattened(getattr(trained, name)) for name in PARTS}
    hashes = {name: hashlib.sha256(numbers.tobytes()).hexdigest() for name, numbers in flat.items()}
    weights = flat["weights"]
    return {
        "hash": hashlib.sha256("".join(hashes.values()).encode()).hexdigest()[:16],
        "parts": {name: value[:16] for name, value in hashes.items()},
        "weights": weights[:: max(1, -(-weights.size // KEPT))].tolist(),
        "bounds": flat["bounds"].tolist(),
        "epochs": trained.epochs,
        "stop": trained.stop,
    }


def failure(error):
    """Stands for a fit that raised an error."""
    return {"hash": "failed", "error": f"{type(error).__name__}: {error}"}


def flattened(value):
    """All numbers as little-endian float64; zero has no sign."""
    if isinstance(value, list | tuple):
        return np.concatenate([np.zeros(0, "<f8"), *map(flattened, value)])
    return np.asarray(value, dtype="<f8").ravel() + 0.0


def difference(ours, theirs):
    """In words; None if there is none. A fit that failed is like no other."""
    if "error" in ours or "error" in theirs:
        here, there = (fit.get("error", "trained") for fit in (ours, theirs))
        return f"here {here}; there {there}"
    if ours["hash"] == theirs["hash"]:
        return None
    differ = [name for name in PARTS if ours["parts"][name] != theirs["parts"][name]]
    words = [f"{', '.join(differ)} differ", f"weights by {apart(ours, theirs):.2g}"]
    words.append("bounds overlap" if overlap(ours, theirs) else "bounds DO NOT OVERLAP")
    for what in ("epochs", "stop"):
        if ours[what] != theirs[what]:
            words.append(f"{what} {theirs[what]} -> {ours[what]}")
    return "; ".join(words)


def apart(ours, theirs):
    """The largest difference of two weights, relative to the largest weight."""
    a, b = np.array(ours["weights"]), np.array(theirs["weights"])
    if a.size != b.size:
        return np.inf
    scale = np.abs(b).max(initial=0.0)
    return float(np.abs(a - b).max(initial=0.0) / scale) if scale else float(np.abs(a).max())


def overlap(ours, theirs):
    """Whether both fits' bounds, dual to primal, leave room for the same optimum."""
    a, b = np.array(ours["bounds"]), np.array(theirs["bounds"])
    if a.size != b.size:
        return False
    (primal, dual), (their_primal, their_dual) = np.split(a, 2), np.split(b, 2)
    return bool(np.all(np.maximum(dual, their_dual) <= np.minimum(primal, their_primal)))
