# SPDX-License-Identifier: Apache-2.0
"""A call of a kernel log as a C++ program: to step through with a debugger, or to send to somebody."""

from __future__ import annotations

import base64
import json
import math
import os
from typing import Any

from facula import _C
from facula.profiler import kernel_log

LIMIT = 4 << 20  # bytes of tensors that a source may hold: compilers need a hundred times that

_HEAD = """// Call {number} of {log}: {kernel}, recorded on {device}.
// c++ -std=c++20 -g {{this file}} $(facula info --cflags) -o replay && gdb ./replay
// ./replay LIBRARY.so … loads the backends of other devices first.
#include <facula/facula.h>

#include <cstdio>
#include <string>
#include <vector>

#include "core/generator.h"
#include "define/calls.h"

namespace fc {{
int load_backend(const std::string& path);  // backends/plugin/plugin.h
}}

namespace {{

// A part of a storage, as it was.
[[maybe_unused]] fc::Tensor memory(const char* bytes, int64_t n, const char* device) {{
  fc::Tensor t = fc::empty_tensor(fc::Dims{{n}}, fc::DType::UInt8, fc::parse_device(device));
  if (n) fc::copy_bytes(t.data(), t.device(), bytes, fc::Device{{}}, static_cast<size_t>(n));
  return t;
}}

[[maybe_unused]] fc::Tensor tensor(const fc::Tensor& memory, int dtype, std::vector<int64_t> sizes,
                                   std::vector<int64_t> strides, int64_t offset) {{
  return fc::make_view(memory, sizes, strides, offset, static_cast<fc::DType>(dtype));
}}

[[maybe_unused]] fc::Ref<fc::Generator> generator(const char* bytes, size_t n) {{
  auto g = fc::make_ref<fc::CpuGenerator>();
  g->set_state(std::vector<uint8_t>(bytes, bytes + n));
  return g;
}}

int wrong = 0;

[[maybe_unused]] void compare(const char* what, const fc::Tensor& actual, const fc::Tensor& expected) {{
  const auto text = [&](const char* verdict) {{ std::printf("%s: %s\\n", what, verdict); }};
  if (actual.dtype() != expected.dtype() || !std::ranges::equal(actual.sizes(), expected.sizes())) {{
    ++wrong;
    return text("another type or size than recorded");
  }}
  const fc::Tensor a = fc::contiguous(actual), e = fc::contiguous(expected);
  const size_t item = fc::item_size(a.dtype()), n = static_cast<size_t>(a.numel()) * item;
  std::vector<char> bytes(n);
  if (n) fc::copy_bytes(bytes.data(), fc::Device{{}}, a.data(), a.device(), n);
  for (size_t i = 0; i < n; ++i)
    if (bytes[i] != static_cast<const char*>(e.data())[i]) {{
      ++wrong;
      std::printf("%s: differs from element %zu on\\n", what, i / item);
      return;
    }}
  text("identical");
}}

}}  // namespace

int main(int argc, char** argv) {{
  facula::tensor(0.0);  // starts Facula
  for (int i = 1; i < argc; ++i) fc::load_backend(argv[i]);
"""


def _text(data: bytes) -> str:
    """A string literal, in lines."""
    step = 24
    lines = ["".join(f"\\{byte:03o}" for byte in data[i : i + step]) for i in range(0, len(data), step)] or [""]
    return "\n".join(f'      "{line}"' for line in lines)


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"the call has the number {value}, which no int64_t holds")
        return "INT64_MIN" if value == -(2**63) else f"int64_t{{{value}}}"
    if math.isnan(value):
        return "double(NAN)"
    return f"{'-' if value < 0 else ''}double(INFINITY)" if math.isinf(value) else repr(value)


class _Program:
    def __init__(self, call: dict[str, Any], device: str | None):
        self.call, self.place = call, kernel_log.moved(call, device)
        self.lines: list[str] = []
        self.names = 0

    def name(self, what: str) -> str:
        self.names += 1
        return f"{what}{self.names}"

    def memory(self, when: str) -> None:
        for i, entry in enumerate(self.call[when]["storages"]):
            data = kernel_log.memory_of(self.call, when, i)
            if data is None:
                raise ValueError("the log has no contents of a tensor: it was on the meta device")
            place = self.place(entry["device"]) if when == "before" else "cpu"
            bytes_ = f"bytes_before_{entry['same']}" if "same" in entry else f"bytes_{when}_{i}"
            if "same" not in entry:
                self.lines.append(f"  static const char {bytes_}[] =\n{_text(data)};")
            self.lines.append(f"  const fc::Tensor {when}_{i} = memory({bytes_}, {len(data)}, {json.dumps(place)});")

    def tensor(self, when: str, t: dict[str, Any]) -> str:
        dtype = getattr(_C, t["dtype"], None)
        if not isinstance(dtype, _C.dtype):
            raise ValueError(f"the log has a tensor of type {t['dtype']!r}, which does not exist here")
        ints = lambda values: "{" + ", ".join(str(int(v)) for v in values) + "}"  # noqa: E731
        return f"tensor({when}_{int(t['storage'])}, {_C._dtype_number(dtype)} /* {t['dtype']} */, {ints(t['sizes'])}, {ints(t['strides'])}, {int(t['offset'])})"

    def value(self, value: Any, kind: str) -> str:
        """An expression of type fc::Value; kind is the schema's type."""
        if value is None:
            return "fc::Value()"
        if isinstance(value, str):
            return f"fc::Value({json.dumps(value)})"
        if isinstance(value, (bool, int, float)):
            return f"fc::Value({_number(float(value) if kind.startswith('float') and not isinstance(value, bool) else value)})"
        if isinstance(value, list):
            return self.list(value, kind)
        ((tag, content), *_) = value.items()
        if tag == "tensor":
            return f"fc::Value({self.tensor('before', content)})"
        if tag == "float":
            return f"fc::Value({_number(float(content))})"
        if tag == "complex":
            return f"fc::Value(fc::Scalar(fc::ComplexDouble{{{_number(float(content[0]))}, {_number(float(content[1]))}}}))"
        if tag == "dtype":
            return f"fc::Value(static_cast<fc::DType>({_C._dtype_number(getattr(_C, content))} /* {content} */))"
        if tag == "device":
            return f"fc::Value(fc::parse_device({json.dumps(self.place(content))}))"
        if tag == "layout":
            return "fc::Value(fc::Arg(fc::Layout::Strided))"
        if tag == "memory_format":
            names = {"contiguous_format": "Contiguous", "preserve_format": "Preserve", "channels_last": "ChannelsLast", "channels_last_3d": "ChannelsLast3d"}
            return f"fc::Value(fc::Arg(fc::MemoryFormat::{names[content]}))"
        if tag == "generator":
            state, made = base64.b64decode(value["state"]), self.name("generator_")
            self.lines.append(f"  const auto {made} = generator(\n{_text(state)},\n      {len(state)});")
            return f"fc::Value(fc::Arg({made}.get()))"
        raise ValueError(f"the call has an argument of a type that a log cannot hold ({content})")

    def list(self, items: list[Any], kind: str) -> str:
        if kind.startswith("Tensor"):
            tensors = ", ".join("fc::Tensor()" if item is None else self.tensor("before", item["tensor"]) for item in items)
            return f"fc::Value(std::vector<fc::Tensor>{{{tensors}}})"
        element = next((c for name, c in (("float", "double"), ("bool", "bool"), ("Scalar", "fc::Scalar")) if kind.startswith(name)), "int64_t")
        numbers = [float(item["float"]) if isinstance(item, dict) else item for item in items]
        if element == "double":
            numbers = [float(n) for n in numbers]
        made = self.name("list_")
        self.lines.append(f"  const std::vector<{element if element != 'bool' else 'char'}> {made}{{{', '.join(map(_number, numbers))}}};")
        data = f"{made}.data()" if element != "bool" else f"reinterpret_cast<const bool*>({made}.data())"
        span = f"std::span<const {element}>({data}, {made}.size())"
        return f"fc::Value(fc::Arg({span}))"

    def compare(self, label: str, expected: Any, actual: str) -> None:
        if isinstance(expected, list):
            for i, item in enumerate(expected):
                self.compare(f"{label}[{i}]", item, f"{actual}[{i}]")
        elif isinstance(expected, dict) and "tensor" in expected:
            self.lines.append(f"  compare({json.dumps(label)}, {actual}, {self.tensor('after', expected['tensor'])});")
        elif actual.startswith("results"):
            value = actual.removesuffix(".tensor()")
            self.lines.append(f'  std::printf("%s: %s, recorded %s\\n", {json.dumps(label)}, fc::to_string({value}).c_str(), {json.dumps(json.dumps(expected))});')


def program(call: dict[str, Any], log: str | os.PathLike[str], device: str | None = None) -> str:
    """The source of a program that makes the call and compares what it gives."""
    size = sum(len(entry["data"] or b"") for when in ("before", "after") for entry in call.get(when, {}).get("storages", ()))
    if size > LIMIT:
        raise ValueError(f"--cpp: the call's tensors hold {size} bytes, a source at most {LIMIT}; record it with smaller tensors, or run it without --cpp")
    op = _C._find_operator(call["kernel"])
    if op is None:
        raise ValueError(f"the operator {call['kernel']} does not exist here; load the library that defines it")
    p = _Program(call, device)
    p.memory("before")
    parameters = list(op._schema.arguments)
    given = [*call["before"]["args"], *(call["before"]["kwargs"][q.name] for q in parameters[len(call["before"]["args"]) :])]
    values = [f"{p.value(value, q.type)},  // {q.name}" for value, q in zip(given, parameters)]
    if "random" in call:
        state = base64.b64decode(call["random"])
        p.lines.append(f"  fc::default_generator().set_state(generator(\n{_text(state)},\n      {len(state)})->state());")
    p.lines += ["  const std::vector<fc::Value> values{", *(f"      {v}" for v in values), "  };", "  std::vector<fc::Arg> args;", "  for (const fc::Value& v : values) args.push_back(v.arg());",
                f"  const fc::Operator& op = fc::get_operator({json.dumps(call['kernel'])}, values.size(), {len(op._schema.returns)});",
                f"  std::vector<fc::Value> results({len(op._schema.returns)});",
                "  op.call(args.data(), results.data());  // break here"]  # fmt: skip
    if "after" in call and not call["kernel"].startswith(kernel_log.UNSET):
        p.memory("after")
        result = call["after"]["result"]
        several = len(op._schema.returns) > 1
        for i, item in enumerate(result if several else [result]):
            label = f"result[{i}]" if several else "result"
            of_list = isinstance(item, list)
            p.compare(label, item, f"results[{i}].arg().tensors()" if of_list else f"results[{i}].tensor()")
        after = [*call["after"]["args"], *call["after"]["kwargs"].values()]
        for i, (q, item) in enumerate(zip(parameters, after)):
            if q.is_write:
                p.compare(q.name, item, f"values[{i}].arg().tensors()" if isinstance(item, list) else f"values[{i}].tensor()")
    head = _HEAD.format(number=call["call"], log=os.path.basename(os.fspath(log)), kernel=call["kernel"], device=call["device"])
    return head + "\n".join(p.lines) + "\n  return wrong != 0;\n}\n"
