"""The page of what is offered is what the code says."""

from dataclasses import asdict, replace
from itertools import combinations, product

import pytest
from docs.tools.fits import AXES, KERNEL_AXES, Fit, KernelFit, kernel_refusal, refusal

offered = pytest.importorskip("docs.tools.offered")
pytest.importorskip("distributed", reason="the extra `dask` is not installed")
pytest.importorskip("torch", reason="the extra `gpu` is not installed")

ALL = [Fit(*values) for values in product(*(AXES[axis] for axis in asdict(Fit())))]
KERNELS = [
    KernelFit(*values) for values in product(*(KERNEL_AXES[axis] for axis in asdict(KernelFit())))
]


def test_the_page_is_what_the_code_says():
    assert offered.PAGE.read_text() == offered.page(), f"run: {offered.WRITE}"


def test_a_fit_is_offered_if_every_two_of_its_parts_are():
    """The page shows pairs only, and these."""
    shown = [
        ("solver", "site"), ("solver", "loss"), ("solver", "intercept"), ("task", "site"),
        ("task", "solver"), ("task", "loss"), ("task", "intercept"),
    ]  # fmt: skip
    pairs = {
        (one, other): {
            (a, b): refusal(replace(Fit(**{one: a}), **{other: b})) is None
            for a, b in product(AXES[one], AXES[other])
        }
        for one, other in combinations(AXES, 2)
    }
    for pair, said in pairs.items():
        assert pair in shown or pair[::-1] in shown or all(said.values()), pair
    for fit in ALL:
        own = asdict(fit)
        every = all(said[own[one], own[other]] for (one, other), said in pairs.items())
        assert (refusal(fit) is None) == every, fit


def test_tasks_and_intercepts_of_kernels_do_not_depend_on_each_other():
    for fit in KERNELS:
        parts = replace(fit, task="two classes"), replace(fit, intercept="auto")
        assert (kernel_refusal(fit) is None) == all(kernel_refusal(p) is None for p in parts), fit


def test_notes_are_shared_and_numbered():
    table = offered.Table("corner", ["a", "b"])
    table.row("x", [None, "why"])
    table.row("y", ["why", "other"])
    assert str(table).splitlines() == [
        "| corner | a | b |", "|---|:-:|:-:|", "| x | ✓ | 1 |", "| y | 1 | 2 |", "", "1. why",
        "2. other",
    ]  # fmt: skip
