"""The tuned numbers of SMO: what each bounds, and what it was set by.

"Not measured apart" means that a number came with what it belongs to: there is no record of others.
``python -m benchmarks.kernel`` times SMO as a whole, against LIBSVM; docs/design/kernels.md says
what matters, and in which order. How often a long run is certified is said in ``smo.py``.
"""

from __future__ import annotations

# -- Which rows, and rows of K
# Of the largest violation: while rows in the cache violate so much, they move, and none is
# computed. Not measured apart.
VIOLATION_SHARE_TO_STAY = 0.7
# Rows of K computed at once, at most: a stored value of a sparse row serves so many. Not measured
# apart.
BATCH = 64
# Of the largest K(x, x): a curvature so far below 0 proves that K is not positive semidefinite.
# What float32 makes of 0 is far less.
LEAST_NEGATIVE_CURVATURE = 1e-4

# -- Steps
# Values that a row counts for when threads are given out: they pay from 16,384 rows on.
VALUES_OF_ROW = 256
STEPS_BETWEEN_PAUSES = 2000  # between two looks at the keyboard; not measured apart
# Violations at which steps end, first and last; each is a tenth of the one before. Not measured
# apart.
FIRST_TOLERANCE, LAST_TOLERANCE = 1e-2, 1e-10

# -- Rows that are left out, settled at a bound: not measured apart
FEWEST_ROWS_TO_SHRINK = 2000
MOST_ROWS_TO_KEEP = 0.7  # of those in hand: if more would stay, all do

# -- Tiny problems
# They are solved to nearly all digits whatever tol says: it costs milliseconds, and a weight is
# then a repeated row. Rows of such a problem, the violation it ends at, and rounds of polishing, at
# most. Not measured apart.
MOST_TINY_ROWS, POLISHED_TOLERANCE, MOST_POLISHING = 500, 1e-12, 20
