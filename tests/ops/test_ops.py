# SPDX-License-Identifier: Apache-2.0
"""Drives the operator table against recorded results, and against PyTorch itself where it is installed.

An item is one operator in one role, or one operator, dtype and kind of input: `sigmoid/cpu/f32/strided`.
A name that the module lacks is a failure, unless known_missing.txt lists it.

    pytest tests/ops -k "[sum"                    the rows whose name starts so
    pytest tests/ops -k "test_value and [add/"    one role of one row
    pytest tests/ops --module torch               the tests themselves, on PyTorch
    python tests/ops/record.py reduce             record a family again, after its rows changed
"""
import dataclasses
import importlib
import operator
import pathlib

import numpy as np
import pytest
from golden import (SHORT, TOLERANCE, Golden, array, compare, differences, fingerprint, flatten, is_tensor, memory, short)
from opspec import MAIN, Make, resolve, resolve_reference, select
from record import gradient, run_inplace, tensors, with_grad
from table import OPS, ROWS

GOLDEN = Golden()
KNOWN_MISSING = {line.split("#")[0].strip() for line in
                 (pathlib.Path(__file__).parent / "known_missing.txt").read_text().splitlines()} - {""}
VALUE_KEYS = [key for key in GOLDEN.entries if "#" not in key]

pytestmark = pytest.mark.filterwarnings("ignore")


class Bad(list):
    """Failures of one item, told together. What was not recorded is counted: an item that compares little is no test."""

    checked = unrecorded = 0

    def check(self, where, sentence):
        self.checked += 1
        if sentence:
            self.append(f"{where}: {sentence}")

    def tell(self):
        if self.unrecorded > self.checked:
            self.append(f"only {self.checked} samples were compared, {self.unrecorded} are not recorded: record again")
        if self:
            more = f"\n… and {len(self) - 12} more" if len(self) > 12 else ""
            pytest.fail("\n".join(self[:12]) + more, pytrace=False)


def find(torch, op, role=None):
    """The function of a row; a missing one fails the test by its name."""
    if torch.__name__ == "torch" and role in op.quirks:
        pytest.xfail(f"PyTorch: {op.quirks[role]}")
    return resolve_or_fail(torch, op.call)


def resolve_or_fail(torch, path):
    try:
        return resolve(torch, path)
    except AttributeError:
        pass  # told below, without this exception's traceback
    missing(torch, path)


def missing(torch, path):
    if path in KNOWN_MISSING:
        pytest.xfail(f"known_missing.txt lists {path}")
    pytest.fail(f"{torch.__name__} has no {path}", pytrace=False)


_cache = {}


def samples(torch, op, dtype, device):
    """Samples of one row and dtype; the last few are kept, because items come in that order."""
    key = (op.name, dtype, device)
    if key not in _cache:
        if len(_cache) > 3:
            _cache.clear()
        _cache[key] = {s.label: s for s in select(op, torch, dtype, device)}
    return _cache[key]


def recorded(op, suffix="", dtypes=None):
    """(dtype, label, key) of a row's recorded samples."""
    for dtype in dtypes or op.dtypes:
        prefix = f"{op.name}/{dtype}/"
        for key in BY_ROW.get(op.name, ()):
            if key.startswith(prefix) and (not suffix or key + suffix in GOLDEN):
                yield dtype, key[len(prefix):], key


BY_ROW = {}
for _key in VALUE_KEYS:
    BY_ROW.setdefault(_key.split("/")[0], []).append(_key)


def rows(condition=lambda op: True):
    chosen = [op for op in ROWS if condition(op)]
    return pytest.mark.parametrize("op", chosen, ids=[op.name for op in chosen])


def tolerance(op, dtype, want):
    return op.tol.get(dtype) or op.tol.get(getattr(want, "dtype", None))


def unsupported(text):
    """A combination of dtypes that PyTorch's kernels lack; another module may well have it."""
    return "not implemented for" in text or "not yet implemented" in text


def check_raised(error, want):
    """'' when an exception is the one that PyTorch raises."""
    kind, text = want["e"], want["m"]
    names = [cls.__name__ for cls in type(error).__mro__]
    if unsupported(text) and "RuntimeError" in names:
        return ""
    return "" if kind in names else f"raised {type(error).__name__}: {error}; PyTorch raises {kind}: {text}"


def check_call(torch, op, run, want, inputs=None, dtype=None):
    """Runs and compares with the recorded outcome; '' when they agree."""
    refused = isinstance(want, dict)
    try:
        got = run()
    except AttributeError:
        raise
    except Exception as error:
        if refused:
            return check_raised(error, want)
        return f"raised {type(error).__name__}: {str(error)[:300]}"
    if refused:
        # A dtype that PyTorch's kernel lacks may work here; anything else it refuses must be refused.
        return "" if unsupported(want["m"]) else f"no error; PyTorch raises {want['e']}: {want['m']}"
    got = flatten(torch, got)
    if len(got) != len(want):
        return f"{len(got)} results, PyTorch has {len(want)}"
    for number, (g, w) in enumerate(zip(got, want)):
        told = compare(torch, g, w, tolerance(op, dtype, w), strict_stride=op.view, values=op.values, strides=op.strides)
        if not told and op.sharing and inputs is not None and is_tensor(torch, g) and g.numel() and g.device.type == "cpu":
            shares = memory(g) in inputs
            if shares != w.shares:
                told = "a view of an argument, PyTorch makes a copy" if shares else "a copy, PyTorch makes a view of an argument"
        if told:
            return f"result {number}: {told}" if len(got) > 1 else told
    return ""


# ---- values, dtypes, shapes, strides, sharing ------------------------------------------------------------

def value_items(config):
    """One item for each operator, dtype and kind of input: id -> keys."""
    items = {}
    for key in VALUE_KEYS:
        name, dtype, label = key.split("/")
        stem, _, last = label.rpartition(".")
        items.setdefault(f"{name}/{config.getoption('--device')}/{dtype}/{stem if last.isdigit() else label}", []).append(key)
    return items


def pytest_generate_tests(metafunc):
    if "value_keys" in metafunc.fixturenames:
        items = value_items(metafunc.config)
        metafunc.parametrize("value_keys", items.values(), ids=items.keys())


def test_value(torch, device, value_keys):
    name, dtype, _ = value_keys[0].split("/")
    op = OPS.get(name)
    assert op, f"{name} is recorded but not in the table: record again"
    function, bad = find(torch, op), Bad()
    for key in value_keys:
        sample = samples(torch, op, dtype, device).get(key.split("/")[2])
        assert sample, f"{key} is recorded but not in the table: record again"
        if fingerprint(torch, sample) != GOLDEN.raw(key + "#inputs"):
            bad.check(key, "the inputs are not those recorded: record again, or this module makes them wrongly")
            continue
        inputs = tensors(torch, sample)
        before = [x._version for x in inputs]
        places = {memory(x) for x in inputs} if device == "cpu" else None
        told = check_call(torch, op, lambda: function(*sample.args, **sample.kwargs), GOLDEN.results(key), places, dtype)
        bad.check(key, told or ("" if before == [x._version for x in inputs] else "an argument was written to"))
    bad.tell()


def test_everything_is_recorded():
    """The table and the recorded data are the same set; the values of a row never vanish silently."""
    names = {key.split("/")[0] for key in VALUE_KEYS}
    assert names == set(OPS), f"not recorded (python tests/ops/record.py, with PyTorch): {sorted(set(OPS) - names)}; not in the table: {sorted(names - set(OPS))}"
    assert GOLDEN.manifest["torch"]


# ---- in-place, out=, method, operator and alias forms ----------------------------------------------------

@rows(lambda op: op.inplace)
def test_inplace(torch, device, op):
    function, bad = find(torch, op, "inplace"), Bad()
    if op.inplace != "inplace=" and not hasattr(torch.Tensor, op.inplace):
        missing(torch, "Tensor." + op.inplace)
    for dtype in op.dtypes:
        for sample in select(op, torch, dtype, device):
            key = f"{op.name}/{dtype}/{sample.label}#inplace"
            if key not in GOLDEN:
                bad.unrecorded += 1
                continue
            target, version = sample.args[0], sample.args[0]._version
            want, got = GOLDEN.results(key), []

            def run():
                got.append(run_inplace(op, function, sample))
                return got[0]
            told = check_call(torch, op, run, want, None, dtype)
            if "single memory location" in told and 0 in target.stride():
                told = ""  # PyTorch writes to some expanded tensors without complaint; refusing is better
            if not told and got and isinstance(want, list):
                if got[0] is not target:
                    told = "did not return the tensor itself"
                elif target._version <= version:
                    told = f"version counter stayed at {version}"
            bad.check(key, told)
    bad.tell()


LONG = {s: name for name, s in SHORT.items()}


def out_of(torch, want, device):
    return torch.empty(want.shape, dtype=getattr(torch, LONG[want.dtype]), device=device)


@rows(lambda op: op.out)
def test_out(torch, device, op):
    """Right size, wrong size (is resized), strided, aliasing the input, wrong dtype."""
    function, bad = find(torch, op, "out"), Bad()

    def call(sample, outs):
        return function(*sample.args, **sample.kwargs, out=outs[0] if op.out == 1 else tuple(outs))

    for dtype in [d for d in op.dtypes if d in MAIN + ("i64", "bool", "bf16", "c64")]:
        for label, sample in samples(torch, op, dtype, device).items():
            key = f"{op.name}/{dtype}/{label}"
            want = GOLDEN.results(key) if key in GOLDEN else {}
            if isinstance(want, dict) or not sample.out:
                bad.unrecorded += key not in GOLDEN
                continue
            for way in ("right size", "empty", "too large", "strided", "wrong dtype"):
                outs = [out_of(torch, w, device) for w in want]
                if way == "empty":
                    outs = [torch.empty(0, dtype=x.dtype, device=device) for x in outs]
                elif way == "too large":
                    if label != "contiguous":
                        continue
                    outs = [torch.empty([n + 1 for n in x.shape], dtype=x.dtype, device=device) for x in outs]
                elif way == "strided":
                    if outs[0].dim() < 2:
                        continue
                    outs = [torch.empty(x.shape[::-1], dtype=x.dtype, device=device).permute(*range(x.dim() - 1, -1, -1)) for x in outs]
                elif way == "wrong dtype":
                    if label != "contiguous" or want[0].dtype == "bool":
                        continue
                    outs[0] = torch.empty(want[0].shape, dtype=torch.bool, device=device)
                if way == "wrong dtype":
                    try:
                        call(sample, outs)
                        bad.check(f"{key} {way}", "a bool out= was accepted")
                    except (RuntimeError, TypeError) as error:
                        if not any(word in str(error) for word in ("type", "cast", "Bool")):
                            bad.check(f"{key} {way}", f"the message does not speak of types: {error}")
                    except Exception as error:
                        bad.check(f"{key} {way}", f"raised {type(error).__name__}, neither RuntimeError nor TypeError: {error}")
                    continue
                strides = [tuple(x.stride()) for x in outs]
                try:
                    got = call(sample, outs)
                except Exception as error:
                    bad.check(f"{key} {way}", f"raised {type(error).__name__}: {str(error)[:200]}")
                    continue
                got = flatten(torch, got)
                if not all(g is o for g, o in zip(got, outs)):
                    bad.check(f"{key} {way}", "did not return out itself")
                for g, w in zip(outs, want):
                    told = "" if tuple(g.shape) == w.shape else f"shape {list(g.shape)}, PyTorch has {list(w.shape)}"
                    bad.check(f"{key} {way}", told or differences(array(torch, g), w.values, *(tolerance(op, dtype, w) or TOLERANCE.get(w.dtype, (0, 0)))))
                if way == "strided":
                    bad.check(f"{key} {way}", "" if strides == [tuple(x.stride()) for x in outs] else "strides of out changed")
    bad.tell()


@rows(lambda op: op.method)
def test_method(torch, device, op):
    find(torch, op, "method")
    bad = Bad()
    if not hasattr(torch.Tensor, op.method):
        missing(torch, "Tensor." + op.method)
    for dtype in [d for d in op.dtypes if d in ("f32", "i64", "bool")]:
        for label, sample in samples(torch, op, dtype, device).items():
            key = f"{op.name}/{dtype}/{label}"
            want = GOLDEN.results(key) if key in GOLDEN else {}
            if isinstance(want, dict):
                bad.unrecorded += key not in GOLDEN
                continue
            run = getattr(sample.args[0], op.method)
            bad.check(key, check_call(torch, op, lambda: run(*sample.args[1:], **sample.kwargs), want, None, dtype))
    bad.tell()


@rows(lambda op: op.aliases)
def test_alias(torch, device, op):
    for path in op.aliases:
        function = resolve_or_fail(torch, path)
        label, sample = next(iter(samples(torch, op, "f32", device).items()))
        told = check_call(torch, op, lambda: function(*sample.args, **sample.kwargs), GOLDEN.results(f"{op.name}/f32/{label}"))
        assert not told, f"{path}: {told}"


@rows(lambda op: op.operator)
def test_operator(torch, device, op):
    """a + b, 2 + a, a += b: the Python operators mean the same as the functions."""
    bad, function = Bad(), getattr(operator, op.operator)
    comparison = op.operator in ("eq", "ne", "lt", "le", "gt", "ge")
    for dtype in [d for d in op.dtypes if d in ("f32", "i64", "bool")]:
        for sample in select(op, torch, dtype, device):
            key = f"{op.name}/{dtype}/{sample.label}"
            want = GOLDEN.results(key) if key in GOLDEN else {}
            if isinstance(want, dict) or sample.kwargs:
                bad.unrecorded += key not in GOLDEN
                continue
            bad.check(key, check_call(torch, op, lambda: function(*sample.args), want, None, dtype))
            if len(sample.args) < 2 or comparison:
                continue
            if not is_tensor(torch, sample.args[1]) and op.operator not in ("pow",):
                # reflected: number (op) tensor is the function of a 0-d tensor; only its value is compared
                base = torch.tensor(sample.args[1])
                try:
                    expected = find(torch, op)(base, sample.args[0])
                except RuntimeError:
                    expected = None  # division by zero of integers
                if expected is not None:
                    got = function(sample.args[1], sample.args[0])
                    bad.check(key + " reflected", differences(array(torch, got), array(torch, expected).astype(array(torch, got).dtype), 1e-5, 1e-5))
            inplace = getattr(operator, "i" + op.operator.rstrip("_"))
            if key + "#inplace" in GOLDEN:
                target = sample.args[0]
                told = check_call(torch, op, lambda: inplace(target, sample.args[1]), GOLDEN.results(key + "#inplace"), None, dtype)
                bad.check(key + " in-place", told)
    bad.tell()


# ---- shapes without data ---------------------------------------------------------------------------------

def to_meta(torch, x):
    if is_tensor(torch, x):
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
    if isinstance(x, (tuple, list)) and type(x).__name__ != "Size":
        return type(x)([to_meta(torch, y) for y in x])
    return x


@rows(lambda op: op.meta)
def test_meta(torch, op):
    """On the meta device: the same shapes, dtypes and strides, no values."""
    function, bad = find(torch, op, "meta"), Bad()
    for dtype in [d for d in op.dtypes if d in ("f32", "i64", "bool", "c64")] or op.dtypes:
        for label, sample in samples(torch, op, dtype, "cpu").items():
            key = f"{op.name}/{dtype}/{label}"
            want = GOLDEN.results(key) if key in GOLDEN else {}
            if isinstance(want, dict) or not sample.meta or any(isinstance(w, dict) for w in want):
                continue
            args, kwargs = to_meta(torch, list(sample.args)), {k: to_meta(torch, v) for k, v in sample.kwargs.items()}
            try:
                got = flatten(torch, function(*args, **kwargs))
            except Exception as error:
                bad.check(key, f"raised {type(error).__name__}: {str(error)[:200]}")
                continue
            for g, w in zip(got, want):
                bad.check(key, compare(torch, g, w, strict_stride=op.view, values=False, strides=op.strides))
                if is_tensor(torch, g) and g.device.type != "meta":
                    bad.check(key, f"the result is on {g.device}")
    bad.tell()


# ---- errors ----------------------------------------------------------------------------------------------

def call_error(torch, op, error):
    function = resolve(torch, error.call or op.call)
    return function(*error.args, **error.kwargs)


@rows(lambda op: op.errors)
def test_error(torch, device, op):
    find(torch, op, "error")
    bad = Bad()
    for number, error in enumerate(op.errors(torch, Make(torch, op.name, device=device))):
        where = f"{op.name}#error.{number}"
        theirs = GOLDEN.raw(where) if where in GOLDEN else ""
        theirs = theirs["m"] if isinstance(theirs, dict) else "nothing"
        try:
            call_error(torch, op, error)
            bad.check(where, f"no error; PyTorch says: {theirs}")
        except Exception as raised:
            names, text = [cls.__name__ for cls in type(raised).__mro__], str(raised)
            if not set(error.type.split("|")) & set(names):
                bad.check(where, f"raised {type(raised).__name__}, not {error.type}: {text}")
            else:
                lost = [word for word in error.words if word.lower() not in text.lower()]
                bad.check(where, f"the message lacks {lost}: {text!r}; PyTorch says: {theirs!r}" if lost else "")
                if torch.__name__ == "facula" and op.call == op.name and op.group != "create":
                    named = any(name in text for name in (op.name.strip("_"), *op.names))
                    bad.check(where, "" if named else f"the message does not name {op.name}: {text!r}")
    bad.tell()


# ---- gradients -------------------------------------------------------------------------------------------

@rows(lambda op: op.grad)
def test_gradient(torch, device, op):
    """First gradients equal PyTorch's, also at kinks, ties and for complex numbers."""
    function, bad = find(torch, op, "gradient"), Bad()
    make = Make(torch, op.name, device=device)
    for dtype in [d for d in op.dtypes if d in ("f64", "c128")]:
        for label, sample in samples(torch, op, dtype, device).items():
            key = f"{op.name}/{dtype}/{label}#grad"
            if key not in GOLDEN:
                continue
            try:
                got = gradient(torch, op, function, sample, make)
            except Exception as error:
                bad.check(key, f"raised {type(error).__name__}: {str(error)[:300]}")
                continue
            want = GOLDEN.results(key)
            if got is None:
                bad.check(key, "no result needs a gradient")
                continue
            for number, (g, w) in enumerate(zip(got, want)):
                if g is None and w is not None and not w.values.any():
                    continue  # no gradient stands for zeros
                if w is None and g is not None and not array(torch, g).any():
                    continue
                told = compare(torch, g, w, values=False) if (g is None) != (w is None) else ""
                if not told and g is not None:
                    if tuple(g.shape) != w.shape or short(g.dtype) != w.dtype:
                        told = f"shape {list(g.shape)} {g.dtype}, PyTorch has {list(w.shape)} {w.dtype}"
                    else:
                        told = differences(array(torch, g), w.values, 1e-6, 1e-7)
                bad.check(f"{key} input {number}", told)
    bad.tell()


@rows(lambda op: op.grad and op.deterministic and {"f32", "f64"} <= set(op.dtypes))
def test_gradient_of_float32(torch, device, op):
    """Gradients in float32, whose kernels are others, nearly equal those of the same numbers in float64."""
    function, bad = find(torch, op, "gradient"), Bad()
    make = Make(torch, op.name, device=device)

    def doubled(x):
        if is_tensor(torch, x):
            return x.double() if x.dtype == torch.float32 else x
        return type(x)([doubled(y) for y in x]) if isinstance(x, (tuple, list)) and type(x).__name__ != "Size" else x

    for label, sample in samples(torch, op, "f32", device).items():
        key = f"{op.name}/f64/{label}#grad"
        if key not in GOLDEN or any(x is torch.float32 for x in sample.kwargs.values()):
            continue
        wide = dataclasses.replace(sample, args=tuple(map(doubled, sample.args)), kwargs={k: doubled(x) for k, x in sample.kwargs.items()})
        got, want = (gradient(torch, op, function, s, make) for s in (sample, wide))
        for number, (g, w) in enumerate(zip(got or (), want or ())):
            if g is None or w is None:
                bad.check(f"{key} input {number}", "" if g is w else "a gradient in one type only")
                continue
            g, w = array(torch, g), array(torch, w)
            most = np.abs(w[np.isfinite(w)]).max(initial=0)
            bad.check(f"{key} input {number}", differences(g, w, 1e-3, 1e-4 * max(1.0, float(most))))
    bad.tell()


def check_samples(torch, op, device):
    """Closures for gradcheck: a function of the leaves only, and the leaves."""
    function = find(torch, op)
    for sample in select(op, torch, "f64", device):
        if not sample.grad or f"{op.name}/f64/{sample.label}#grad" not in GOLDEN:
            continue
        args, kwargs, leaves = with_grad(torch, sample, op.grad_args)
        if not leaves or any(x.numel() == 0 for x in leaves) or sum(x.numel() for x in leaves) > 60:
            continue  # gradcheck has nothing to disturb in an empty tensor
        places = {id(x): n for n, x in enumerate(leaves)}
        fresh = [x.detach().contiguous().clone() if 0 in x.stride() and x.numel() else x.detach() for x in leaves]

        def put(x, now, places=places):
            if is_tensor(torch, x):
                return now[places[id(x)]] if id(x) in places else x
            if isinstance(x, (tuple, list)) and type(x).__name__ != "Size":
                return type(x)([put(y, now) for y in x])
            return x

        def closure(*now, args=args, kwargs=kwargs, put=put):
            result = function(*[put(x, now) for x in args], **{k: put(x, now) for k, x in kwargs.items()})
            return tuple(x for x in flatten(torch, result) if is_tensor(torch, x) and x.requires_grad)
        yield sample.label, closure, tuple(x.requires_grad_(True) for x in fresh)


@rows(lambda op: op.grad and "f64" in op.dtypes)
def test_gradcheck(torch, device, op):
    run_gradcheck(torch, device, op, "gradcheck")


@rows(lambda op: op.grad and op.gradgrad and "f64" in op.dtypes)
def test_gradgradcheck(torch, device, op):
    run_gradcheck(torch, device, op, "gradgradcheck")


def run_gradcheck(torch, device, op, which):
    find(torch, op, which)
    if not hasattr(getattr(torch, "autograd", None), which):
        missing(torch, "autograd." + which)
    check, bad, count = getattr(torch.autograd, which), Bad(), 0
    for label, closure, leaves in check_samples(torch, op, device):
        if which == "gradgradcheck" and sum(x.numel() for x in leaves) > 30:
            continue
        count += 1
        if not closure(*leaves):
            bad.check(f"{op.name}/{label}", "no result needs a gradient")
            continue
        try:
            check(closure, leaves, nondet_tol=op.nondet_tol)
        except Exception as error:
            bad.check(f"{op.name}/{label}", f"{type(error).__name__}: {str(error)[:500]}")
    assert count, "no sample is differentiable and small: the row claims grad"
    bad.tell()


# ---- threads ---------------------------------------------------------------------------------------------

def big_results(torch, op, function):
    """Results of a large call as arrays, and its gradients."""
    args, kwargs = op.big(torch, Make(torch, op.name, "f32"))
    floating = [x for x in args if is_tensor(torch, x) and x.is_floating_point()]
    leaves = [x.requires_grad_() for x in floating] if op.grad else []
    results = [x for x in flatten(torch, function(*args, **kwargs)) if is_tensor(torch, x)]
    if leaves and results[0].requires_grad:
        weights = torch.linspace(-1, 1, results[0].numel()).reshape(results[0].shape)
        results += [x for x in torch.autograd.grad(results[0], leaves, weights, allow_unused=True) if x is not None]
    return [array(torch, x) for x in results]


@rows(lambda op: op.big)
def test_threads(torch, op):
    """The same bits with one thread and with two. PyTorch promises less: there, nearly the same."""
    function, before, found = find(torch, op), torch.get_num_threads(), []
    if op.library:
        torch.use_deterministic_algorithms(True)
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found.append(big_results(torch, op, function))
    finally:
        torch.set_num_threads(before)
        if op.library:
            torch.use_deterministic_algorithms(False)
    for a, b in zip(*found):
        if torch.__name__ == "torch":
            assert not differences(a, b, 1e-4, 1e-4)
        else:
            assert a.tobytes() == b.tobytes(), "other bits with two threads than with one"


# ---- PyTorch beside it -----------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def oracle():
    try:
        return importlib.import_module("torch")
    except ImportError:
        pytest.skip("PyTorch is not installed here: recorded results only")


@rows(lambda op: op.values and op.deterministic)
def test_live(torch, oracle, device, op):
    """Other numbers than the recorded ones, computed by both."""
    function, theirs, bad = find(torch, op), resolve_reference(oracle, op), Bad()
    shift = 7919
    for dtype in [d for d in op.dtypes if d in ("f32", "f64", "i64", "bf16")]:
        pair = []
        for module, where in ((torch, device), (oracle, "cpu")):
            make = Make(module, op.name, dtype, where)
            make.seed += shift
            pair.append([s for s in op.samples(module, make) if s.wide or dtype in MAIN])
        for ours, other in zip(*pair):
            where = f"{op.name}/{dtype}/{ours.label}"
            try:
                want = flatten(oracle, theirs(*other.args, **other.kwargs))
            except Exception:
                continue  # recorded errors are compared elsewhere
            try:
                got = flatten(torch, function(*ours.args, **ours.kwargs))
            except Exception as error:
                bad.check(where, f"raised {type(error).__name__}: {str(error)[:200]}")
                continue
            for g, w in zip(got, want):
                if not is_tensor(oracle, w):
                    continue
                if short(g.dtype) != short(w.dtype) or tuple(g.shape) != tuple(w.shape):
                    bad.check(where, f"{list(g.shape)} {g.dtype}, PyTorch has {list(w.shape)} {w.dtype}")
                    continue
                kind = short(w.dtype)
                bad.check(where, differences(array(torch, g), array(oracle, w), *(op.tol.get(dtype) or TOLERANCE.get(kind, (0, 0)))))
    bad.tell()
