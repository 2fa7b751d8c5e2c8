# SPDX-License-Identifier: Apache-2.0
"""torch.jit.trace: runs a function or module once and keeps what it did as a graph."""

import contextlib
import difflib
import inspect
import re
import warnings

import facula
from facula import _C
from facula.jit._module import ScriptModule, traced_module
from facula.jit._names import argument_names as get_callable_argument_names
from facula.jit._names import qualified_name as _qualified_name
from facula.nn import Module
from facula.testing import _TOLERANCES

_enabled = True


class TracerWarning(Warning):
    """What a trace would not see again."""

    @staticmethod
    def ignore_lib_warnings():
        """Shape checks of the library's own modules say nothing."""
        warnings.filterwarnings("ignore", category=TracerWarning, module=r"facula\.(?!jit)")


TracerWarning.ignore_lib_warnings()
_C._tracer_warn_use_python()


def _create_interpreter_name_lookup_fn(frames_up=1):
    """A function that names a tensor as the running Python function does, or "" if it has no such variable."""

    def name_of(tensor):
        frame = inspect.currentframe()
        for _ in range(frames_up + 1):
            frame = frame.f_back
            if frame is None:
                raise RuntimeError("failed to get frame")
        for name, value in frame.f_locals.items():
            if value is tensor:
                return name if name != "self" else ""
        return ""

    return name_of


class TracingCheckError(Exception):
    """A trace that another run of the same function contradicts."""

    def __init__(self, graph_diff_error, tensor_compare_error, extra_msg=None):
        parts = ["Tracing failed sanity checks!\n"]
        if extra_msg is not None:
            parts.append(extra_msg + "\n")
        if graph_diff_error is not None:
            parts.append("ERROR: Graphs differed across invocations!\n" + indent(graph_diff_error) + "\n")
        if tensor_compare_error is not None:
            parts.append(
                "ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates that"
                " the tracer has encountered untraceable code.\n" + indent(tensor_compare_error) + "\n"
            )
        self.message = "".join(parts)
        super().__init__(self.message)


def indent(text):
    """The lines of `text`, each behind a tab."""
    return "\n".join("\t" + line for line in text.splitlines())


def _clone_inputs(args):
    def clone(a):
        if isinstance(a, facula.Tensor):
            copy = a.detach().clone().requires_grad_(a.requires_grad)
            if a.grad is not None:
                copy.grad = clone(a.grad)
            return copy
        if isinstance(a, tuple):
            items = [clone(x) for x in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [clone(x) for x in a]
        if isinstance(a, dict):
            return {k: clone(v) for k, v in a.items()}
        return a

    return clone(args)


def _canonical(graph):
    graph = _C._jit_pass_canonicalize(graph)
    for name in ("_jit_pass_inline", "_jit_pass_erase_shape_information"):
        if hasattr(_C, name):
            getattr(_C, name)(graph)
    return graph, re.sub(r"___torch_mangle_[0-9]+\.", "", str(graph))


def _diff(a, b):
    return "".join(difflib.ndiff(a.splitlines(True), b.splitlines(True)))


def _differences(traced, repeated):
    """(how the graphs differ, how their constants do); None where they do not."""
    (graph, text), (other, other_text) = _canonical(traced.graph), _canonical(repeated.graph)
    graph_errors = constant_errors = None
    if text != other_text:
        graph_errors = "Graph diff:\n" + indent(_diff(text, other_text)) + "\n"
        for a, b in zip(graph.nodes(), other.nodes()):
            if str(a) == str(b):
                continue
            where = "Node diff:\n" + indent(_diff(str(a), str(b))) + "\n"
            for title, node in (("Trace", a), ("Check", b)):
                if node.sourceRange():
                    where += f"{title} source location:\n" + indent(node.sourceRange()) + "\n"
            graph_errors += "First diverging operator:\n" + where
            break
    for a, b in zip(graph.nodes(), other.nodes()):
        if a.kind() != b.kind():
            break
        if a.kind() != "prim::Constant" or a.mustBeNone() or b.mustBeNone():
            continue
        if not a.hasAttribute("value") or not b.hasAttribute("value") or a.kindOf("value") != "t" or b.kindOf("value") != "t":
            continue
        try:
            facula.testing.assert_close(a.t("value"), b.t("value"), equal_nan=True)
        except (RuntimeError, AssertionError) as e:
            constant_errors = "Node:\n" + indent(str(a)) + "\n"
            if a.sourceRange():
                constant_errors += "Source Location:\n" + indent(a.sourceRange()) + "\n"
            constant_errors += "Comparison exception: " + indent(str(e))
            break
    return graph_errors, constant_errors


class _Check:
    """Compares a trace with the function that it was made of, and with a second trace."""

    def __init__(self, traced, tolerance, by_name):
        self.traced, self.tolerance, self.by_name = traced, tolerance, by_name
        self.warned = False

    def outputs(self, function, inputs, what, repeated):
        try:
            if isinstance(inputs, dict) and self.by_name:
                out = function(**inputs)
            else:
                out = function(*_clone_inputs(inputs))
        except Exception as e:
            message = f"encountered an exception while running the {what} with test inputs.\nException:\n{indent(str(e))}"
            raise TracingCheckError(*_differences(self.traced, repeated), extra_msg=message) from e
        out = out if isinstance(out, tuple) else (out,)
        return [o for o in out if isinstance(o, facula.Tensor)]

    def compare(self, original, reference, what):
        same = True
        for i, (a, b) in enumerate(zip(original, reference)):
            wide = facula.complex128 if a.is_complex() or b.is_complex() else facula.float64
            absolute = max(_TOLERANCES.get(t.dtype, (0.0, 0.0))[1] for t in (a, b))
            try:
                facula.testing.assert_close(a.to(wide), b.to(wide), rtol=self.tolerance, atol=absolute, equal_nan=True)
            except AssertionError as e:
                self.warn_of_chance()
                warnings.warn(
                    f"Output nr {i + 1}. of the traced function does not match the corresponding output of the {what}. "
                    f"Detailed error:\n{e}",
                    category=TracerWarning,
                    stacklevel=5,
                )
                same = False
        return same

    def warn_of_chance(self):
        if self.warned:
            return
        self.warned = True
        drawn = [n for n in self.traced.graph.nodes() if n.isNondeterministic()]
        if drawn:
            warnings.warn(
                "Trace had nondeterministic nodes. Did you forget to call .eval() on your model? Nodes:\n"
                + "\n".join(indent(str(n)) for n in drawn[:20])
                + "\nThis may cause errors in trace checking. To disable trace checking, pass check_trace=False to"
                " torch.jit.trace()",
                category=TracerWarning,
                stacklevel=6,
            )


@facula.no_grad()
def _check_trace(check_inputs, func, traced, tolerance, retrace, by_name=False):
    """Runs the trace, the function and a second trace with each of the inputs and compares."""
    for inputs in check_inputs:
        if isinstance(inputs, facula.Tensor):
            inputs = (inputs,)
        repeated = retrace(_clone_inputs(inputs))
        check = _Check(traced, tolerance, by_name)
        outputs = check.outputs(traced, inputs, "trace", repeated)
        expected = check.outputs(func, inputs, "Python function", repeated)
        if check.compare(outputs, expected, "Python function"):
            check.compare(outputs, check.outputs(repeated, inputs, "repeated trace", repeated), "repeated trace")
        differences = _differences(traced, repeated)
        if any(d is not None for d in differences):
            raise TracingCheckError(*differences)


def _trace_function(func, inputs, by_name, lookup, strict, force_outplace):
    create = _C._create_function_from_trace_with_dict if by_name else _C._create_function_from_trace
    return create(
        _qualified_name(func), func, inputs, lookup, strict, force_outplace, get_callable_argument_names(func)
    )


def make_tuple(example_inputs):
    """What a function is called with: one tensor or dict is one argument."""
    if isinstance(example_inputs, (facula.Tensor, dict)):
        return (example_inputs,)
    return example_inputs if isinstance(example_inputs, tuple) else tuple(example_inputs)


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
    _store_inputs=True,
):
    """Runs `func` with example inputs and returns what it did as a compiled function; of a module, as a ScriptModule.

    Only operators on tensors are kept: a Python branch goes the way that it went with the examples, a number that was
    read from a tensor stays what it was (a TracerWarning says where), sizes follow their tensors. Unless `check_trace`
    is off, the result is compared with the function, and with a second trace.

    example_inputs       a tensor or a tuple of what the function takes: tensors, and lists, tuples and dicts of them
    check_inputs         a list of tuples: inputs to compare with, instead of the example's
    check_tolerance      relative
    strict               whether a list or dict that the function returns is warned about or refused
    example_kwarg_inputs a dict of inputs by name, instead of example_inputs
    """
    if not _enabled:
        return func
    if isinstance(func, ScriptModule):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
            stacklevel=2,
        )
        return func
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=2,
        )
    by_name = isinstance(example_kwarg_inputs, dict)
    if example_inputs is None and not by_name:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    owner = func if isinstance(func, Module) else getattr(func, "__self__", None)
    if isinstance(owner, Module):
        if owner is not func and func.__name__ != "forward":
            raise AttributeError("trace doesn't support compiling individual module's functions.\nPlease use trace_module")
        return trace_module(
            owner,
            {"forward": example_kwarg_inputs if by_name else example_inputs},
            check_trace=check_trace,
            check_inputs=None if check_inputs is None else [{"forward": c} for c in check_inputs],
            check_tolerance=check_tolerance,
            strict=strict,
            _force_outplace=_force_outplace,
            example_inputs_is_kwarg=by_name,
        )
    inputs = example_kwarg_inputs if by_name else make_tuple(example_inputs)
    lookup = _create_interpreter_name_lookup_fn(0)
    traced = _trace_function(func, inputs, by_name, lookup, strict, _force_outplace)
    if check_trace:

        def retrace(clones):
            return _trace_function(func, clones if by_name else make_tuple(clones), by_name, lookup, strict, _force_outplace)

        _check_trace([inputs] if check_inputs is None else check_inputs, func, traced, check_tolerance, retrace, by_name)
    return traced


_trace_module_map = None  # the name of each module of the one that is being traced


def _scope_of(module):
    return None if _trace_module_map is None else _trace_module_map.get(module)


@contextlib.contextmanager
def _modules_named(module):
    """While inside, calls of the module's submodules are blocks of the trace."""
    global _trace_module_map
    names = {}

    def name_children(parent, prefix):
        for name, child in parent.named_children():
            if isinstance(child, ScriptModule):
                continue  # called as it is
            names[child] = f"{prefix}.{name}"
            name_children(child, names[child])

    name_children(module, "__module")
    before, _trace_module_map = _trace_module_map, names
    try:
        yield
    finally:
        _trace_module_map = before


def _trace_methods(mod, inputs, strict, force_outplace, by_name, lookup):
    """A TopLevelTracedModule with a method for each of the inputs."""
    module = traced_module(mod)
    with _modules_named(mod):
        for name, given in inputs.items():
            func = mod if name == "forward" else getattr(mod, name)
            names = get_callable_argument_names(getattr(mod, name))
            if isinstance(given, dict) and by_name:
                for key in given:
                    if key not in names:
                        raise NameError(
                            f"'{key}' is not in forward() method's arguments, valid arguments name are [{','.join(names)}]"
                        )
                create = module._c._create_method_from_trace_with_dict
            else:
                create, given = module._c._create_method_from_trace, make_tuple(given)
            create(name, func, given, lookup, strict, force_outplace, names, True)
    return module


def trace_module(
    mod,
    inputs,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_inputs_is_kwarg=False,
    _store_inputs=True,
):
    """Traces methods of a module: `inputs` gives example inputs for each, {"forward": x, "other": (y, z)}.

    The result has the module's parameters, buffers and submodules; the forward() of a submodule is a method of its own.
    """
    if not _enabled:
        return mod
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    if isinstance(mod, ScriptModule):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
            stacklevel=2,
        )
        return mod
    by_name = example_inputs_is_kwarg
    lookup = _create_interpreter_name_lookup_fn(0)
    module = _trace_methods(mod, inputs, strict, _force_outplace, by_name, lookup)
    if check_trace:
        for given in [inputs] if check_inputs is None else check_inputs:
            for name, values in given.items():
                values = values if isinstance(values, dict) and by_name else make_tuple(values)

                def retrace(clones, name=name):
                    again = _trace_methods(mod, {name: clones}, strict, _force_outplace, by_name, lookup)
                    return again._c._get_method(name)

                func = mod if name == "forward" else getattr(mod, name)
                _check_trace([values], func, module._c._get_method(name), check_tolerance, retrace, by_name)
    return module


def _tensors_of(value):
    """The tensors in nested tuples, lists and dicts, and a function that puts others in their places."""
    if isinstance(value, facula.Tensor):
        return [value], lambda tensors: next(tensors)
    if isinstance(value, dict):
        found, put = _tensors_of(list(value.values()))
        return found, lambda tensors: dict(zip(value, put(tensors)))
    if isinstance(value, (tuple, list)):
        parts = [_tensors_of(v) for v in value]
        kind = tuple if isinstance(value, tuple) else list
        return [t for found, _ in parts for t in found], lambda tensors: kind([put(tensors) for _, put in parts])
    return [], lambda tensors: value


def _get_trace_graph(
    f, args=(), kwargs=None, strict=True, _force_outplace=False, return_inputs=False, _return_inputs_states=False
):
    """(graph, outputs) of a call of a function or module: a flat graph whose inputs are all tensors in `args`, then the
    module's parameters and buffers. With return_inputs also copies of the tensors that were given.
    """
    given, put = _tensors_of(args if isinstance(args, tuple) else (args,))
    state = f.state_dict(keep_vars=True).values() if isinstance(f, Module) else []
    state = list({id(t): t for t in state}.values())
    outputs = []

    def call(*tensors):
        outputs.append(f(*put(iter(tensors[: len(given)])), **(kwargs or {})))
        found, _ = _tensors_of(outputs[0])
        return found[0] if len(found) == 1 else tuple(found)

    lookup = _create_interpreter_name_lookup_fn()
    graph, _ = _C._create_graph_by_tracing(call, given + state, lookup, strict, _force_outplace)
    if return_inputs or _return_inputs_states:
        return graph, outputs[0], tuple(t.clone() for t in given + state)
    return graph, outputs[0]


def is_tracing():
    """Whether a trace is being recorded on this thread."""
    return _C._is_tracing()


@contextlib.contextmanager
def _without_tracing():
    """Nothing is recorded inside."""
    state = _C._get_tracing_state()
    _C._set_tracing_state(None)
    try:
        yield
    finally:
        _C._set_tracing_state(state)
