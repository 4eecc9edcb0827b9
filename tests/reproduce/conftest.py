import pytest

from reproduce import data


@pytest.fixture(autouse=True)
def generated(monkeypatch):
    """No real data, whatever the machine has; generated ones are kept."""
    monkeypatch.delenv("PEGASOS_DATA", raising=False)
    real = (data._real, data._covertype, data._fashion)
    for cache in real:
        cache.cache_clear()
    yield
    for cache in real:
        cache.cache_clear()
