"""Bad input gets an error that says what, where and what to do; extremes never give NaN."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from tests.common.toys import toy

import pegasos

DATA = toy(30, 5, seed=3)
X, Y = DATA.X, DATA.Y[:, 0]
CSR = DATA.csr()


def changed(array, place, value):
    array = array.astype(type(value), copy=True) if isinstance(value, float) else array.copy()
    array[place] = value
    return array


def csr_with(**arrays):
    parts = {name: getattr(CSR, name).copy() for name in ("data", "indices", "indptr")} | arrays
    out = CSR.copy()
    out.data, out.indices, out.indptr = parts["data"], parts["indices"], parts["indptr"]
    return out


def test_a_column_is_told_by_its_name():
    """Which of NaN and infinity it is, too: both were "NaN or infinity (inf)"."""
    pd = pytest.importorskip("pandas")
    for value, what in ((np.nan, "NaN"), (-np.inf, "infinity")):
        frame = pd.DataFrame(changed(X, (4, 2), value), columns=[*"abcde"])
        words = rf"X contains {what} at row 4, column 2 \('c'\)"
        for model in (pegasos.LinearSVC(), pegasos.LinearSVCCV(Cs=2, cv=2)):
            with pytest.raises(ValueError, match=words):
                model.fit(frame, Y)
        with pytest.raises(ValueError, match=rf"{what} at row 4, column 2$") as said:
            pegasos.solve(frame.to_numpy(), Y, C=1.0)
        assert str(pickle.loads(pickle.dumps(said.value))) == str(said.value)


BAD_X = [
    (changed(X, (4, 2), np.nan), ValueError, "X contains NaN at row 4, column 2"),
    (changed(X, (29, 0), -np.inf), ValueError, "row 29, column 0"),
    (changed(X, (4, 2), np.nan).astype(np.float32), ValueError, "row 4, column 2"),
    (csr_with(data=changed(CSR.data, 0, np.inf)), ValueError, "X contains infinity at row 0"),
    (changed(X, (3, 1), 1e200), ValueError, "row 3 overflows.*column 1.*scale"),
    (csr_with(indices=changed(CSR.indices, 0, 99)), ValueError, "column index 99 in row 0"),
    (csr_with(indices=changed(CSR.indices, 0, -1)), ValueError, "column index -1 in row 0"),
    (csr_with(indptr=changed(CSR.indptr, 5, 10_000)), ValueError, "indptr of row 4"),
    (X[:, 0], ValueError, "two-dimensional"),
    (X[:0], ValueError, "no rows"),
    (X[:, :0], ValueError, "no columns"),
    (X.astype(complex), TypeError, "real numbers.*complex"),
    (X.astype(str), TypeError, "real numbers"),
    (X[:-1], ValueError, "X has 29 rows, y has 30"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD_X, ids=[m for *_, m in BAD_X])
def test_bad_X_is_named_with_its_place(bad, error, message):
    with pytest.raises(error, match=message):
        pegasos.solve(bad, Y, C=1.0)


BAD_OPTIONS = [
    ({"C": 1.0, "lam": 0.1}, "exactly one of lam and C"),
    ({}, "exactly one of lam and C"),
    ({"lam": 0.0}, "lam must be finite and positive"),
    ({"lam": -1.0}, "lam must be"),
    ({"C": np.nan}, "C must be"),
    ({"C": [1.0, 2.0]}, "C must be one number or 1"),
    ({"C": 1.0, "sample_weight": np.ones(29)}, "sample_weight must have one entry per row"),
    ({"C": 1.0, "sample_weight": -np.ones(30)}, "sample_weight .*-1.0 at row 0"),
    ({"C": 1.0, "sample_weight": np.zeros(30)}, "sample_weight is zero"),
    ({"C": 1.0, "sample_weight": (Y > 0).astype(float)}, "two classes"),
    ({"C": 1.0, "tol": -1}, "tol must be"),
    ({"C": 1.0, "tol": np.nan}, "tol must be"),
    ({"C": 1.0, "max_time": 0}, "max_time must be positive"),
    ({"C": 1.0, "max_epochs": -3}, "max_epochs must be positive"),
    ({"C": 1.0, "max_steps": 0}, "max_steps must be positive"),
    ({"C": 1.0, "intercept": "none", "intercept_scaling": 5.0}, "would ignore intercept_scaling"),
    ({"C": 1.0, "max_steps": 2.5}, "max_steps must be a whole number"),
    ({"C": 1.0, "max_steps": 10**30}, "max_steps must be positive and finite"),
    ({"C": 1.0, "seed": -1}, "seed must be"),
    ({"C": 1.0, "record_every": 0}, "record_every must be positive"),
    (
        {"C": 1.0, "solver": "magic"},
        "solver must be one of auto, dual, interior, newton, pegasos, sgdm, sgdr, sgds",
    ),
    ({"C": 1.0, "loss": "logistic"}, "loss must be 'hinge'"),
    ({"C": 1.0, "intercept": "sometimes"}, "intercept must be auto, none, regularized or free"),
    (
        {"C": 1.0, "intercept": "free", "solver": "sgds"},
        "cannot train intercept='free'.*none and regularized",
    ),
    ({"C": 1.0, "intercept_scaling": 0.0}, "intercept_scaling must be in"),
    ({"C": 1.0, "intercept_scaling": 1e200}, "intercept_scaling must be in"),
    ({"C": 1.0, "solver": "sgdr"}, "set max_steps"),
    ({"C": 1.0, "solver": pegasos.Pegasos(count="on_loss")}, "gap cannot close: set max_steps"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS, ids=[m for _, m in BAD_OPTIONS])
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        pegasos.solve(X, Y, **options)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"C": "a"}, "C"), ({"lam": "a"}, "lam"), ({"C": 1.0, "tol": "x"}, "tol"),
        ({"C": 1.0, "tol": None}, "tol"), ({"C": 1.0, "max_time": "1"}, "max_time"),
        ({"C": 1.0, "record_every": "a"}, "record_every"),
        ({"C": 1.0, "seed": "a"}, "seed"),
        ({"C": 1.0, "sample_weight": ["a"] * 30}, "sample_weight"),
        ({"C": 1.0, "intercept_scaling": "a"}, "intercept_scaling"),
        ({"C": 1.0, "callbacks": print}, "callbacks"), ({"C": 1.0, "callbacks": [1]}, "callbacks"),
        ({"C": 1.0, "callbacks": None}, "callbacks"),
    ],
)  # fmt: skip
def test_options_of_the_wrong_type_are_named(options, name):
    with pytest.raises(TypeError, match=f"^{name} "):
        pegasos.solve(X, Y, **options)


@pytest.mark.parametrize(
    "y", [np.array([None, 1] * 15, dtype=object), sparse.csr_array(Y[:, None]), Y * 1j]
)
def test_labels_of_the_wrong_type_are_named(y):
    with pytest.raises(TypeError, match="y "):
        pegasos.solve(X, y, C=1.0)


def test_a_model_that_is_not_finite_cannot_be_certified():
    with pytest.raises(ValueError, match="w contains NaN"):
        pegasos.certify(X, Y, np.full(5, np.nan), C=1.0)
    with pytest.raises(ValueError, match="b must be"):
        pegasos.certify(X, Y, np.zeros(5), np.zeros(3), C=1.0)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(30), "two classes, got 1"),
        (np.arange(30) % 3, "two classes, got 3"),
        (changed(Y.astype(float), 3, np.nan), "y contains NaN .* row 3"),
        (np.full((30, 2), 2), "at row 0, column 0"),
        (np.stack([Y, np.ones(30)], axis=1), "none of class -1 in column 1"),
        (Y.reshape(3, 10, 1), "y must be"),
    ],
)
def test_bad_y_is_named(y, message):
    with pytest.raises(ValueError, match=message):
        pegasos.solve(X, y, C=1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pegasos.Pegasos(batch_size=0),
        lambda: pegasos.Pegasos(batch_size="some"),
        lambda: pegasos.Pegasos(batch_size=2.5),
        lambda: pegasos.Pegasos(batch_size="all", sampling="permute"),
        lambda: pegasos.Pegasos(sampling="never"),
        lambda: pegasos.Pegasos(init="ones"),
        lambda: pegasos.Pegasos(count="sheep"),
        lambda: pegasos.SGDM(multiplicity=0),
    ],
)
def test_bad_solver_options_are_refused(make):
    with pytest.raises(ValueError, match=r"batch_size|sampling|init|count|multiplicity"):
        make()


@pytest.mark.parametrize("call", [pegasos.Pegasos, pegasos.SGDM, pegasos.DualCoordinate])
def test_unknown_solver_options_raise(call):
    with pytest.raises(TypeError):
        call(learning_rate=0.1)


SCALES = [5e-324, 1e-310, 1e-160, 1e-30, 1.0, 1e30, 1e100, 1e150]


@pytest.mark.parametrize("solver", ["dual", "sgds", "sgdm", "pegasos"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("lam", [1e-12, 1e-3, 1e6])
@pytest.mark.parametrize("intercept", ["none", "regularized"])
def test_extremes_give_a_finite_model_or_a_named_error(solver, scale, lam, intercept):
    rng = np.random.default_rng(0)
    base = np.round(rng.uniform(-1, 1, (12, 3)), 2)
    base[3] = 0  # a row without features
    base[5] = base[4]  # a duplicate, with the other label
    base[:, 2] = 1  # a constant column
    y = np.array([1, -1] * 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            result = pegasos.solve(
                base * scale, y, lam=lam, solver=solver, intercept=intercept, max_epochs=40, seed=0
            )
        except ValueError as error:
            assert "scale the features" in str(error)  # noqa: PT017
            return
    assert np.isfinite(result.w).all()
    assert np.isfinite(result.b)
    proof = result.certificate
    assert np.isfinite(proof.primal)
    assert np.isfinite(proof.dual)
    assert proof.dual >= 0
    assert proof.gap >= -proof.rounding


@pytest.mark.parametrize("solver", ["dual", "sgds", "sgdm", "pegasos"])
@pytest.mark.parametrize("weight", [1e-300, 1e-165, 1e-30, 1e30, 1e160, 1e300])
@pytest.mark.parametrize("strength", [{"lam": 0.1}, {"C": 1e-200}, {"C": 1e170}, {"C": 1.0}])
def test_extreme_weights_and_C_never_prove_what_is_not_so(solver, weight, strength):
    """With lam the optimum does not depend on the weights' scale: D may not exceed it."""
    best = pegasos.solve(X, Y, lam=0.1, intercept="none", tol=1e-8, seed=0).certificate.primal
    try:
        result = pegasos.solve(
            X, Y, **strength, solver=solver, intercept="none", max_epochs=50, seed=0,
            sample_weight=np.full(30, weight),
        )  # fmt: skip
    except ValueError as error:
        assert "scale the features" in str(error)  # noqa: PT017
        return
    proof = result.certificate
    assert proof.gap >= -proof.rounding
    assert proof.dual >= 0
    if "lam" in strength:
        assert proof.dual <= best * (1 + 1e-8)
        assert proof.primal >= best * (1 - 1e-6)


def test_weights_whose_sum_overflows_are_refused():
    with pytest.raises(ValueError, match="sample_weight is too large"):
        pegasos.solve(X, Y, C=1.0, sample_weight=np.full(30, 1e308))


@pytest.mark.parametrize("solver", ["dual", "sgds", "pegasos"])
def test_one_example_per_class_and_rows_without_features(solver):
    result = pegasos.solve(
        sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])), [1, 0, 1], C=10.0,
        solver=solver, intercept="none", max_epochs=3000, tol=1e-2, seed=0,
    )  # fmt: skip
    # The empty row costs 1 whatever w is: its dual is at its bound. The others give
    # w = (1, -1/2), so 3 P = 1/10 |w|^2 / 2 + 1.
    assert result.certificate.primal == pytest.approx((0.0625 + 1) / 3, rel=2e-2)
    if solver == "dual":
        assert result.duals[2] == 1
