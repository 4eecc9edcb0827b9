"""What is not offered is refused by name, with the solver or place that can, before work starts."""

import pytest
from tests.sites.cells import SOLVERS, Cell, optima, rows_of
from tests.sites.places import PLACES, InMemory

REFUSED = {
    f"{place.name}-{refusal.solver if isinstance(refusal.solver, str) else refusal.solver.name}"
    f"-{number}": (Cell(place.name, "newton"), refusal)
    for place in PLACES.values()
    for number, refusal in enumerate(place.refusals)
}


@pytest.mark.parametrize(("cell", "refusal"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_offered_is_refused_by_name(cell, refusal, place):
    rows, worked = rows_of("dense", 1), []
    solver = SOLVERS.get(refusal.solver, refusal.solver)
    options = {"C": 1.0, "max_epochs": 3, "callbacks": [worked.append], **refusal.options}
    with pytest.raises(ValueError, match=refusal.words):
        place.solve(rows.X, rows.Y, rows.weight, solver=solver, **options)
    assert not worked


@pytest.mark.parametrize("cell", [Cell(name, "newton") for name in PLACES], ids=lambda c: c.place)
def test_a_place_says_what_it_runs(cell, place):
    """The table of these tests, and what the site tells those who ask."""
    for name, solver in SOLVERS.items():
        said = place.refusal(solver)
        assert (said is None) == (name in place.solvers)
        if said is not None:
            assert type(solver).__name__ in said or repr(solver.name) in said
            assert "'auto'" in said
    assert (place.refusal(InMemory()) is None) == (place.name == "memory")


@pytest.mark.parametrize("cell", [Cell(name, "newton") for name in PLACES], ids=lambda c: c.place)
def test_auto_chooses_what_a_place_runs(cell, place):
    rows = rows_of("dense", 1)
    found = place.solve(rows.X, rows.Y, rows.weight, C=1.0, tol=1e-4, seed=0)
    assert found.stop_reason == "converged"
    assert found.solver.name in place.solvers
    best = optima("hinge", "free", 1)
    assert (best * (1 - 1e-9) <= found.certificate.primal).all()
    assert (found.certificate.primal <= best * (1 + 1e-4)).all()
