"""Run pytest on the module that `make test-asan` built, instead of the editable one."""

import sys

import pytest

sys.meta_path[:] = [one for one in sys.meta_path if "editable" not in type(one).__module__]
sys.path.insert(0, "build/asan")

import pegasos  # noqa: E402 - found only now

assert "build/asan" in pegasos.__file__, pegasos.__file__
sys.exit(pytest.main(sys.argv[1:]))
