"""Measurements: every number in the docs comes from one of these.

``python -m benchmarks`` times Pegasos against its peers; the other scripts say at their top what
they measure. Run from the root of the repository.
"""
