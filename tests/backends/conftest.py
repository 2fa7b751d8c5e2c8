# SPDX-License-Identifier: Apache-2.0
import facula
import pytest
from backend_tools import library


@pytest.fixture(scope="session")
def example():
    """The example backend's device type."""
    return facula.load_backend(library("example"))


_loaded = {}


@pytest.fixture
def hostile(monkeypatch):
    """Loads the hostile backend, misbehaving as told. Those whose results are nonsense are one device, which asks each time."""

    def load(how):
        monkeypatch.setenv("FACULA_HOSTILE", how)
        if not how.startswith("result_"):
            return facula.load_backend(library("hostile"))
        if "results" not in _loaded:
            _loaded["results"] = facula.load_backend(library("hostile"))
        return _loaded["results"]

    return load


@pytest.fixture(autouse=True)
def plain_fallback():
    """Every test starts without counts and in the mode `count`."""
    facula.backends.reset_fallback_counts()
    facula.backends.set_fallback_mode("count")
    yield
    facula.backends.set_fallback_mode("count")
