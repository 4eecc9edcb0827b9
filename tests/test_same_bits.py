"""``benchmarks.same_bits``: it finds what differs, and nothing else."""

import json
import sys

import numpy as np
import pytest

from benchmarks.same_bits import __main__ as program
from benchmarks.same_bits import fits
from benchmarks.same_bits.compare import difference, overlap, summary
from benchmarks.same_bits.toys import ALIGNED, Blocks, toy
from pegasos.data.dataset import Data


def trained(**changes):
    made = fits.Trained(
        weights=np.array([[1.0, -2.0, 0.0]]), intercepts=0.5, duals=[np.ones(2), np.zeros(1)],
        bounds=[1.0, 0.9], epochs=3.0, stop="converged",
    )  # fmt: skip
    return summary(made._replace(**changes))


def run(monkeypatch, capsys, *arguments):
    """The exit code and the lines of a run."""
    monkeypatch.setattr(sys, "argv", ["same_bits", *map(str, arguments)])
    code = 0
    try:
        program.main()
    except SystemExit as ended:
        code = ended.code
    return code, capsys.readouterr().out.splitlines()


def test_a_run_is_equal_to_itself_and_not_to_a_changed_one(monkeypatch, capsys, tmp_path):
    kept = tmp_path / "kept.json"
    only = "--only", "newton hinge free dense lanes"
    code, lines = run(monkeypatch, capsys, *only, "--json", kept)
    assert (code, len(lines)) == (0, 4)
    code, again = run(monkeypatch, capsys, *only, "--compare", kept)
    assert (code, again) == (0, [*lines, "0 of 4 fits differ"])
    code, _ = run(monkeypatch, capsys, *only, "--compare", kept, "--epochs", 1)
    assert "was made with --epochs None" in code
    found = json.loads(kept.read_text())
    name = next(iter(found["fits"]))
    found["fits"][name] |= {"hash": "0", "parts": found["fits"][name]["parts"] | {"duals": "0"}}
    found["fits"]["newton hinge free dense lanes of old"] = {}
    kept.write_text(json.dumps(found))
    code, again = run(monkeypatch, capsys, *only, "--compare", kept)
    assert code == 1
    assert sorted(again[4:]) == sorted([
        f"{name}: duals differ; weights by 0; bounds overlap",
        "newton hinge free dense lanes of old: not trained here", "2 of 5 fits differ",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weights": np.array([[1.0, np.nextafter(-2, 0), 0.0]])}, "weights differ; weights by"),
        ({"intercepts": np.nextafter(0.5, 1)}, "intercepts differ; weights by 0"),
        ({"duals": [np.ones(2), np.full(1, 5e-324)]}, "duals differ"),
        ({"bounds": [1.0, np.nextafter(0.9, 1)]}, "bounds differ; weights by 0; bounds overlap"),
        ({"bounds": [0.8, 0.7]}, "bounds DO NOT OVERLAP"),
        ({"duals": [], "epochs": 4.0}, "epochs 3.0 -> 4.0"),
    ],
)
def test_the_last_bit_of_every_part_counts(changes, words):
    assert words in difference(trained(**changes), trained())


def test_the_sign_of_zero_does_not():
    negative = np.array([[1.0, -2.0, -0.0]])
    assert difference(trained(weights=negative), trained()) is None


def test_a_fit_that_fails_is_told_and_the_others_are_trained(monkeypatch, capsys, tmp_path):
    def fail():
        raise ValueError("no such site")

    made = fits.Trained(np.ones(2), 0.0, [], [1.0, 0.9])
    monkeypatch.setattr(program, "everything", lambda: [("a", fail), ("b", lambda: made)])
    kept = tmp_path / "kept.json"
    code, lines = run(monkeypatch, capsys, "--json", kept)
    assert code == 1
    assert [line.split()[0] for line in lines] == ["failed", summary(made)["hash"]]
    code, lines = run(monkeypatch, capsys, "--compare", kept)
    told = "a: here ValueError: no such site; there ValueError: no such site"
    assert lines[2:] == [told, "1 of 2 fits differ"]


def test_bounds_overlap_lane_by_lane():
    def proven(primal, dual):
        return {"bounds": [*primal, *dual]}

    ours = proven([1.0, 2.0], [0.9, 1.9])
    assert overlap(ours, proven([1.1, 1.95], [1.0, 1.8]))
    assert not overlap(ours, proven([1.1, 1.85], [1.0, 1.8]))


def test_blocks_that_were_not_read_are_told(monkeypatch):
    data = toy()
    fits.solved(Blocks(data.X, data.y, None, ALIGNED), data.y, solver="sgds")
    monkeypatch.setattr(Blocks, "whole", lambda chunks: Data(chunks.X, chunks.y))
    with pytest.raises(RuntimeError, match="0 reads of 5 blocks"):
        fits.solved(Blocks(data.X, data.y, None, ALIGNED), data.y, solver="sgds")


def test_names_tell_fits_apart_and_every_value_is_met_with_weights_and_without():
    names = [name for name, _ in program.everything()]
    assert len(names) == len(set(names))
    grid = [name.split(" ") for name, _ in fits.grid()]
    for word in {word for name in grid for word in name} - {"weighted"}:
        assert {"weighted" in name for name in grid if word in name} == {True, False}
