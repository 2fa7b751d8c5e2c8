# SPDX-License-Identifier: Apache-2.0
"""What help(torch.add), the type stubs and editors show above an operator's signatures: the sentence of its row in C++; and
the signatures that inspect.signature(torch.add) gives.

Read when the first __doc__ is asked for. An operator that works in place (`add_`) or under a second name needs no sentence of
its own.
"""


# Second names.
_SAME = """
absolute=abs arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan arctan2=atan2 arctanh=atanh clip=clamp
concat=cat concatenate=cat divide=div fix=trunc ger=outer greater=gt greater_equal=ge less=lt less_equal=le
moveaxis=movedim multiply=mul negative=neg not_equal=ne row_stack=vstack subtract=sub swapaxes=transpose
swapdims=transpose true_divide=div special_expit=sigmoid special_gammainc=igamma
special_gammaincc=igammac special_gammaln=lgamma special_psi=digamma
"""


_same = dict(pair.split("=") for pair in _SAME.split())


def _told(name):
    """What the operator's row says, or None."""
    from facula import _C

    return _C._operator_doc(f"aten::{name}")


def docstring(name):
    """What the operator does, or None."""
    if known := _same.get(name):
        return f"Another name for {known.removeprefix('special_')}. {_told(known)}"
    if told := _told(name):
        return told
    if name.startswith(("special_", "linalg_")) and (told := docstring(name.partition("_")[2])):
        return told
    if name.endswith("_") and (told := docstring(name[:-1])):
        return f"{name[:-1]}, written into the tensor itself. {told}"
    return None


def function_signature(base, method):
    """The signature of torch.<name> or Tensor.<name>, of all overloads together."""
    from facula import _C

    found = [_C._find_operator(f"{base}.{o}" if o else base) for o in _C._overloads(base)]
    return signature([op for op in found if not (method and op.is_out)] or found, method)


def signature(operators, method=None):
    """One inspect.Signature for operators of one name. method: None for the schema's own names, as torch.ops has them."""
    from inspect import Parameter, Signature
    from keyword import iskeyword

    def parameters(op):
        """([by position], [by keyword])"""
        positional, keywords = [], []
        n = sum(not a.kwarg_only for a in op._schema.arguments)
        for i, a in enumerate(op._schema.arguments):
            name = "input" if a.name == "self" and method is False else a.name + "_" * iskeyword(a.name)
            kind, default = Parameter.POSITIONAL_OR_KEYWORD, a.default_value if a.has_default_value() else Parameter.empty
            if a.kwarg_only:
                kind = Parameter.KEYWORD_ONLY
                if a.is_write and method is not None:
                    name, default = "out", None  # a tuple where there are several
            elif method is not None and n == i + 1 == method + 1 and a.type.startswith("int["):
                kind, default = Parameter.VAR_POSITIONAL, Parameter.empty  # x.view(2, 3), torch.zeros(2, 3)
            (keywords if a.kwarg_only else positional).append(Parameter(name, kind, default=default))
        if method is False and {"dtype", "layout", "pin_memory"} <= {p.name for p in keywords}:
            keywords.append(Parameter("requires_grad", Parameter.KEYWORD_ONLY, default=False))
        return positional, keywords

    forms = [parameters(op) for op in operators]
    first_keywords = {p.name for p in forms[0][1]}
    for positional, by_keyword in forms[1:]:  # add.Scalar(self, other, alpha=1) has by position what add.Tensor has not
        while positional and positional[-1].name in first_keywords:
            by_keyword.insert(0, positional.pop().replace(kind=Parameter.KEYWORD_ONLY))
    names = [[p.name for p in positional] for positional, _ in forms]
    longest = max((positional for positional, _ in forms), key=len)
    if any(n != [p.name for p in longest[: len(n)]] for n in names):  # forms that differ: what they share
        shared = [p for p, *others in zip(longest, *names) if all(o == p.name for o in others)]
        return Signature([*shared, Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)])
    always, result = min(map(len, names)), []
    for i, p in enumerate(longest):
        must = p.default is p.empty and p.kind != p.VAR_POSITIONAL
        optional = i >= always or (result and result[-1].default is not p.empty)
        result.append(p.replace(default=None) if must and optional else p)
    keywords = {}
    known = {p.name for positional, by_keyword in forms for p in positional + by_keyword}
    for p in (p for _, by_keyword in forms for p in by_keyword if p.name not in {r.name for r in result}):
        everywhere = all(any(q.name == p.name for q in by_keyword) for _, by_keyword in forms)
        keywords[p.name] = p if everywhere or p.default is not p.empty else p.replace(default=None)
    if method is not None:  # the names of the array API's standard, which every call takes as well
        for name, other in (("dim", "axis"), ("keepdim", "keepdims")):
            if name in known and other not in known:
                keywords[other] = Parameter(other, Parameter.KEYWORD_ONLY, default=None)
    return Signature([*result, *keywords.values()])
