"""Property tests draw the same examples every time; HYPOTHESIS_PROFILE=random draws new ones.

PEGASOS_INT64=1 gives every sparse matrix indices of 64 bits, as those of 2^31 values have.
"""

import os
from typing import Any

import numpy as np
from hypothesis import Phase, settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None, max_examples=1000)
settings.register_profile(  # that something fails is enough: no search for the shortest example
    "mutants", derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

if os.environ.get("PEGASOS_INT64"):
    from pegasos import rows

    _csr = rows._csr

    def _wide(X: Any, bias: float) -> Any:
        wide = (X if X.format == "csr" else X.tocsr()).copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        return _csr(wide, bias)

    rows._csr = _wide
