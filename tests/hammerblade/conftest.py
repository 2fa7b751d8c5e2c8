# SPDX-License-Identifier: Apache-2.0
"""Tests of the HammerBlade device: facula as the program sees it, and settings that are put back."""

import zlib

import pytest
from cosim import needs_compiler

# What a test that is marked quick runs on besides the emulator: fidelity and mesh.
SIMULATED = {"functional-4x4": ("functional", 4, 4), "functional-16x8": ("functional", 16, 8), "timed-4x4": ("timed", 4, 4)}


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("quick")
    if marker:
        emulated = [pytest.param(None, id="emulated")] if marker.kwargs.get("emulated", True) else []
        metafunc.parametrize("engine_of_quick_tests", [*emulated, *(pytest.param(v, id=k, marks=needs_compiler) for k, v in SIMULATED.items())], indirect=True)


def pytest_collection_modifyitems(config, items):
    """Of the timed ones every tenth is kept, by its name: which, does not change as others come and go."""

    def left_out(item):
        engine = getattr(item, "callspec", None) and item.callspec.params.get("engine_of_quick_tests")
        return bool(engine) and engine[0] == "timed" and zlib.crc32(item.name.encode()) % 10 != 0

    if out := [item for item in items if left_out(item)]:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if not left_out(item)]


@pytest.fixture(scope="session")
def torch():
    import facula

    if not facula.has_hammerblade:
        pytest.skip("the HammerBlade device was not built (USE_HAMMERBLADE)")
    return facula


@pytest.fixture(autouse=True)
def engine_of_quick_tests(request):
    """The simulator, for those tests that are marked quick; the mesh and the engine are put back after it."""
    chosen = getattr(request, "param", None)
    if chosen is None:
        yield None
        return
    torch = request.getfixturevalue("torch")
    request.getfixturevalue("as_it_was")
    fidelity, x, y = chosen
    torch.hammerblade.tiles(x, y)
    with torch.hammerblade.engine("sim", fidelity=fidelity):
        yield chosen


@pytest.fixture(autouse=True)
def as_it_was(request):
    """The mesh, the mode and what becomes of operators without a kernel are a test's own."""
    if "torch" not in request.fixturenames:
        yield
        return
    torch = request.getfixturevalue("torch")
    device, fallback = torch.hammerblade, torch.backends.fallback_mode()
    tiles, mode = device.tiles(), device.mode()
    torch.backends.set_fallback_mode("error")
    yield
    device.tiles(*tiles)
    device.mode(str(mode), mode.seed)
    torch.backends.set_fallback_mode(fallback)
