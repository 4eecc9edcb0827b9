"""LIBLINEAR, its own Python package: -s 3, dual coordinate descent with shrinking, hinge loss.

The tolerance is -e, on the largest violation of a dual coordinate's optimality. A run ends at an
iteration cap that no option raises; a tighter -e then changes nothing.
"""

import ctypes

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.peers import LIBLINEAR_TOLERANCES, Fit, Peer

_CAP_REACHED = b"reaching max number of iterations"


class Liblinear(Peer):
    """liblinear.train on nodes that are converted once."""

    name = "liblinear"
    title = "LIBLINEAR"
    package = "liblinear-official"
    module = "liblinear"
    tolerances = LIBLINEAR_TOLERANCES

    def convert(self, X, y):
        from liblinear.liblinearutil import problem

        # Dense rows are converted one by one in Python; through CSR it is a matter of seconds.
        return problem(y.astype(np.float64), csr_matrix(X, dtype=np.float64))

    def fit(self, data, C, tolerance, threads):  # noqa: ARG002
        from liblinear import liblinear as library
        from liblinear.liblinearutil import parameter, train

        options = parameter(f"-s 3 -c {C!r} -e {tolerance!r} -B -1")
        printed = []
        listen = library.PRINT_STRING_FUN(printed.append)
        options.print_func = listen
        library.liblinear.set_print_string_function(listen)
        ctypes.CDLL(None).srand(0)  # LIBLINEAR draws from the C library's rand()
        model = train(data, options)
        # Its first label, the positive one to LIBLINEAR, is that of the first row.
        w = np.ctypeslib.as_array(model.w, (model.nr_feature,)) * model.get_labels()[0]
        return Fit(w, last=_CAP_REACHED in b"".join(printed))


peer = Liblinear()
