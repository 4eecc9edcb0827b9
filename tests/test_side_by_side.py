"""Many problems side by side: who works on what, and when."""

import threading

import pytest

from pegasos.run.interrupt import Interruption
from pegasos.run.side_by_side import in_chains

STEPS = 4


def rounds_of(chains, *, in_step):
    """What two threads do at the same time, round by round: both always have something to do."""
    together, begun, lock = threading.Barrier(2, timeout=30), [], threading.Lock()

    def body(step, chain):
        with lock:
            begun.append((step, chain))
        together.wait()

    in_chains(chains, STEPS, body, 2, Interruption(), in_step=in_step)
    return [set(begun[i : i + 2]) for i in range(0, len(begun), 2)]


def test_chains_that_are_left_over_run_ahead():
    rounds = rounds_of(3, in_step=False)
    assert [(step, 2) in round_ for step, round_ in enumerate(rounds[:STEPS])] == [True] * STEPS
    assert rounds[STEPS:] == [{(2, 0), (2, 1)}, {(3, 0), (3, 1)}]


def test_in_step_no_chain_is_ahead_of_the_others():
    rounds = rounds_of(3, in_step=True)
    assert rounds[:3] == [{(0, 0), (0, 1)}, {(0, 2), (1, 0)}, {(1, 1), (1, 2)}]
    assert rounds[3:] == [{(2, 0), (2, 1)}, {(2, 2), (3, 0)}, {(3, 1), (3, 2)}]


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("in_step", [False, True])
def test_every_step_of_every_chain_is_done_once_and_in_order(workers, in_step):
    done = {chain: [] for chain in range(5)}
    in_chains(
        5, STEPS, lambda step, chain: done[chain].append(step), workers, Interruption(),
        in_step=in_step,
    )  # fmt: skip
    assert done == {chain: list(range(STEPS)) for chain in range(5)}


def test_what_a_step_raises_ends_the_others_and_is_raised():
    interruption = Interruption()

    def body(step, chain):
        if (step, chain) == (1, 1):
            raise ZeroDivisionError
        while (step, chain) == (1, 0) and not interruption.requested:
            pass

    with pytest.raises(ZeroDivisionError):
        in_chains(2, STEPS, body, 2, interruption)
    assert interruption.requested
