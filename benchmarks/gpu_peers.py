"""Optimisers in plain torch for the same objective on the same device, tuned by an oracle.

``lbfgs``: torch.optim.LBFGS on the full batch of a Huberised hinge, whose width falls from run to
run, each from the one before; it goes on when three steps in a row are no better. ``sgd``:
mini-batches with steps eta / (1 + lam eta t), the weights averaged over the last half; it gives up
after 1000 epochs. Looking at the true objective is not counted.
"""

import time

import torch

from benchmarks.gpu_data import wait
from pegasos.sites.device.products import products

SMOOTHING = (
    (0.3,), (0.1,), (0.3, 0.03), (0.3, 0.03, 0.003), (0.1, 0.01, 0.001), (0.1, 0.01, 0.001, 0.0001),
)  # fmt: skip
ETAS = (0.1, 0.3, 1.0, 3.0)
BATCHES = (16384, 131072)
EPOCHS = 1000


def objective(X, y, lam, w):
    """lam/2 |w|^2 + mean hinge loss, in float64."""
    w = w.double()
    loss = (1 - y * products(X, w[None], exact=True)[0]).clamp(min=0).mean()
    return float(lam / 2 * (w @ w) + loss)


class Race:
    """Keeps the time, and when each target was reached first."""

    def __init__(self, targets, limit):
        self.targets, self.limit, self.spent, self.reached = targets, limit, 0.0, {}
        self.began = None

    def start(self):
        wait()
        self.began = time.perf_counter()

    def stop(self):
        wait()
        self.spent += time.perf_counter() - self.began

    def see(self, primal):
        for target in self.targets:
            if primal <= target and target not in self.reached:
                self.reached[target] = self.spent

    @property
    def over(self):
        return self.spent > self.limit or len(self.reached) == len(self.targets)


def lbfgs(X, y, lam, race, *widths):
    w = torch.zeros(X.shape[1], device=X.device, requires_grad=True)
    for width in widths:
        search = torch.optim.LBFGS(
            [w], lr=1.0, max_iter=5, history_size=20, line_search_fn="strong_wolfe"
        )

        def closure(search=search, width=width):
            search.zero_grad()
            loss = _smooth_loss(1 - y * (X @ w), width) + lam / 2 * (w @ w)
            loss.backward()
            return loss

        best, worse = float("inf"), 0
        while not race.over and worse < 3:
            race.start()
            search.step(closure)
            race.stop()
            primal = objective(X, y, lam, w.detach())
            race.see(primal)
            worse = worse + 1 if primal > best * (1 - 1e-9) else 0
            best = min(best, primal)


def _smooth_loss(slack, width):
    """The mean hinge loss, a parabola from -width to width."""
    inside = slack.clamp(min=-width, max=width)
    return ((inside + width) ** 2 / (4 * width) + (slack - width).clamp(min=0)).mean()


def sgd(X, y, lam, race, eta, batch):
    n, w = len(X), torch.zeros(X.shape[1], device=X.device)
    batch = min(batch, n)
    mean, counted, step = torch.zeros_like(w), 0, 0
    for epoch in range(EPOCHS):
        if race.over:
            return
        race.start()
        if epoch & (epoch - 1) == 0:  # a power of two
            mean, counted = torch.zeros_like(w), 0
        for lo in range(0, n - batch + 1, batch):
            x, s = X[lo : lo + batch], y[lo : lo + batch]
            rate = eta / (1 + lam * eta * step)
            wrong = (s * (x @ w) < 1) * s
            w = (1 - rate * lam) * w + rate / batch * (wrong @ x)
            mean += w
            counted += 1
            step += 1
        race.stop()
        race.see(objective(X, y, lam, w))
        race.see(objective(X, y, lam, mean / counted))


GRIDS = {
    "L-BFGS": (lbfgs, SMOOTHING),
    "SGD": (sgd, [(eta, batch) for eta in ETAS for batch in BATCHES]),
}


def best_times(X, y, lam, targets, limit):
    """{name: {target: (seconds, setting)}} of the best settings; targets none reached are left out.

    The clock stops for looks at the true objective.
    """
    best = {}
    for name, (optimise, settings) in GRIDS.items():
        best[name] = {}
        optimise(X, y, lam, Race(targets, 0.0), *settings[0])  # one step or epoch: warms up
        for setting in settings:
            race = Race(targets, limit)
            optimise(X, y, lam, race, *setting)
            for target, seconds in race.reached.items():
                if target not in best[name] or seconds < best[name][target][0]:
                    best[name][target] = (seconds, ", ".join(map(str, setting)))
    return best
