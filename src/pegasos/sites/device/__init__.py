"""Rows on a GPU, or anywhere torch computes: rows, duals and matrices are tensors, and stay there.

Nothing here is imported before a fit asks for a device; it needs the extra ``gpu``. This room has:

``site``       what the device says of itself, and which passes it has for a method
``rows``       rows from anywhere, on the device (a tensor, ``csr``) or on their way (``stream``)
``lanes``      labels, weights and the loss of a problem's lanes
``interior``, ``newton``   the passes of both methods, fused; ``batches``: Pegasos
``formulas``   the arithmetic of rows in plain tensors, and ``kernels``, which do the same in Triton
``certify``    the sums of certificates, in float64
"""
