# SPDX-License-Identifier: Apache-2.0
"""The Python package: names, one object per tensor, lifetimes, pickling, constructors from before dtypes."""
import copy
import gc
import pickle
import subprocess
import sys
import threading
import warnings
import weakref

import pytest

pytestmark = pytest.mark.threads


def test_missing_names_say_so(torch):
    with pytest.raises(AttributeError, match="no_such_function"):
        torch.no_such_function
    with pytest.raises(AttributeError, match="no_such_method"):
        torch.ones(1).no_such_method
    with pytest.raises(AttributeError, match="no_such_operator"):
        torch.ops.aten.no_such_operator


def test_import_leaves_numpy_alone(torch):
    if torch.__name__ != "facula":
        pytest.skip("PyTorch loads NumPy")
    subprocess.run([sys.executable, "-c", "import facula, sys; assert 'numpy' not in sys.modules; facula.ones(2) + 1"], check=True)


def test_help_is_readable(torch):
    text = torch.add.__doc__
    assert "add(" in text and "alpha" in text and "other" in text


def test_one_object_per_tensor(torch):
    """While C++ holds a tensor its object stays, with class and attributes."""
    class Mine(torch.Tensor):
        pass
    x = torch.ones(2, requires_grad=True)
    grad = torch.full((2,), 3.0)
    grad.mark = "kept"
    x.grad = grad
    identity = id(grad)
    del grad
    gc.collect()
    assert id(x.grad) == identity and x.grad.mark == "kept"
    x.grad = torch.ones(2).as_subclass(Mine)
    gc.collect()
    assert type(x.grad) is Mine
    assert x.grad is x.grad


def test_weakrefs_and_cycles(torch):
    x = torch.ones(2)
    x.me = x
    ref = weakref.ref(x)
    del x
    gc.collect()
    assert ref() is None
    y = torch.ones(2, requires_grad=True)
    y.grad = torch.ones(2)
    ref = weakref.ref(y.grad)
    gc.collect()
    assert ref() is y.grad
    y.grad = None
    gc.collect()
    assert ref() is None


def test_deallocation_in_threads(torch):
    def work():
        for _ in range(200):
            x = torch.ones(3, requires_grad=True)
            y = (x * 2).sum()
            y.mark = [x]
            y.backward()
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]


@pytest.mark.parametrize("make", [
    lambda t: t.arange(6.0).view(2, 3), lambda t: t.arange(6).view(2, 3).t(), lambda t: t.ones(2, 2, dtype=t.bfloat16)[:, :1], lambda t: t.zeros(0, 3),
    lambda t: t.tensor(2.5), lambda t: t.ones(3, requires_grad=True), lambda t: t.tensor([True, False]), lambda t: t.ones(2, dtype=t.complex64),
    lambda t: t.ones(1, 2).expand(3, 2)])
def test_pickle_and_deepcopy(torch, make):
    x = make(torch)
    x.note = "mine"
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.tolist() == x.tolist() and y.dtype is x.dtype and y.requires_grad == x.requires_grad and y.note == "mine"
        assert y.data_ptr() != x.data_ptr() or x.numel() == 0
        assert y.stride() == x.stride() and y.storage_offset() == x.storage_offset()
        assert y.untyped_storage().nbytes() == x.untyped_storage().nbytes()


def test_deepcopy_keeps_shared_memory_shared(torch):
    x = torch.arange(6.0).view(2, 3)
    p = torch.zeros(2, requires_grad=True)
    p.grad = x[0, :2]
    a, b, c, q, d = copy.deepcopy([x, x[1], x.t().view(torch.int32), p, p])
    a[1, 0] = 0
    assert b.tolist() == [0, 4, 5] and c[0].tolist()[1] == 0 and x[1, 0] == 3
    a[0, 1] = -1
    assert d is q and q.grad.tolist() == [0, -1]
    assert b._base is None


def test_non_leaves_are_pickled_but_not_copied(torch):
    y = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user .* support the deepcopy protocol"):
        copy.deepcopy({"y": y})
    back = pickle.loads(pickle.dumps(y))
    assert back.is_leaf and back.requires_grad and back.tolist() == [2, 2]


def test_generators_are_pickled_and_copied(torch):
    g = torch.Generator().manual_seed(5)
    torch.rand(3, generator=g)
    copies = [pickle.loads(pickle.dumps(g)), copy.deepcopy(g), copy.copy(g)]
    want = torch.rand(2, generator=g).tolist()
    for h in copies:
        assert h is not g and h.initial_seed() == 5 and torch.rand(2, generator=h).tolist() == want


def test_forged_pickles_are_refused(torch):
    if torch.__name__ != "facula":
        pytest.skip("the function is Facula's")
    from facula._utils import _rebuild_tensor_v2

    for geometry in (([3], [1], 0), ([2], [1], 1), ([1 << 62, 4], [1, 1], 0), ([2], [-1], 1), ([2], [1, 1], 0), ([1], [1], 1 << 62), ([-1], [1], 0)):
        with pytest.raises(RuntimeError):
            size, stride, offset = geometry
            _rebuild_tensor_v2(torch.zeros(2).storage(), offset, size, stride, False, {})


def test_values_pickle(torch):
    for value in (torch.float32, torch.device("cpu"), torch.Size([2, 3]), torch.contiguous_format, torch.add):
        back = pickle.loads(pickle.dumps(value))
        assert back == value and type(back) is type(value)


def test_legacy_constructors(torch):
    assert torch.FloatTensor([1, 2]).dtype is torch.float32 and torch.LongTensor(2, 3).shape == (2, 3)
    assert isinstance(torch.ones(1), torch.FloatTensor) and not isinstance(torch.ones(1), torch.LongTensor)
    assert torch.ones(1).type() == "torch.FloatTensor" and torch.ones(1).type(torch.int64).type() == "torch.LongTensor"
    assert torch.Tensor([1, 2]).dtype is torch.float32 and torch.Tensor(2, 3).shape == (2, 3)


def test_python_shaped_functions(torch):
    assert torch.broadcast_shapes((2, 1), (3,), 1) == (2, 3)
    with pytest.raises(RuntimeError):
        torch.broadcast_shapes((2,), (3,))
    a, b = torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))
    assert a.shape == b.shape == (2, 3)
    assert [p.tolist() for p in torch.split(torch.arange(5), 2)] == [[0, 1], [2, 3], [4]]
    assert [p.tolist() for p in torch.arange(5).split([1, 4])] == [[0], [1, 2, 3, 4]]
    assert torch.nonzero(torch.tensor([0, 3, 0, 1])).tolist() == [[1], [3]]
    assert [t.tolist() for t in torch.nonzero(torch.tensor([[0, 3], [1, 0]]), as_tuple=True)] == [[0, 1], [1, 0]]
    assert torch.is_nonzero(torch.tensor([2.0])) and not torch.is_nonzero(torch.tensor(0))
    x = torch.arange(6.0).view(2, 3)
    assert x.T.tolist() == x.mT.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert x.untyped_storage().nbytes() == 24 and x[1:].untyped_storage().data_ptr() == x.data_ptr()
    assert not torch.cuda.is_available() or torch.__name__ == "torch"
    assert isinstance(torch.backends.cpu.get_cpu_capability(), str) and isinstance(torch.version.__version__, str)


@pytest.mark.parametrize(
    ("name", "number", "values"),
    [("add", 2, [3, 5]), ("sub", 2, [1, -1]), ("mul", 2, [2, 6]), ("div", 6, [6, 2]), ("floor_divide", 7, [7, 2]), ("subtract", 1.5, [0.5, -1.5]),
     ("multiply", True, [1, 3]), ("true_divide", 3.0, [3, 1]), ("divide", 6j, [6j, 2j])],
)  # fmt: skip
def test_a_number_may_come_first(torch, name, number, values):
    x = torch.tensor([1.0, 3.0])
    function, packet = getattr(torch, name), getattr(torch.ops.aten, name)
    found = function(number, x)
    assert found.tolist() == packet(number, x).tolist() == values and found.dtype is (torch.complex64 if number == 6j else torch.float32)
    assert function(input=number, other=x.to(torch.int32)).dtype is function(x.to(torch.int32), number).dtype
    assert (packet.default if name == "floor_divide" else packet.Tensor)(x, 2).tolist() == function(x, 2).tolist()


def test_numbers_for_tensors(torch):
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    torch.div(6, x).sum().backward()
    assert [round(g, 4) for g in x.grad.tolist()] == [-6, -0.6667]
    assert torch.div(7, torch.tensor([2.0]), rounding_mode="floor").tolist() == [3] and torch.sub(7, torch.ones(1), alpha=2).tolist() == [5]
    assert torch.mul(2, 2.5).dtype is torch.float32 and (torch.add(2, 3) + torch.ones((), dtype=torch.int32)).dtype is torch.int64
    assert torch.mul(2.0, torch.ones((), dtype=torch.float16)).dtype is torch.float16
    assert torch.mul(2, torch.ones(2, device="meta")).shape == (2,) and torch.ones(2).copy_(3).tolist() == [3, 3]
    out = torch.empty(2)
    assert torch.add(2, torch.ones(2), out=out) is out and out.tolist() == [3, 3]
    for wrong in (lambda: torch.maximum(2, x), lambda: torch.mul("a", x), lambda: torch.add(x, x, out=3)):
        with pytest.raises((TypeError, RuntimeError)):
            wrong()


def test_functional_has_no_dummies(torch):
    functional = torch.nn.functional
    x = torch.tensor([-1.0, 2.0])
    assert functional.relu(x).tolist() == [0, 2] and functional.softsign(torch.ones(1)).item() == 0.5
    y = x.clone()
    assert functional.relu(y, inplace=True) is y
    with pytest.raises(AttributeError, match="no_such"):
        functional.no_such


def test_errors_name_the_argument(torch):
    with pytest.raises(TypeError, match=r"must be tuple of ints, but found element of type float at pos 0"):
        torch.zeros((2.0,))
    with pytest.raises(TypeError, match=r"argument 'input' \(position 1\) must be Tensor, not list"):
        torch.sigmoid([1.0])
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        torch.sigmoid(torch.ones(1), colour=3)
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.pow(torch.ones(1), "text")


def test_errors_list_what_is_possible(torch):
    with pytest.raises(TypeError) as raised:
        torch.max(torch.ones(1), "text")
    text = str(raised.value)
    assert text.startswith("max() received an invalid combination of arguments - got (Tensor, str), but expected one of:\n")
    assert sorted(line for line in text.splitlines() if line.startswith(" * ")) == [
        " * (Tensor input, *, Tensor out = None)",
        " * (Tensor input, Tensor other, *, Tensor out = None)",
        " * (Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None)",
    ]
    with pytest.raises(TypeError, match=r"zeros\(\): argument 'size' \(position 1\) must be tuple of ints, not str"):
        torch.zeros("text")


def test_errors_of_wrong_types_are_of_the_right_kind(torch):
    mask, whole = torch.ones(2, dtype=torch.bool), torch.arange(3)
    with pytest.raises(TypeError, match="only implemented on integer and Boolean-type tensors"):
        ~torch.ones(2)
    for negate in (lambda: -mask, mask.neg_, lambda: torch.negative(mask)):
        with pytest.raises(NotImplementedError, match="If you are trying to invert a mask, use the `~` or `logical_not"):
            negate()
    for f in ("mean", "std", "var", "norm", "nanmean", "var_mean"):
        with pytest.raises(NotImplementedError, match="floating point"):
            getattr(torch, f)(whole)
    for kind in (int, float, complex):
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            kind(whole)


def test_the_grad_of_what_is_no_leaf_warns(torch):
    x = torch.ones(2, requires_grad=True)
    y, kept = x * 2, x * 2
    kept.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None and kept.grad is None and torch.ones(1).grad is None and y.detach().grad is None
        with pytest.raises(UserWarning):
            y.grad
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed") as told:
        assert y.grad is None
    assert told[0].filename == __file__
    y.grad = torch.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad.tolist() == [1, 1]


def test_next_functions_show_inputs_without_gradient(torch):
    x, c = torch.ones(2, requires_grad=True), torch.ones(2)
    for result, want in ((x + c, [True, False]), (c * x, [False, True]), (torch.cat([c, x, c]), [False, True, False]), (c.clone().add_(x), [False, True])):
        functions = result.grad_fn.next_functions
        assert [f is not None for f, _ in functions] == want and all(i == 0 for _, i in functions)


def test_polygamma_is_a_method_though_its_tensor_comes_second(torch):
    assert torch.tensor([1.0]).polygamma(1).item() == torch.polygamma(1, torch.tensor([1.0])).item()


@pytest.mark.filterwarnings("ignore:This overload")
@pytest.mark.parametrize("in_place", [False, True])
def test_numbers_before_tensors(torch, in_place):
    t, v = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.ones(2)
    end = "_" if in_place else ""
    for name, rest in (("add", (2, t)), ("sub", (2, t)), ("addcmul", (2, t, t)), ("addcdiv", (2, t, t))):
        function, keyword = getattr(torch, name), "value" if len(rest) == 3 else "alpha"
        want = function(t, *rest[1:], **{keyword: 2}).tolist()
        assert function(t, *rest).tolist() == getattr(t.clone(), name + end)(*rest).tolist() == want
    for name, x, rest in (("addmm", t, (t, t)), ("addmv", v, (t, v)), ("addr", t, (v, v)), ("addbmm", t, (t[None], t[None])), ("baddbmm", t[None], (t[None], t[None]))):
        function = getattr(torch, name)
        want = function(x, *rest, beta=2).tolist()
        assert function(2, x, *rest).tolist() == getattr(x.clone(), name + end)(2, *rest).tolist() == want
        want = function(x, *rest, beta=2, alpha=3).tolist()
        assert function(2, x, 3, *rest).tolist() == getattr(x.clone(), name + end)(2, 3, *rest).tolist() == want
    out = torch.empty(2, 2)
    assert torch.add(t, 2, t, out=out) is out and out.tolist() == (3 * t).tolist()
    for wrong in (lambda: torch.mul(t, 2, t), lambda: torch.add(t, 2, 3, t), lambda: t.addcmul_(t, 2, t), lambda: t.add_("a", t)):
        with pytest.raises(TypeError):
            wrong()


def test_numbers_before_tensors_warn_once():
    program = "import warnings, facula as t\nwith warnings.catch_warnings(record=True) as w:\n warnings.simplefilter('always')\n for _ in range(2): t.ones(1).add_(2, t.ones(1))\nprint(len(w), w[0].message)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found.startswith("1 This overload of add_ is deprecated")
