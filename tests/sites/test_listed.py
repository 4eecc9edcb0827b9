"""What a stranger's rows are by default: aligned where they are, and known by their values."""

import numpy as np
import pytest
from tests.common.toys import toy
from tests.sites.listed import ListRows

import pegasos


@pytest.mark.parametrize(("most", "aligned"), [(128, True), (256, True), (48, False), (130, False)])
def test_samples_are_offered_where_parts_begin_with_one(most, aligned):
    rows = ListRows.of(toy(300, 4, seed=1).X, most=most)
    assert rows.samples == aligned


def test_a_checkpoint_knows_rows_by_their_values(tmp_path):
    data = toy(300, 4, seed=1)
    assert ListRows.of(data.X).checksum() == ListRows.of(data.X).checksum()
    other = data.X.copy()
    other[7, 2] += 1.0
    options = {"C": 1.0, "solver": "dual", "tol": 1e-9, "seed": 0}
    y, folder = data.Y[:, 0], tmp_path / "run"
    pegasos.solve(ListRows.of(data.X), y, checkpoint=folder, max_epochs=2, **options)
    with pytest.raises(ValueError, match="X has other values"):
        pegasos.solve(ListRows.of(other), y, resume=folder, **options)
    assert np.isfinite(pegasos.solve(ListRows.of(data.X), y, resume=folder, **options).w).all()
