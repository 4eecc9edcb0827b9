"""The client to use: the one given, or the one that is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.util.arguments import number

DEFAULT_TIMEOUT = 60.0


def client_of(given: Any) -> Any:
    """``given``, or the default client, as XGBoost and LightGBM find it."""
    try:
        from distributed import Client, get_client
    except ImportError as error:
        raise ImportError("pegasos.dask needs Dask: pip install 'pegasos[dask]'") from error
    if given is not None:
        if not isinstance(given, Client):
            raise TypeError(f"client must be a dask.distributed.Client, got {type(given).__name__}")
        if given.asynchronous:
            raise ValueError("pegasos.dask needs a client that is not asynchronous")
        return given
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client: make one with dask.distributed.Client(), or give client="
        ) from None


def check_timeout(timeout: float) -> float:
    """Seconds without a sign of life after which a worker is given up."""
    if not 0 < number("timeout", timeout) < np.inf:
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout}")
    return float(timeout)
