"""What follows from the fields of a state: how it begins, closes ranks, and is refused."""

import numpy as np
import pytest
from tests.common.toys import toy

import pegasos
from pegasos import _core
from pegasos.crammer_singer import as_joint
from pegasos.data.chunks import ArrayChunks
from pegasos.problem import make_problem
from pegasos.sites.chunk_rows import ChunkRows
from pegasos.solvers import CrammerSinger, stream
from pegasos.state import COUNTS, Field, State, below, equal_to, permutation

SIZES = {"rows": 6, "lanes": 3, "weights": 4, "padded": 8}
FIELDS = (
    Field("W", ("weights", "padded")),
    Field("duals", ("rows", "lanes")),
    Field("met", ("lanes", 2), start=(np.inf, 1)),
    Field("list", (2, "rows"), np.uint32, below(6), start=np.arange),
    Field("deal", (5,), np.uint32, permutation, start=np.arange),
    Field("fixed", (2,), np.int64, equal_to([3, 4]), start=(3, 4)),
    Field("some", (None, "lanes"), np.uint8),
    COUNTS,
)


def some_state():
    W = np.zeros((4, 8))
    W[:, :3] = np.arange(12).reshape(4, 3)
    return State.begin(SIZES, FIELDS, W=W, duals=np.arange(18.0).reshape(6, 3))


def test_a_state_begins_as_its_fields_say():
    duals = np.ones((6, 3))
    state = State.begin(SIZES, FIELDS, duals=duals, cursor=7)
    assert state["duals"] is duals
    assert (state.seen, state.steps) == (7, 7)
    assert state["W"].shape == (4, 8)
    assert state["W"].ctypes.data % 64 == 0
    np.testing.assert_array_equal(state["met"], [[np.inf, 1]] * 3)
    np.testing.assert_array_equal(state["list"], [range(6)] * 2)
    assert {name: array.dtype for name, array in state.arrays.items()} == {
        field.name: field.dtype for field in FIELDS
    }


def test_an_array_of_any_length_may_grow():
    arrays = some_state().arrays
    assert arrays["some"].shape == (0, 3)
    arrays["some"] = np.ones((5, 3), np.uint8)
    assert State.resume(SIZES, FIELDS, arrays).take(np.array([1]), 4)["some"].shape == (5, 1)


def test_two_states_share_nothing():
    first = Field("first", (2,), start=(1, 2))
    one, two = (State.begin(SIZES, [first]) for _ in range(2))
    one["first"][:] = 5
    np.testing.assert_array_equal(two["first"], [1, 2])


def test_closing_ranks_is_what_one_would_write_by_hand():
    state = some_state()
    taken = state.take(np.array([2, 0]), 4)
    by_hand = state.arrays | {
        "W": np.array([[2, 0, 0, 0], [5, 3, 0, 0], [8, 6, 0, 0], [11, 9, 0, 0]]),
        "duals": state["duals"][:, [2, 0]],
        "met": state["met"][[2, 0]],
        "some": state["some"][:, [2, 0]],
    }
    assert taken.arrays.keys() == by_hand.keys()
    for name, array in taken.arrays.items():
        np.testing.assert_array_equal(array, by_hand[name], err_msg=name)
        assert array.flags.c_contiguous
    state["duals"][:] = 0
    assert taken["duals"].any()


def test_what_has_an_axis_of_rows_is_where_they_are():
    elsewhere = {name: size for name, size in SIZES.items() if name != "rows"}
    state = State.begin(elsewhere, FIELDS)
    assert state.arrays.keys() == {"W", "met", "deal", "fixed", "some", "cursor"}
    again = State.resume(elsewhere, FIELDS, state.arrays)
    assert again.take(np.array([1]), 4)["met"].shape == (1, 2)


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("duals", None, "duals is missing"),
        ("other", np.zeros(1), "no such run has other"),
        ("duals", np.zeros((6, 3), np.float32), "duals has the type float32.*not float64"),
        ("W", np.zeros((4, 4)), r"W has the type float64 and the shape \(4, 4\), not .*\(4, 8\)"),
        ("some", np.zeros((5, 4), np.uint8), r"some has .* \(5, 4\), not uint8 and \(5, 3\)"),
        ("some", np.zeros(3, np.uint8), r"some has .* \(3,\), not uint8 and \(3, 3\)"),
        ("cursor", np.array([0, -1]), "cursor is out of range"),
        ("cursor", np.array([1 << 60, 0]), "cursor is out of range"),
        ("list", np.full((2, 6), 6, np.uint32), "list has rows that there are not"),
        ("deal", np.array([0, 1, 1, 3, 4], np.uint32), "deal is no order of rows"),
        ("fixed", np.array([3, 5]), "fixed has changed"),
    ],
)
def test_what_no_run_has_is_refused_by_name(name, array, words):
    arrays = some_state().arrays
    State.resume(SIZES, FIELDS, arrays)
    arrays |= {name: array}
    with pytest.raises(ValueError, match=words):
        State.resume(SIZES, FIELDS, {k: v for k, v in arrays.items() if v is not None})


def _problem(solver, rows):
    lanes = 1 if solver.lanes_apart else 5
    data = toy(300, 6, lanes, seed=1)
    X = ChunkRows(ArrayChunks(data.X, data.Y[:, 0], block_bytes=3000)) if rows == "disk" else data.X
    intercept = "free" if "free" in solver.intercepts else "none"
    return make_problem(X, data.Y, C=1.0, intercept=intercept)


SOLVERS = [
    pegasos.DualCoordinate(), pegasos.InteriorPoint(), pegasos.Newton(), pegasos.Pegasos(),
    pegasos.Pegasos(sampling="permute", average=True), pegasos.SGDR(), pegasos.SGDS(),
]  # fmt: skip


@pytest.mark.parametrize("rows", ["memory", "disk"])
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_states_of_solvers_resume_and_close_ranks(solver, rows):
    """On its way a state is accepted as it is; without some lanes, it is one of the others."""
    problem = _problem(solver, rows)
    state = solver.start(problem, 3)
    solver.advance(problem, state, work=1 << 40, stop_seen=700, stop_steps=1 << 40)
    resumed = solver.resumed(problem, state.arrays).arrays
    assert resumed.keys() == state.arrays.keys()
    assert all(resumed[name] is array for name, array in state.arrays.items())
    if problem.lanes > 1:
        keep = np.array([0, 3])
        fewer = problem.take(keep)
        taken = solver.take(fewer, state, keep)
        solver.resumed(fewer, taken.arrays)
        W, some = solver.weights(problem, state), solver.weights(fewer, taken)
        np.testing.assert_array_equal(some[:, :2], W[:, keep])
        duals, kept = (solver.duals(p, s)(0, 300) for p, s in ((problem, state), (fewer, taken)))
        np.testing.assert_array_equal(kept, duals[:, keep])


def _past_the_end(arrays, problem):
    arrays["sweep"][1] = len(problem.site.ranges(problem))


def _another_block(arrays, problem):
    sizes = [hi - lo for lo, hi in problem.site.ranges(problem)]
    numbers = stream.block_order(3, int(arrays["sweep"][0]), len(sizes)).tolist()
    arrays["sweep"][1] = numbers.index(int(np.argmin(sizes)))
    arrays["deal"][:] = np.arange(max(sizes))[::-1]


def _unvisited(arrays, problem):
    arrays["cursor"][:] = arrays["inner"][:] = arrays["sweep"][:] = 0
    arrays["deal"][:] = np.arange(arrays["deal"].size)


def _no_batch(arrays, problem):
    arrays["batch_cursor"][1] = arrays["batch"].size + 1


def _long_list(arrays, problem):
    arrays["active"][0, 0] += problem.n


def _wild_threads(arrays, problem):
    arrays["meeting"][0] = np.nan


def _no_phase(arrays, problem):
    arrays["place"][0] = 1000


def _other_groups(arrays, problem):
    arrays["bounds"][1] += 1


@pytest.mark.parametrize(
    ("solver", "forge", "words"),
    [
        (pegasos.SGDS(), _past_the_end, "sweep is at no block"),
        (pegasos.SGDS(), _another_block, "deal is that of another block"),
        (pegasos.SGDS(), _unvisited, "rows erred that were not visited"),
        (pegasos.Pegasos(batch_size=5), _no_batch, "a batch is none"),
        (pegasos.DualCoordinate(), _past_the_end, "sweep is at no block"),
        (pegasos.DualCoordinate(), _long_list, "a list has no such size"),
        (pegasos.DualCoordinate(), _wild_threads, "meeting is not finite"),
        (pegasos.DualCoordinate(), _other_groups, "bounds has changed"),
        (pegasos.Newton(), _no_phase, "place is that of no phase"),
    ],
)
def test_forged_states_of_blocks_are_refused(solver, forge, words):
    problem = _problem(solver, "disk")
    state = solver.start(problem, 3)
    solver.advance(problem, state, work=1 << 40, stop_seen=350, stop_steps=1 << 40)
    forge(state.arrays, problem)
    with pytest.raises(ValueError, match=words):
        solver.resumed(problem, state.arrays)


def test_forged_states_of_several_classes_are_refused():
    data = toy(90, 5, 3, seed=1)
    classes = np.random.default_rng(0).integers(0, 3, 90)
    Y = np.where(classes[:, None] == np.arange(3), 1, -1)
    problem = as_joint(make_problem(data.X, Y, C=1.0, intercept="none"))
    solver = CrammerSinger()
    state = solver.start(problem, 0)
    solver.resumed(problem, state.arrays)
    negative = state.arrays | {"duals": state["duals"] - 1}
    with pytest.raises(ValueError, match="not feasible"):
        solver.resumed(problem, negative)
    state["cursor"][_core.JOINT_CURSOR.index("active")] = 91
    with pytest.raises(ValueError, match="past its end"):
        solver.resumed(problem, state.arrays)
