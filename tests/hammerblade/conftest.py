# SPDX-License-Identifier: Apache-2.0
"""Tests of the HammerBlade device: facula as the program sees it, and settings that are put back."""

import pytest


@pytest.fixture(scope="session")
def torch():
    import facula

    if not facula.has_hammerblade:
        pytest.skip("the HammerBlade device was not built (USE_HAMMERBLADE)")
    return facula


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
