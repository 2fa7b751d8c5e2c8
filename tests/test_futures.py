# SPDX-License-Identifier: Apache-2.0
"""torch.futures, as PyTorch's behave."""
import copy
import threading

import facula as torch
import pytest
from facula.futures import Future, collect_all, wait_all


def completed(value):
    f = Future()
    f.set_result(value)
    return f


def failed(error):
    f = Future()
    f.set_exception(error)
    return f


def test_once():
    f = Future()
    assert not f.done()
    with pytest.raises(RuntimeError, match="needs a future that is done"):
        f.value()
    f.set_result(3)
    assert f.done() and f.value() == f.wait() == 3
    for again in (lambda: f.set_result(4), lambda: f.set_exception(ValueError())):
        with pytest.raises(RuntimeError, match="mark a completed Future as complete again"):
            again()
    assert f.wait() == 3


def test_exceptions():
    f = failed(ValueError("foo"))
    for ask in (f.wait, f.value, f.wait):
        with pytest.raises(ValueError, match="foo"):
            ask()
    with pytest.raises(AssertionError, match=r"3 is of type <class 'int'>, not an Exception\."):
        Future().set_exception(3)


def test_then():
    f, seen = Future(), []
    g = f.then(lambda f: f.value() + 1)
    h = g.then(lambda g: 1 / 0)
    f.add_done_callback(lambda x: seen.append(x is f))
    assert not g.done() and not seen
    f.set_result(1)
    assert g.wait() == 2 and seen == [True]
    with pytest.raises(RuntimeError, match="error when running the callback: ZeroDivisionError: division by zero"):
        h.wait()
    assert failed(KeyError()).then(lambda f: 5).wait() == 5
    with pytest.raises(TypeError):
        f.then(3)
    with pytest.raises(TypeError):
        f.add_done_callback(None)


def test_a_callback_that_fails_stops_nobody(capfd):
    f, seen = Future(), []
    f.add_done_callback(lambda f: 1 / 0)
    f.add_done_callback(seen.append)
    f.set_result(1)
    assert seen == [f] and "ZeroDivisionError" in capfd.readouterr().err


def test_a_callback_may_use_its_future():
    f, seen = Future(), []
    f.add_done_callback(lambda f: f.add_done_callback(lambda f: seen.append(f.wait())))
    f.set_result(7)
    assert seen == [7]


def test_many():
    a, b = Future(), Future()
    both = collect_all([a, b])
    b.set_result(2)
    assert not both.done()
    a.set_result(1)
    assert both.wait() == [a, b] and wait_all([a, b]) == [1, 2] and wait_all([]) == []
    with pytest.raises(ValueError, match="bad"):
        wait_all([a, failed(ValueError("bad")), failed(KeyError("later"))])
    with pytest.raises(TypeError, match="got a int in it"):
        collect_all([3])


def test_threads():
    f = Future()
    values = []
    waiting = [threading.Thread(target=lambda: values.append(f.wait().item())) for _ in range(4)]
    for t in waiting:
        t.start()
    threading.Timer(0.02, lambda: f.set_result(torch.ones(()))).start()
    for t in waiting:
        t.join(10)
    assert values == [1.0] * 4
    some = [Future() for _ in range(50)]
    everything, won = collect_all(some), []

    def complete():
        for f in some:
            try:
                f.set_result(threading.get_ident())
                won.append(f)
            except RuntimeError:
                pass

    racing = [threading.Thread(target=complete) for _ in range(4)]
    for t in racing:
        t.start()
    assert everything.wait() == some
    for t in racing:
        t.join()
    assert len(won) == 50


def test_devices_and_copies():
    assert Future(devices=["cuda:0", 1]).done() is False
    with pytest.raises(ValueError, match="to have indices, got cpu"):
        Future(devices=["cpu"])
    with pytest.raises(ValueError, match="same type"):
        Future(devices=["cuda:0", "meta:0"])
    with pytest.raises(RuntimeError, match="Can not pickle"):
        copy.copy(completed(1))
    assert Future[int]
