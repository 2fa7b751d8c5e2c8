# SPDX-License-Identifier: Apache-2.0
"""What is asked of types' objects: used by record_types.py (PyTorch) and test_types.py (Facula)."""

IR = """graph(%x : Float(2, *, requires_grad=0, device=cpu), %y : Tensor, %z : int[], %o : Tensor?, %d : Dict(str, int),
      %t : (int, Tensor), %u : Union(int, str), %f : Future(int), %w : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),
      %q : int, %p : Await(int), %r : RRef(int), %s : Scalar, %a : Any, %dv : Device, %n : NoneType, %b : bool, %c : complex,
      %g : float, %h : str, %k : Half(4, 3, 2, strides=[1, 4, 12])):
  return (%x)
"""
QUESTIONS = ("dim", "dtype", "device", "sizes", "strides", "requires_grad", "scalarType", "varyingSizes", "undefined", "is_interface_type", "containedTypes", "contiguous")
MAKERS = (
    "x.with_dtype(torch.float64)",
    "x.with_sizes([1, 2])",
    "x.with_sizes([None, 2])",
    "x.with_sizes(None)",
    "x.with_device(torch.device('cuda', 0))",
    "C.TensorType.get()",
    "C.TensorType.getInferred()",
    "C.TensorType.create_from_tensor(torch.ones(2, 3, requires_grad=True))",
    "C.IntType.get()",
    "C.ListType(C.IntType.get())",
    "C.ListType.ofInts()",
    "C.ListType.ofComplexDoubles()",
    "C.ListType.ofTensors().getElementType()",
    "C.OptionalType.ofTensor()",
    "C.TupleType([C.IntType.get()])",
    "C.TupleType([C.IntType.get()]).elements()[0]",
    "C.DictType(C.IntType.get(), C.StringType.get())",
    "C.DictType(C.IntType.get(), C.StringType.get()).getValueType()",
    "C.UnionType([C.IntType.get(), C.StringType.get()])",
    "C.FutureType(C.IntType.get()).getElementType()",
    "C.RRefType(C.IntType.get())",
    "C.AwaitType(C.IntType.get())",
    "C.InferredType(C.IntType.get()).type()",
    "C.NumberType.get()",
    "C.SymIntType.get()",
    "C.PyObjectType.get()",
    "C.DeviceObjType.get()",
    "C.StreamObjType.get()",
    "C._GeneratorType.get()",
)
TRUTHS = (
    "C.AnyType.get() == C.AnyType.get()",
    "C.IntType.get().isSubtypeOf(C.OptionalType(C.IntType.get()))",
    "C.InferredType('why').success()",
    "C.InferredType('why').reason()",
    "isinstance(C.IntType.get(), C.Type)",
)


def answers(torch):
    """{question: answer as text}; what raises answers with the class of the error."""
    scope = {"torch": torch, "C": torch._C}
    graph = torch._C.parse_ir(IR)
    values = list(graph.inputs())
    scope["x"] = values[8].type()
    out = {}
    for value in values:
        t = value.type()
        name = value.debugName()
        out[name] = " | ".join((type(t).__name__, repr(t), t.kind(), t.annotation_str, t.str()))
        for question in QUESTIONS:
            try:
                answer = getattr(t, question)()
                out[f"{name}.{question}"] = str(answer) if not isinstance(answer, torch._C.Type) else answer.str()
            except (RuntimeError, TypeError) as e:
                out[f"{name}.{question}"] = type(e).__name__
    for text in MAKERS:
        made = eval(text, scope)
        out[text] = f"{type(made).__name__} {made.str()}"
    for text in TRUTHS:
        out[text] = str(eval(text, scope))
    return out
