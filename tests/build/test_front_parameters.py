# SPDX-License-Identifier: Apache-2.0
"""What C++ programs give for sizes and dimensions arrives: every declaration of the front that takes integers, called with
every spelling of them, by g++ and clang at -O0, -O1 and -O2 under AddressSanitizer. `make test` compiles one of the six;
`make test-front` all of them."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.not_sanitized

# A spelling: the C++ expression, what it needs before the call, and the integers that must arrive.
SPELLINGS = {
    "braces": ("{5, 7}", "", [5, 7]),
    "one in braces": ("{5}", "", [5]),
    "a number": ("5", "", [5]),
    "a number of another type": ("short_number()", "", [5]),
    "a vector": ("named", "std::vector<int64_t> named = {5, 7};", [5, 7]),
    "a vector that ends with the call": ("std::vector<int64_t>{5, 7}", "", [5, 7]),
    "an array": ("std::array<int64_t, 2>{5, 7}", "", [5, 7]),
    "an array of C": ("plain", "const int64_t plain[] = {5, 7};", [5, 7]),
    "a span": ("std::span<const int64_t>(named)", "std::vector<int64_t> named = {5, 7};", [5, 7]),
    "a reference": ("facula::IntArrayRef(5)", "", [5]),
}
OPTIONAL_SPELLINGS = {
    "nothing": ("std::nullopt", "", None),
    "a vector or nothing": ("std::optional<std::vector<int64_t>>({5, 7})", "", [5, 7]),
    "a number or nothing": ("std::optional<int64_t>(5)", "", [5]),
    "nothing, by its type": ("std::optional<std::vector<int64_t>>()", "", None),
}
OTHERS = {  # what the other parameters are given
    "const Tensor&": "t", "TensorList": "ts", "OptionalTensorList": "ts", "int64_t": "1", "double": "0.5", "bool": "false", "Flag": "false",
    "const Scalar&": "facula::Scalar(2)", "std::string_view": 'std::string_view("constant")', "Dtype": "facula::kFloat32", "Device": "facula::kCPU",
    "const TensorOptions&": "facula::TensorOptions()", "std::vector<double>": "std::vector<double>{0.5}", "std::vector<bool>": "std::vector<bool>{true}",
    "std::vector<Scalar>": "std::vector<facula::Scalar>{facula::Scalar(2)}",
}  # fmt: skip
HEAD = r"""
#include <facula/facula.h>
#include <array>
#include <cstdio>
#include <span>
#include "dispatch/call.h"
#include "dispatch/layers.h"

using facula::Tensor;
struct Seen {};
static short short_number() { return 5; }
static Tensor t;
static std::vector<Tensor> ts;

// Says what reached the dispatcher, and ends the call there.
static void see(void*, const fc::Operator& op, fc::LayerSet, const fc::Arg* args, fc::Value*) {
  std::printf(" %s", op.name().c_str());
  for (size_t i = 0; i < op.num_args(); ++i)
    std::printf("|%s=%s", op.schema().parameters[i].name.c_str(), args[i].is_none() ? "None" : fc::to_string(args[i]).c_str());
  throw Seen();
}
template <class F>
__attribute__((noinline)) static void call(int number, F f) {
  std::printf("%d", number);
  try { f(); std::printf(" nothing was called"); }
  catch (const Seen&) {}
  catch (const std::exception& e) { std::printf(" %s", e.what()); }
  std::printf("\n");
}
"""
REAL = r"""
static void real() {
  Tensor x = facula::arange(24).reshape({2, 3, 4}).to(facula::kFloat32);
  auto say = [](const Tensor& t) { for (int64_t i = 0; i < t.numel(); ++i) std::printf(" %g", t.reshape({-1})[i].item<double>()); std::printf(";"); };
  say(facula::sum(x, {1}, true)); say(x.sum(1)); say(x.sum({0, 1})); say(facula::mean(x, {2})); say(x.amax({0, 2}));
  say(x.std({1}, true)); say(facula::linalg_vector_norm(x, 2, {0, 1})); say(x.flip({2})); say(x.permute({2, 0, 1}));
  say(facula::roll(x, 1, 2)); say(x.any(2).to(facula::kInt64)); say(x.nansum(1));
  std::printf("\n");
}
"""
PYTHON = """torch.sum(x, 1, True); x.sum(1); x.sum((0, 1)); torch.mean(x, 2); x.amax((0, 2)); x.std(1, True);
 torch.linalg.vector_norm(x, 2, (0, 1)); x.flip(2); x.permute(2, 0, 1); torch.roll(x, 1, 2); x.any(2).long(); x.nansum(1)"""


def declarations(text):
    """(name, [(type, name, default or None)]) of each function that takes integers."""
    for name, listed in re.findall(r"^[\w:<>, ]+? (\w+)\((.*)\)(?: const)?;$", text, re.M):
        parameters = []
        for piece in listed and re.split(r", (?=(?:const |std::|[A-Z]|int64_t|double|bool)[\w:<>&, ]* \w+(?:,| =|$))", listed):
            found = re.fullmatch(r"(.+?) (\w+)(?: = (.*))?", piece)
            assert found, piece
            parameters.append(found.groups())
        if any("IntArrayRef" in kind for kind, _, _ in parameters):
            yield name, parameters


def cases(include):
    """(C++ of a call, spelling, name and position of the parameters that must have it) for every declaration and spelling."""
    for header, method in (("functions.h", False), ("methods.h", True)):
        text = (include / header).read_text()
        for name, parameters in declarations(text):
            typed = re.search(rf" {name}\((const Tensor& (self|out), )*std::optional", text)  # C++ cannot know which of these is absent
            wanted = [i for i, (kind, _, _) in enumerate(parameters) if "IntArrayRef" in kind]
            last = next((i for i in reversed(range(len(parameters))) if parameters[i][2] is None), -1)
            optional = all(parameters[i][0] == "OptionalIntArrayRef" for i in wanted)
            for spelling, (expression, before, values) in [*SPELLINGS.items(), *(OPTIONAL_SPELLINGS.items() if optional else ())]:
                if spelling == "nothing" and typed:
                    continue
                given = [expression if i in wanted else "std::nullopt" if "std::optional" in kind else OTHERS[kind]
                         for i, (kind, _, _) in enumerate(parameters[: max(last, wanted[-1]) + 1])]  # fmt: skip
                yield f"{before} {'t.' if method else 'facula::'}{name}({', '.join(given)});", spelling, name, [parameters[i][1] for i in wanted], values


def fits(said, names, values):
    """Whether these parameters of the operator that was called, or the one that a number chose instead, have the values."""
    given = dict(part.split("=", 1) for part in said.split("|")[1:])
    if values is None:
        return all(given[name] == "None" for name in names)
    if not set(names) <= set(given):  # another overload: x.squeeze(5), x.split(5)
        return len(values) == 1 and any(value in (str(values[0]), f"[{values[0]}]") for value in given.values())
    allowed = [str(values)] + [str(values * n) for n in range(2, 8) if len(values) == 1] + [str(values[0])] * (len(values) == 1)
    return all(given[name] in allowed for name in names)


EVERY = [(compiler, level) for level in ("-O1", "-O0", "-O2") for compiler in ("g++", "clang++")]


@pytest.mark.parametrize("compiler, level", EVERY if os.environ.get("FACULA_ALL_COMPILERS") else EVERY[:1])
def test_every_spelling_of_integers_arrives(torch, facula_only, tmp_path, compiler, level):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    if os.environ.get("FACULA_SANITIZED"):
        pytest.skip("the program has a sanitizer of its own")
    from facula.__main__ import _compile_flags

    options = _compile_flags().split()
    headers = next(p for p in (pathlib.Path(o[2:]) / "facula" for o in options if o.startswith("-I")) if (p / "functions.h").exists())
    todo = list(cases(headers))
    assert len(todo) > 1000
    if not os.environ.get("FACULA_ALL_COMPILERS"):  # every declaration, each with some of the spellings
        todo = todo[::7]
    body = "".join(f"  call({i}, [] {{ {code} }});\n" for i, (code, *_) in enumerate(todo))
    source, program = tmp_path / "front.cpp", tmp_path / "front"
    source.write_text(f"""{HEAD}
static void every() {{
{body}}}
{REAL}
int main() {{
  real();
  t = facula::ones({{2}});
  ts = {{t}};
  const fc::LayerSet bit = fc::add_user_layer({{see, nullptr, "see"}});
  fc::IncludeLayers on(bit);
  every();
}}
""")
    built = subprocess.run([compiler, "-std=c++20", level, "-w", "-fsanitize=address", "-fno-omit-frame-pointer", str(source), *options, "-o", str(program)],
                           capture_output=True, text=True)  # fmt: skip
    assert built.returncode == 0, built.stderr[:8000]
    ran = subprocess.run([program], capture_output=True, text=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0:alloc_dealloc_mismatch=0:detect_stack_use_after_return=1"})
    assert ran.returncode == 0, ran.stderr[:8000]
    real, *said = ran.stdout.splitlines()
    x = torch.arange(24.0).reshape(2, 3, 4)
    expected = [eval(call, {"torch": torch, "x": x}) for call in PYTHON.replace("\n", "").split(";")]  # noqa: S307
    assert real == "".join("".join(f" {v:g}" for v in t.flatten().tolist()) + ";" for t in expected)
    wrong = [f"{code}  -> {line}" for line, (code, _, _, names, values) in zip(said, todo) if not fits(line.partition(" ")[2], names, values)]
    assert not wrong, f"{len(wrong)} of {len(todo)}:\n" + "\n".join(wrong[:40])
    assert len(said) == len(todo)
