# SPDX-License-Identifier: Apache-2.0
"""Options shared by all Python tests, and the module under test."""
import importlib
import signal

import pytest


def pytest_addoption(parser):
    parser.addoption("--module", default="facula", help="module under test: facula (default), or torch to check the tests themselves")
    parser.addoption("--device", default="cpu", help="device that the operator table runs on")


def pytest_configure(config):
    config.module_under_test = None
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: children would hear no Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)


def module_of(config):
    """Imported once, when the first test asks for it."""
    if config.module_under_test is None:
        config.module_under_test = importlib.import_module(config.getoption("--module"))
        config.module_under_test.set_num_threads(1)  # tiny tensors; tests of threads set their own number
        config.module_under_test.manual_seed(0)
    return config.module_under_test


@pytest.fixture(scope="session")
def torch(request):
    """The module under test, under the name that programs give it."""
    return module_of(request.config)


@pytest.fixture(scope="session")
def device(request):
    return request.config.getoption("--device")


@pytest.fixture
def facula_only(torch):
    """For tests of what PyTorch does not have."""
    if torch.__name__ == "torch":
        pytest.skip("Facula's own interface")


@pytest.fixture(autouse=True)
def seeded(request):
    """Programs that are not seeded draw other numbers each time; tests draw the same, whatever ran before them."""
    if request.config.module_under_test is not None:
        request.config.module_under_test.manual_seed(0)
