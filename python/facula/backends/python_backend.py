# SPDX-License-Identifier: Apache-2.0
"""Backends written in Python, for students and emulators: the same contract, bridged by ctypes. Slow, but complete.

    class Doubler(facula.backends.Backend):
        name = "doubler"

        def supports(self, query):
            return query.family == "map" and query.opcode == "add" and query.compute == "float32"

        def map(self, call):
            a, b = (x.numpy() for x in call.inputs)
            call.out.numpy()[...] = a + call.params[0] * b

    facula.backends.register(Doubler())
    facula.ones(3, device="doubler") + 1

Exceptions become errors of the call, which have them as their cause: NotImplementedError, IndexError and MemoryError
keep their kind.
"""

import ctypes as c
import threading

from facula import _C

ABI_VERSION = 2
OK, ERROR, OUT_OF_MEMORY, UNSUPPORTED, BAD_INDEX = range(5)
FAMILIES = ("copy", "map", "reduce", "matmul", "gather", "scatter", "scan", "sort", "random")
LAYOUTS = ("absent", "number", "contiguous", "strided", "repeated")
COPY_KINDS = ("host_to_device", "device_to_host", "device_to_device")
REDUCE = _C._reductions
SCATTER = ("set", "add", "mul", "max", "min")
SCAN = ("sum", "prod", "max", "min", "logsumexp")
RANDOM = ("uniform", "normal", "log_normal", "exponential", "cauchy", "geometric", "bernoulli", "integer")
# number: (name, NumPy's name, bytes)
DTYPES = {0: ("uint8", "u1", 1), 1: ("int8", "i1", 1), 2: ("int16", "i2", 2), 3: ("int32", "i4", 4), 4: ("int64", "i8", 8),
          5: ("float16", "f2", 2), 6: ("float32", "f4", 4), 7: ("float64", "f8", 8), 8: ("complex32", None, 4), 9: ("complex64", "c8", 8),
          10: ("complex128", "c16", 16), 11: ("bool", "?", 1), 15: ("bfloat16", None, 2), 23: ("float8_e5m2", None, 1),
          24: ("float8_e4m3fn", None, 1), 27: ("uint16", "u2", 2), 28: ("uint32", "u4", 4), 29: ("uint64", "u8", 8)}  # fmt: skip


def _struct(name, *fields):
    return type(name, (c.Structure,), {"_fields_": list(fields)})


_I64P = c.POINTER(c.c_int64)
_Number = _struct("fc_number", ("category", c.c_int32), ("reserved", c.c_int32), ("i", c.c_int64), ("re", c.c_double), ("im", c.c_double))
_Operand = _struct("fc_operand", ("data", c.c_void_p), ("strides", _I64P), ("dtype", c.c_int32), ("reserved", c.c_int32), ("value", _Number))
_Context = _struct("fc_context", ("size", c.c_uint32), ("device", c.c_int32), ("stream", c.c_void_p), ("message", c.c_void_p),
                   ("message_size", c.c_size_t), ("host_data", c.c_void_p), ("device_ns", c.c_uint64), ("op", c.c_char_p),
                   ("call_id", c.c_uint64), ("flags", c.c_uint32), ("reserved", c.c_uint32))  # fmt: skip
_Query = _struct("fc_query", ("size", c.c_uint32), ("family", c.c_int32), ("opcode", c.c_int32), ("compute", c.c_int32),
                 ("n_operands", c.c_int32), ("dtype", c.c_int32 * 5), ("layout", c.c_int32 * 5))  # fmt: skip
_Copy = _struct("fc_copy", ("size", c.c_uint32), ("ndim", c.c_int32), ("shape", _I64P), ("dst", _Operand), ("src", _Operand))
_Map = _struct("fc_map", ("size", c.c_uint32), ("opcode", c.c_int32), ("n_in", c.c_int32), ("n_params", c.c_int32), ("ndim", c.c_int32),
               ("compute", c.c_int32), ("shape", _I64P), ("out", _Operand), ("inputs", _Operand * 4), ("params", _Number * 4))  # fmt: skip
_Reduce = _struct("fc_reduce", ("size", c.c_uint32), ("opcode", c.c_int32), ("ndim", c.c_int32), ("compute", c.c_int32), ("shape", _I64P),
                  ("input", _Operand), ("out", _Operand), ("indices", _Operand), ("dim", c.c_int32), ("reserved", c.c_int32), ("shift", _Operand))  # fmt: skip
_Matmul = _struct("fc_matmul", ("size", c.c_uint32), ("dtype", c.c_int32), *[(n, c.c_int64) for n in ("batch", "m", "n", "k")],
                  *[(n, c.c_void_p) for n in "abc"], *[(f"{x}_{s}", c.c_int64) for x in "abc" for s in ("batch", "row", "col")],
                  ("alpha", c.c_double), ("beta", c.c_double))  # fmt: skip
_Gather = _struct("fc_gather", ("size", c.c_uint32), ("ndim", c.c_int32), ("shape", _I64P), ("out", _Operand), ("input", _Operand),
                  ("index", _Operand), ("dim", c.c_int32), ("reserved", c.c_int32), ("in_size", c.c_int64))  # fmt: skip
_Scatter = _struct("fc_scatter", ("size", c.c_uint32), ("opcode", c.c_int32), ("ndim", c.c_int32), ("dim", c.c_int32), ("shape", _I64P),
                   ("out", _Operand), ("src", _Operand), ("index", _Operand), ("out_size", c.c_int64))  # fmt: skip
_Scan = _struct("fc_scan", ("size", c.c_uint32), ("opcode", c.c_int32), ("ndim", c.c_int32), ("dim", c.c_int32), ("shape", _I64P),
                ("input", _Operand), ("out", _Operand), ("indices", _Operand))  # fmt: skip
_Sort = _struct("fc_sort", ("size", c.c_uint32), ("ndim", c.c_int32), ("dim", c.c_int32), ("descending", c.c_int32), ("shape", _I64P),
                ("input", _Operand), ("out", _Operand), ("indices", _Operand))  # fmt: skip

_Random = _struct("fc_random", ("size", c.c_uint32), ("opcode", c.c_int32), ("ndim", c.c_int32), ("reserved", c.c_int32), ("shape", _I64P),
                  ("out", _Operand), ("p", _Operand), ("a", c.c_double), ("b", c.c_double), ("low", c.c_int64), ("range", c.c_uint64),
                  ("seed", c.c_uint64), ("offset", c.c_uint64))  # fmt: skip

_STRUCTS = {"copy": _Copy, "map": _Map, "reduce": _Reduce, "matmul": _Matmul, "gather": _Gather, "scatter": _Scatter, "scan": _Scan, "sort": _Sort,
            "random": _Random}  # fmt: skip
_ContextP = c.POINTER(_Context)
_out = c.POINTER(c.c_void_p)


_Tensor = _struct("fc_tensor", ("data", c.c_void_p), ("sizes", _I64P), ("strides", _I64P), ("dtype", c.c_int32), ("ndim", c.c_int32))


class _Content(c.Union):
    _fields_ = [("i", c.c_int64), ("d", c.c_double), ("text", c.c_char_p), ("tensor", c.POINTER(_Tensor)), ("ints", _I64P),
                ("doubles", c.POINTER(c.c_double)), ("number", c.POINTER(_Number))]  # fmt: skip


_Value = _struct("fc_value", ("tag", c.c_int32), ("n", c.c_int32), ("u", _Content))
NONE, TENSOR, BOOL, INT, DOUBLE, NUMBER, STRING, DTYPE, INTS, DOUBLES, TENSORS, OTHER, UNMADE = range(13)
_Launch = _struct("fc_launch", ("size", c.c_uint32), ("reserved", c.c_uint32), ("name", c.c_char_p), ("text", c.c_char_p),
                  ("device_ns", c.c_uint64), ("start_ns", c.c_uint64), ("bytes", c.c_uint64), ("waited_ns", c.c_uint64))  # fmt: skip
_Host = _struct("fc_host", ("size", c.c_uint32), ("abi_version", c.c_int32), ("version", c.c_char_p), ("log", c.c_void_p), ("workspace", c.c_void_p),
                ("report_launch", c.CFUNCTYPE(None, _ContextP, c.POINTER(_Launch))),
                ("make_result", c.CFUNCTYPE(c.c_int, _ContextP, c.c_int32, c.c_int32, c.c_int32, c.c_int32, _I64P, c.POINTER(_Tensor))),
                ("make_view", c.c_void_p), ("report_error", c.CFUNCTYPE(None, c.c_char_p, c.c_int32, c.c_void_p, c.c_int32, c.c_char_p)),
                ("claims_changed", c.CFUNCTYPE(None, c.c_char_p)))  # fmt: skip


def _host():
    return _Host.from_address(_C._host_services())


def _function(*types):
    return c.CFUNCTYPE(c.c_int, c.c_void_p, *types)


_list = c.CFUNCTYPE(c.c_void_p, c.c_void_p)  # of texts, by address


_FUNCTIONS = {
    "describe": _function(_ContextP, c.c_void_p, c.c_size_t),
    "alloc": _function(_ContextP, c.c_size_t, _out),
    "free": _function(_ContextP, c.c_void_p, c.c_size_t),
    "copy_bytes": _function(_ContextP, c.c_void_p, c.c_void_p, c.c_size_t, c.c_int32, c.c_uint32),
    "fill_bytes": _function(_ContextP, c.c_void_p, c.c_uint8, c.c_size_t),
    "synchronise": _function(_ContextP),
    "supports": _function(c.POINTER(_Query)),
    **{name: _function(_ContextP, c.POINTER(struct)) for name, struct in _STRUCTS.items()},
    "operators": _list,
    "run_operator": _function(_ContextP, c.c_char_p, c.POINTER(_Value), c.c_int32, c.POINTER(_Value), c.c_int32),
    **dict.fromkeys(("stream_create", "stream_destroy", "event_create", "event_destroy", "event_record", "event_wait", "event_query", "event_synchronise",
                     "event_elapsed", "host_alloc", "host_free", "copy_peer", "counter_names", "counters", "memory_info"), c.c_void_p),
    "functions": _list,
    "call": _function(_ContextP, c.c_char_p, c.POINTER(_Value), c.c_int32, c.POINTER(_Value)),
}  # fmt: skip
_BackendStruct = _struct(
    "fc_backend", ("size", c.c_uint32), ("abi_version", c.c_int32), ("name", c.c_char_p), ("self", c.c_void_p),
    ("device_count", c.c_int32), ("flags", c.c_uint32), *[(name, kind) for name, kind in _FUNCTIONS.items()])  # fmt: skip


def _texts(lines):
    """Texts as the contract lists them; what it points to stays."""
    key = tuple(lines)
    if key not in _lists:
        _lists[key] = (c.c_char_p * (len(key) + 1))(*[line.encode() for line in key], None)
    return c.addressof(_lists[key])


_lists: dict = {}


def _value(number):
    return (bool, int)[number.category](number.i) if number.category <= 1 else number.re if number.category == 2 else complex(number.re, number.im)


class Operand:
    """One operand of a call: `number` for all elements, or memory with a shape and strides in bytes."""

    def __init__(self, data, dtype, shape, strides, number=None):
        self.data, self.shape, self.strides, self.number = data, tuple(shape), tuple(strides), number
        self.dtype, self._numpy, self._item = DTYPES[dtype]

    def numpy(self):
        """The elements as a NumPy array over the same memory (or a 0-d array for a number)."""
        import numpy as np

        if self.data is None:
            return np.asarray(self.number)
        if self._numpy is None:
            raise NotImplementedError(f"NumPy has no {self.dtype}")
        low = sum((n - 1) * s for n, s in zip(self.shape, self.strides) if s < 0)
        high = sum((n - 1) * s for n, s in zip(self.shape, self.strides) if s > 0) + self._item
        memory = (c.c_char * (high - low)).from_address(self.data + low)
        return np.ndarray(self.shape, self._numpy, memory, offset=-low, strides=self.strides)


class Query:
    """What a backend is asked: the answer must depend on nothing else."""

    def __init__(self, q):
        self.family = FAMILIES[q.family]
        names = {"map": _map_names, "reduce": lambda: REDUCE, "scatter": lambda: SCATTER, "scan": lambda: SCAN,
                 "random": lambda: RANDOM}.get(self.family)
        self.opcode = names()[q.opcode] if names else None
        self.compute = DTYPES[q.compute][0]
        self.dtypes = [DTYPES[q.dtype[i]][0] if q.layout[i] else None for i in range(q.n_operands)]
        self.layouts = [LAYOUTS[q.layout[i]] for i in range(q.n_operands)]


def _map_names():
    return [row[0] for row in _C._map_opcodes()]


class Call:
    """A family call: `device`, `stream`, the operands by name, and the family's own fields."""


def _call(family, context, k):
    call = Call()
    call._context = context
    call.device, call.stream, call.op = context.device, context.stream, (context.op or b"").decode()
    if family == "matmul":

        def matrix(x, rows, columns):
            strides = [getattr(k, f"{x}_{s}") for s in ("batch", "row", "col")]
            return Operand(getattr(k, x), k.dtype, (k.batch, rows, columns), strides)

        call.a, call.b, call.out = matrix("a", k.m, k.k), matrix("b", k.k, k.n), matrix("c", k.m, k.n)
        call.alpha, call.beta = k.alpha, k.beta
        return call
    shape = [k.shape[i] for i in range(k.ndim)]

    def operand(o, sizes=None):
        if not o.strides:
            return Operand(None, o.dtype, (), (), _value(o.value))
        return Operand(o.data, o.dtype, sizes or shape, [o.strides[i] for i in range(k.ndim)]) if o.data else None

    if family == "copy":
        call.out, call.inputs = operand(k.dst), [operand(k.src)]
    elif family == "map":
        call.opcode, call.compute = _map_names()[k.opcode], DTYPES[k.compute][0]
        call.out, call.inputs = operand(k.out), [operand(k.inputs[i]) for i in range(k.n_in)]
        call.params = [_value(k.params[i]) for i in range(k.n_params)]
    elif family == "random":
        call.opcode, call.out, call.p = RANDOM[k.opcode], operand(k.out), operand(k.p) if k.p.strides else None
        call.a, call.b, call.low, call.range, call.seed, call.offset = k.a, k.b, k.low, k.range, k.seed, k.offset
    else:
        call.dim = k.dim
        wide = list(shape)
        if family == "gather":
            wide[k.dim] = k.in_size
            call.out, call.input, call.index = operand(k.out), operand(k.input, wide), operand(k.index)
        elif family == "scatter":
            wide[k.dim] = k.out_size
            call.opcode = SCATTER[k.opcode]
            call.out, call.src, call.index = operand(k.out, wide), operand(k.src), operand(k.index)
        else:
            call.out, call.input, call.indices = operand(k.out), operand(k.input), operand(k.indices) if k.indices.strides else None
            if family == "reduce":
                call.opcode, call.compute = REDUCE[k.opcode], DTYPES[k.compute][0]
                call.shift = operand(k.shift) if call.opcode == "sum_deviations" else None
            elif family == "scan":
                call.opcode = SCAN[k.opcode]
            else:
                call.descending = bool(k.descending)
    return call


def _operand(t):
    return Operand(t.data, t.dtype, [t.sizes[i] for i in range(t.ndim)], [t.strides[i] for i in range(t.ndim)]) if t.dtype >= 0 else None


def _from_value(v):
    """An argument or a result as Python has it; tensors are operands, texts and numbers themselves."""
    u = v.u
    if v.tag in (BOOL, INT):
        return bool(u.i) if v.tag == BOOL else u.i
    if v.tag == DTYPE:
        return DTYPES[u.i][0]
    if v.tag == STRING:
        return u.text.decode()
    if v.tag == TENSOR:
        return _operand(u.tensor[0])
    if v.tag == TENSORS:
        return [_operand(u.tensor[i]) for i in range(v.n)]
    if v.tag in (INTS, DOUBLES):
        return [(u.ints if v.tag == INTS else u.doubles)[i] for i in range(v.n)]
    return u.d if v.tag == DOUBLE else _value(u.number[0]) if v.tag == NUMBER else None


class OperatorCall:
    """A call of a whole operator, or of a function: `name`, `args`, `results` (operands to fill, None where absent or unmade), `device`."""

    def __init__(self, context, name, args, results):
        self._context, self.name, self.device = context, name, context.device
        self.args, self.results = args, results

    def make(self, result, array, item=0):
        """Makes a result whose size the data decide, from a NumPy array."""
        sizes = (c.c_int64 * max(array.ndim, 1))(*array.shape)
        dtype = next(number for number, row in DTYPES.items() if row[0] == array.dtype.name)
        made = _Tensor()
        if _host().make_result(c.byref(self._context), result, item, dtype, array.ndim, sizes, c.byref(made)) != OK:
            raise RuntimeError(c.string_at(self._context.message).decode(errors="replace"))
        if array.size:
            _operand(made).numpy()[...] = array


class Backend:
    """A device type written in Python. Set `name`, override what the device can do, hand an object to `register`.

    Memory is the host's unless alloc, free, copy_bytes and fill_bytes are overridden (all four). Computation comes as
    calls of nine families. A family is a method of that name, which takes a call object and fills its `out`; it is
    called only where `supports(query)` said yes. What no family does is decomposed or runs on the CPU.

    The families and the fields of their calls:

        copy     inputs[0] into out, converting between types
        map      opcode, compute, inputs, params, out: one result per element
        reduce   opcode, compute, input, out, indices, dim (-1: all of them), shift. The base is sum prod max min argmax
                 argmin any all; beyond it mean nansum sum_abs sum_squares sum_deviations (of (input - shift) squared)
                 count_nonzero (compute is bool, out int64)
        matmul   out = alpha * a @ b + beta * out, each (batch, rows, columns)
        gather   out[i][j] = input[index[i][j]][j], along dim
        scatter  opcode (set add mul max min), out[index[i][j]][j] takes src[i][j], along dim
        scan     opcode (sum prod max min logsumexp), input, out, indices, dim: running results
        sort     input, out, indices, dim, descending; equal elements keep their order
        random   opcode (uniform normal log_normal exponential cauchy geometric bernoulli integer), a, b, low, range,
                 p (of bernoulli, or None), seed, offset: numbers as docs/random.md draws them on devices

    Every call has `device` (a number), `stream` and `op` (the operator it is made for) too. `compute` is the type to compute in; half types come as float32.
    Names and parameters of map's opcodes, in the order of the contract: include/facula/opcodes.h. A reduced `out` has
    the input's shape with stride 0 along what is reduced. argmax and argmin have `out` None and write `indices`.

    An operand is an `Operand`: data (an address), dtype (a name), shape, strides (in bytes), and `number` where one
    number stands for all elements. `.numpy()` is an array over its memory, to read or to write with `[...] =`. An
    operand that a call does not have is None.

    `supports` gets a `Query`: family, opcode (None where the family has none), compute, and per operand, the result
    first, dtypes (None: absent) and layouts (absent, number, contiguous, strided, repeated). It is asked once per
    combination and must depend on nothing else.

    Whole operators: `operators` names them ("aten::nonzero"), `run_operator(call)` gets an `OperatorCall` and returns
    NotImplemented to decline it. Numbers that an operator returns are what the method returns; results without a shape
    are made by call.make(number, array).

    Functions of its own: `functions` are lines like "reload(path): what it does"; facula.backends.call(name, "reload", …)
    calls the method of that name, whose result may be None, a bool, an int, a float or a str.

    An exception of a method becomes the error of the operator's call, with the exception as its cause.
    """

    name: "str | None" = None  # the device type: torch.ones(2, device="<name>:0")
    device_count: int = 1
    operators: "tuple[str, ...] | list[str]" = ()
    functions: "tuple[str, ...] | list[str]" = ()

    def run_operator(self, call: OperatorCall):
        """Runs an operator that `operators` names; NotImplemented: not this one."""
        return NotImplemented

    def claims_changed(self) -> None:
        """`supports` and `operators` answer otherwise from now on."""
        assert self.name
        _host().claims_changed(self.name.encode())

    def report_launch(self, call, name: str, device_ns: int = 0, bytes: int = 0, text: str = "", waited_ns: int = 0) -> None:
        """Tells observers that the device ran something, under the call at hand. waited_ns: how long the caller has waited for it."""
        launch = _Launch(size=c.sizeof(_Launch), name=name.encode(), text=text.encode(), device_ns=device_ns, bytes=bytes, waited_ns=waited_ns)
        _host().report_launch(c.byref(call._context), c.byref(launch))

    def report_error(self, device: int, error: Exception) -> None:
        """What the device found out later: raised by the next synchronisation, .item() or copy to the host."""
        status = BAD_INDEX if isinstance(error, IndexError) else ERROR
        _host().report_error((self.name or "").encode(), device, None, status, str(error).encode())

    def describe(self, device: int) -> str:
        """One line about a device, for `facula info`."""
        return f"{type(self).__name__}, written in Python"

    def alloc(self, device: int, nbytes: int) -> int:
        """The address of fresh memory, aligned to 64 bytes; MemoryError if there is none."""
        block = (c.c_char * (nbytes + 64))()
        address = (c.addressof(block) + 63) // 64 * 64
        self.__dict__.setdefault("_blocks", {})[address] = block
        return address

    def free(self, device: int, address: int, nbytes: int) -> None:
        """Takes back what alloc gave."""
        del self._blocks[address]

    def copy_bytes(self, device: int, dst: int, src: int, nbytes: int, kind: str) -> None:
        """Copies; kind is host_to_device, device_to_host or device_to_device."""
        c.memmove(dst, src, nbytes)

    def fill_bytes(self, device: int, address: int, value: int, nbytes: int) -> None:
        """Sets every byte to value."""
        c.memset(address, value, nbytes)

    def synchronise(self, device: int) -> None:
        """Waits until the device's work is done."""

    def supports(self, query: Query) -> bool:
        """Whether this device computes what the query describes."""
        return False


def _guard(body):
    """A callback that turns exceptions into a status and a message; the first argument after self is the context."""

    def run(_self, context, *args):
        try:
            return UNSUPPORTED if body(context.contents, *args) is NotImplemented else OK
        except BaseException as e:  # nothing may pass into C
            message = f"{type(e).__name__}: {e}".encode()[: context.contents.message_size - 1].decode(errors="ignore")
            text = message.encode() + b"\0"
            c.memmove(context.contents.message, text, len(text))
            _C._set_backend_error(e, message)
            for kind, status in ((NotImplementedError, UNSUPPORTED), (IndexError, BAD_INDEX), (MemoryError, OUT_OF_MEMORY)):
                if isinstance(e, kind):
                    return status
            return ERROR

    return run


def register(backend: Backend) -> str:
    if not isinstance(backend, Backend):
        raise TypeError(f"register: expected a facula.backends.Backend, got {type(backend).__name__}")
    if not backend.name:
        raise ValueError(f"register: {type(backend).__name__} has no name")

    def describe(context, text, size):
        line = backend.describe(context.device).encode()[: size - 1]
        c.memmove(text, line + b"\0", len(line) + 1)

    def alloc(context, nbytes, out):
        out[0] = backend.alloc(context.device, nbytes)

    def supports(_self, query):
        try:
            return int(bool(backend.supports(Query(query.contents))))
        except Exception:
            import traceback

            traceback.print_exc()
            return 0

    def write(value, slot, kept):
        """A plain result into the contract's form."""
        if isinstance(value, bool):
            slot.tag, slot.u.i = BOOL, value
        elif isinstance(value, int):
            slot.tag, slot.u.i = INT, value
        elif isinstance(value, float):
            slot.tag, slot.u.d = DOUBLE, value
        elif isinstance(value, str):
            kept.text = value.encode()
            slot.tag, slot.n, slot.u.text = STRING, len(kept.text), kept.text
        elif value is not None:
            raise TypeError(f"a result is None, a bool, an int, a float or a str, not {type(value).__name__}")

    texts = threading.local()

    def run_operator(context, name, args, n_args, results, n_results):
        values = [results[i] for i in range(n_results)]
        call = OperatorCall(context, name.decode(), [_from_value(args[i]) for i in range(n_args)], [_from_value(v) for v in values])
        returned = backend.run_operator(call)
        if returned is not NotImplemented and returned is not None:
            write(returned, results[0], texts)
        return returned

    def call_function(context, name, args, n_args, result):
        method = getattr(backend, name.decode())
        write(method(*[_from_value(args[i]) for i in range(n_args)]), result[0], texts)

    bodies = {
        "describe": describe,
        "alloc": alloc,
        "free": lambda x, address, nbytes: backend.free(x.device, address, nbytes),
        "copy_bytes": lambda x, dst, src, nbytes, kind, flags: backend.copy_bytes(x.device, dst, src, nbytes, COPY_KINDS[kind]),
        "fill_bytes": lambda x, address, value, nbytes: backend.fill_bytes(x.device, address, value, nbytes),
        "synchronise": lambda x: backend.synchronise(x.device),
        "run_operator": run_operator,
        "call": call_function,
    }
    for family in FAMILIES:
        if hasattr(backend, family):
            bodies[family] = lambda x, k, family=family: getattr(backend, family)(_call(family, x, k.contents))
    struct = _BackendStruct(size=c.sizeof(_BackendStruct), abi_version=ABI_VERSION, name=backend.name.encode(), device_count=backend.device_count)
    kept = {name: _FUNCTIONS[name](_guard(body)) for name, body in bodies.items()}
    kept["supports"] = _FUNCTIONS["supports"](supports)
    kept["operators"] = _FUNCTIONS["operators"](lambda _self: _texts(backend.operators))
    kept["functions"] = _FUNCTIONS["functions"](lambda _self: _texts(backend.functions))
    for name, function in kept.items():
        setattr(struct, name, function)
    got = _C._register_backend(c.addressof(struct), f"Python class {type(backend).__module__}.{type(backend).__qualname__}")
    _registered.append((struct, kept, backend))  # the library keeps pointers into these
    return got


_registered = []
