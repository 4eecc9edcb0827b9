"""Do two versions of the code train the same models, to the last bit?

    python -m benchmarks.same_bits --json before.json      # in one checkout
    python -m benchmarks.same_bits --compare before.json   # in the other, on the same machine

Each fit gets a line: its name, and a hash of weights, intercepts, duals and bounds. ``--compare``
prints the fits that differ, by how much, and whether their bounds overlap; the exit code is then 1.
``--epochs 1`` ends every linear fit after one epoch, before a difference of rounding has grown.

``grid`` has all that is offered of solver x loss x intercept x dense or CSR x one lane or several x
one or two threads x memory or disk. ``tasks``, ``runs``, ``shapes`` and ``kernels`` have what is
not a dimension of it: classes, folds and probabilities; limits, checkpoints and starts; number
types, samples and phases of several ranges; kernels.

Only what users call is called, so that the same folder runs on any version. Rows on disk are blocks
that count how often they are read: a fit that took all rows at once would fail.

Left out is what depends on the clock or on which thread comes first: ``max_time``, and pairs of
``SVC`` on several threads, which share a cache.
"""
