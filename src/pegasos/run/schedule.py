"""When to look at a run, and how far it goes between two pauses."""

from __future__ import annotations

from pegasos.sites.policy import Runnable

# The tuned numbers of a run's pace. Slices change no result; not measured apart unless said.
_SLICE_SECONDS = 0.1  # how long a Ctrl-C waits
_FIRST_SLICE_VALUES = 1 << 20  # x lanes, when nothing is measured
_MOST_SLICE_RATIO = 4.0  # of a slice to the one before, or of that to this
_MOST_SLICE_ROWS = 1 << 60  # a solver that pauses sooner than told keeps its slices short
# Epochs between stops of a solver that stops by itself where tol may be met. Estimates at every
# epoch were a tenth of the time of many small lanes, and more of it on two threads.
RARELY = 8
# Of the epochs of one certificate to the next: with estimates, and without.
_GROWTH, _GROWTH_WITHOUT_ESTIMATES = 4.0, 1.25
_QUICK_VALUES = 1 << 25  # x lanes: visited before certificates are due that nothing calls for


def first_slice(problem: Runnable) -> int:
    """Rows for the first slice, when nothing is measured."""
    return max(1, int(_FIRST_SLICE_VALUES / problem.visit_values))


def next_slice(rows: int, seconds: float) -> int:
    """Rows for the next slice, from the time the last one took."""
    by = _SLICE_SECONDS / max(seconds, 1e-9)
    wanted = rows * min(_MOST_SLICE_RATIO, max(1 / _MOST_SLICE_RATIO, by))
    return max(1, int(min(wanted, _MOST_SLICE_ROWS)))


def quick_rows(problem: Runnable) -> int:
    """Rows before which a certificate would be much of the work."""
    return int(problem.site.speed * _QUICK_VALUES / problem.visit_values)


class Schedule:
    """When to look at a run: stops at which it may be certified, in rows visited.

    Every ``apart`` epochs there is a stop. Certificates are due at epochs 1, 4, 16, ... where the
    solver has estimates to ask for more, else at steps of a quarter; or every ``every`` epochs.
    Where there are estimates, none is due in the first ``quick`` rows.
    """

    def __init__(self, n: int, every: float | None, quick: int = 0, apart: int = 1) -> None:
        """Nothing certified yet."""
        self.n, self.apart = n, apart
        self.first = max(1, -(-quick // n))  # epoch
        self.every = None if every is None else max(1, round(every * n))
        self.growth = _GROWTH
        self.last = 0  # rows visited at the last certificate
        self.next_due = self.every or self.first * n
        self.next_stop = self.every or min(self.next_due, apart * n)

    def due(self, seen: int) -> bool:
        """Whether a certificate is due; moves the next stop on."""
        self.next_stop = min(self.next_due, (seen // self.n + self.apart) * self.n)
        if self.every is not None:
            self.next_stop = self.next_due
        return seen >= self.next_due

    def may_check(self, seen: int) -> bool:
        """Keep certificates that estimates call for a tenth of the run apart."""
        return self.every is None and seen >= self.last + self.last // 10

    def without_estimates(self) -> None:
        """The solver has none: certificates come by schedule alone."""
        if self.growth != _GROWTH_WITHOUT_ESTIMATES:
            self.growth, self.first = _GROWTH_WITHOUT_ESTIMATES, 1
            self._plan(self.last)

    def certified(self, seen: int) -> None:
        """A certificate was taken: plan the next."""
        self.last = seen
        self._plan(seen)
        self.due(seen)

    def postpone(self, seen: int) -> None:
        """A certificate was due, and not worth taking."""
        self._plan(seen)
        self.due(seen)

    def _plan(self, seen: int) -> None:
        if self.every is not None:
            self.next_due = (seen // self.every + 1) * self.every
        else:
            epochs = int(seen // self.n)
            self.next_due = max(epochs + 1, int(epochs * self.growth), self.first) * self.n
