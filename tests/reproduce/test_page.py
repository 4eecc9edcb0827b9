"""The page in the repository is the one its results make."""

from pathlib import Path

import pytest

from reproduce import NAMES, experiment, page

FOLDER = Path(page.__file__).parent


def test_the_page_is_made_of_the_results_beside_it():
    assert (FOLDER / page.NAME).read_text() == page.text(FOLDER)


@pytest.mark.parametrize("name", NAMES)
def test_stored_verdicts_follow_from_stored_measurements(name):
    result = experiment.load(name, FOLDER)
    module = experiment.by_name(name)
    claims = module.claims(result["measured"])
    assert [experiment.Claim(**one) for one in result["claims"]] == claims
    assert (result["verdict"], result["reason"]) == experiment.verdict(claims)
    assert [experiment.Table(**one) for one in result["tables"]] == module.tables(
        result["measured"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_there_and_small(name):
    assert 1_000 < (FOLDER / name / "picture.png").stat().st_size < 120_000


def test_nothing_that_is_written_ends_a_cell():
    assert page._cell("a | b\nc") == "a \\| b c"
