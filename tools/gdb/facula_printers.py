"""gdb shows tensors, values, schemas, types and parts of graphs as one readable line.

gdb loads this by itself beside a build's libfacula.so once the folder is trusted
(`add-auto-load-safe-path PATH` in ~/.gdbinit), or by hand: `source tools/gdb/facula_printers.py`.
A release build has no symbols for what a tensor holds, and the printers say so: PRESET=debug and relwithdebinfo have
them. There `call fc::dump(x)` works, too.
"""

import functools

import gdb
import gdb.printing

SHOWN = 8  # elements of a tensor's data


def ints(pointer, n):
    return "[" + ", ".join(str(int(pointer[i])) for i in range(n)) + "]"


def enum_name(value):
    return str(value).rsplit("::", 1)[-1]


def device_text(device):
    kind = int(device["type"])
    index = int(device["index"])
    name = {0: "cpu", 1: "cuda", 2: "meta"}.get(kind, f"device{kind}")
    return name if index < 0 else f"{name}:{index}"


# Element types that gdb can read from memory by itself.
READABLE = {
    "UInt8": "unsigned char", "Int8": "signed char", "Int16": "short", "Int32": "int", "Int64": "long",
    "Float32": "float", "Float64": "double", "Bool": "bool",
}  # fmt: skip


def elements(impl, sizes, strides, dtype):
    """The first elements in row order, or '' where memory cannot be read."""
    if dtype not in READABLE or int(impl["device_"]["type"]) != 0:
        return ""
    storage = impl["storage_"]["p_"]
    if not int(storage):
        return ""
    data = storage["block_"]["data"].cast(gdb.lookup_type(READABLE[dtype]).pointer())
    numel = int(impl["numel_"])
    base, out = int(impl["offset_"]), []
    for i in range(min(numel, SHOWN)):
        offset, rest = base, i
        for size, stride in zip(reversed(sizes), reversed(strides)):
            offset += rest % size * stride
            rest //= size
        out.append(str(data[offset]))
    return " {" + ", ".join(out) + (", …" if numel > SHOWN else "") + "}"


def tensor_text(impl):
    n = int(impl["ndim_"])
    sizes = [int(impl["dims_"][i]) for i in range(n)]
    strides = [int(impl["dims_"][n + i]) for i in range(n)]
    dtype = enum_name(impl["dtype_"])
    text = f"{dtype}{sizes} strides {strides} on {device_text(impl['device_'])}"
    offset = int(impl["offset_"])
    if offset:
        text += f" at {offset}"
    try:
        return text + elements(impl, sizes, strides, dtype)
    except gdb.MemoryError:
        return text


class Tensor:
    def __init__(self, value):
        self.impl = value["impl_"]["p_"]

    def to_string(self):
        return tensor_text(self.impl.dereference()) if int(self.impl) else "undefined"


class TensorImpl:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return tensor_text(self.value)


class Ref:
    def __init__(self, value):
        self.pointer = value["p_"]

    def to_string(self):
        if not int(self.pointer):
            return "null"
        return f"{int(self.pointer):#x} (count {int(self.pointer.dereference()['count_'])})"


class Dims:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return ints(self.value["data_"], int(self.value["size_"]))


class Device:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return device_text(self.value)


class Scalar:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        kind = enum_name(self.value["kind_"])
        if kind in ("Bool", "Int"):
            return str(int(self.value["i_"]))
        if kind == "Double":
            return str(self.value["re_"])
        return f"({self.value['re_']}+{self.value['im_']}j)"


class Boxed:
    """Value and Arg: a tag and a union."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        tag, u = enum_name(self.value["tag_"]), self.value["u_"]
        if tag == "None":
            return "None"
        if tag == "Tensor":  # an Arg borrows one, a Value holds it
            tensor = u["tensor"]
            return f"Tensor {Tensor(tensor if tensor.type.code != gdb.TYPE_CODE_PTR else tensor.dereference()).to_string()}"
        if "plain" in {f.name for f in u.type.strip_typedefs().fields()}:
            u = u["plain"]
        if tag in ("Bool", "Int"):
            return f"{tag} {int(u['i'])}"
        if tag == "Double":
            return f"Double {u['d']}"
        if tag == "Device":
            return f"Device {device_text(u['device'])}"
        if "n_" in {f.name for f in self.value.type.strip_typedefs().fields()}:
            n = int(self.value["n_"])
            if tag == "IntList":
                return f"IntList {ints(u['ints'], n)}"
            if tag == "String":
                return f'String "{u["text"].string(length=n)}"'
            return f"{tag} of {n}"
        return tag


class Schema:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        name = f"{self.value['space'].format_string()}::{self.value['name'].format_string()}".replace('"', "")
        overload = self.value["overload"].format_string().replace('"', "")
        return name + (f".{overload}" if overload else "")


def items(vector):
    """Of a std::vector."""
    begin, end = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    return [begin[i] for i in range(int(end - begin))]


def std_string(value):
    return value["_M_dataplus"]["_M_p"].string(length=int(value["_M_string_length"]))


class Type:
    def __init__(self, value):
        self.value = value

    def to_string(self, depth=0):
        name, kind = std_string(self.value["name_"]), enum_name(self.value["kind_"])
        inside = [Type(i.dereference()).to_string(depth + 1) for i in items(self.value["items_"])] if depth < 8 else []
        return (name or kind) + (f"[{', '.join(inside)}]" if inside else "")


class GraphValue:
    """%name : type"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        if not int(self.value["serial_"]):
            return "a value that was destroyed"
        name = std_string(self.value["own_name_"]) or str(int(self.value["unique_"]))
        return f"%{name} : {Type(self.value['type_'].dereference()).to_string()}"


class Node:
    """The first line of it: outputs = kind(inputs)."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        if not int(self.value["serial_"]):
            return "a node that was destroyed"
        text = self.value["kind_"]["entry_"]["text"]
        kind = text["_M_str"].string(length=int(text["_M_len"]))
        outputs = ", ".join(GraphValue(v.dereference()).to_string() for v in items(self.value["outputs_"]))
        inputs = ", ".join(GraphValue(i["value"].dereference()).to_string().split(" ")[0] for i in items(self.value["inputs_"]))
        blocks = len(items(self.value["blocks_"]))
        return f"{outputs} = {kind}({inputs})" + (f" with {blocks} blocks" if blocks else "")


class Graph:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        block = self.value["block_"].dereference()
        inputs = ", ".join(GraphValue(v.dereference()).to_string() for v in items(block["param_"]["outputs_"]))
        outputs = ", ".join(GraphValue(i["value"].dereference()).to_string() for i in items(block["return_"]["inputs_"]))
        return f"graph({inputs}) of {int(self.value['live_nodes_'])} nodes -> ({outputs})"


class Told:
    """Another printer, or a sentence where symbols or memory are missing."""

    def __init__(self, printer, value):
        self.printer, self.value = printer, value

    def to_string(self):
        try:
            return self.printer(self.value).to_string()
        except gdb.MemoryError:
            return f"{self.value.type.name} whose memory cannot be read"
        except gdb.error:
            return f"{self.value.type.name} at {self.value.address} (no symbols for what it holds: PRESET=relwithdebinfo has them)"


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("facula")
    for name, printer in (
        ("Tensor", Tensor),
        ("TensorImpl", TensorImpl),
        ("Ref<.*>", Ref),
        ("Dims", Dims),
        ("Device", Device),
        ("Scalar", Scalar),
        ("Value", Boxed),
        ("Arg", Boxed),
        ("Schema", Schema),
        ("Type", Type),
        ("jit::Value", GraphValue),
        ("jit::Node", Node),
        ("jit::Graph", Graph),
    ):
        collection.add_printer(name, f"^fc::{name}$", functools.partial(Told, printer))
    return collection


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)
