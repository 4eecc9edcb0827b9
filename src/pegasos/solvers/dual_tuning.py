"""The tuned numbers of DualCoordinate that Python needs: what each bounds, and what it was set by.

"Not measured apart" means that a number came with what it belongs to: there is no record of others.
The core's are in ``core/include/pegasos/solver/dual_tuning.hpp``; those that both need come from
there. docs/design/dual-coordinate.md has the measurements.
"""

from __future__ import annotations

# Bytes of X below which its rows are not prefetched: that costs more than it gains while they are
# in the cache. Not measured apart.
IN_CACHE_BYTES = 1 << 23

# Lanes of a group: wide enough that a row is read once for many, few enough to shrink. Not measured
# apart.
MOST_LANES_OF_GROUP = 16

# Bytes of the span of changes; without it where it takes more. A bound on memory, not on time.
MOST_BYTES_OF_SPAN = 1 << 24

# Rounds in which threads merge in their first pass over a list in memory, and over a block; from
# then on the loss decides. Not measured apart.
FIRST_ROUNDS = 16
FIRST_ROUNDS_OF_BLOCK = 4
