// SPDX-License-Identifier: Apache-2.0
// Operators whose meaning changed: what a call in an older archive meant, in the language of today.
#include <map>

#include "jit/files/importer.h"
#include "jit/frontend/emit.h"
#include "jit/frontend/match.h"
#include "jit/frontend/parser.h"

namespace fc::jit {
namespace {

struct Upgrader {
  std::string_view name;
  int64_t until;  // the last version with the old meaning
  std::string_view text;
};

// Division of integers rounded towards zero; full() of whole numbers gave floats; steps could be left out.
constexpr Upgrader upgraders[] = {
    {"div", 3, R"(
def div(self : Tensor, other : Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    return torch.true_divide(self, other)
  return torch.div(self, other, rounding_mode="trunc")
def div(self : Tensor, other : float) -> Tensor:
  return torch.true_divide(self, other)
def div(self : Tensor, other : int) -> Tensor:
  if self.is_floating_point():
    return torch.true_divide(self, other)
  return torch.div(self, other, rounding_mode="trunc")
def div(self : Tensor, other : number) -> Tensor:
  if self.is_floating_point() or isinstance(other, float):
    return torch.true_divide(self, other)
  return torch.div(self, other, rounding_mode="trunc")
)"},
    {"div_", 3, R"(
def div_(self : Tensor, other : Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    return self.true_divide_(other)
  return self.div_(other, rounding_mode="trunc")
def div_(self : Tensor, other : float) -> Tensor:
  return self.true_divide_(other)
def div_(self : Tensor, other : int) -> Tensor:
  if self.is_floating_point():
    return self.true_divide_(other)
  return self.div_(other, rounding_mode="trunc")
)"},
    {"full", 4, R"(
def full(size : List[int], fill_value : number, dtype : Optional[int]=None,
    layout : Optional[int]=None, device : Optional[Device]=None, pin_memory : Optional[bool]=None) -> Tensor:
  if dtype is None:
    return torch.full(size, float(fill_value), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
  return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)"},
    {"linspace", 7, R"(
def linspace(start : number, end : number, steps : Optional[int]=None, dtype : Optional[int]=None,
    layout : Optional[int]=None, device : Optional[Device]=None, pin_memory : Optional[bool]=None) -> Tensor:
  if steps is None:
    return torch.linspace(start, end, 100, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
  return torch.linspace(start, end, steps, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)"},
    {"logspace", 8, R"(
def logspace(start : number, end : number, steps : Optional[int]=None, base : float=10.0,
    dtype : Optional[int]=None,
    layout : Optional[int]=None, device : Optional[Device]=None, pin_memory : Optional[bool]=None) -> Tensor:
  if steps is None:
    return torch.logspace(start, end, 100, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
  return torch.logspace(start, end, steps, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)"},
};

std::vector<Ref<Function>> compile(const Upgrader& u) {
  std::vector<Ref<Function>> out;
  const Ref<Resolver> names = unit_resolver({}, "");
  for (const TreeRef& def : parse_program(make_ref<Source>(std::string(u.text), "<upgrader>")))
    out.push_back(make_function(def->name(), {def, names, literal_defaults(*def, *names), {}}));
  return out;
}

// Of tensors the old meaning; of numbers today's.
class OldOperator final : public Sugared {
 public:
  explicit OldOperator(const Upgrader& u) : upgrader_(u) {}
  std::string kind() const override { return "builtin"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override {
    const bool is_full = upgrader_.name == "full" || upgrader_.name.ends_with("space");
    const bool has_mode = args.size() > 2 || (!is_full && !named.empty());  // was never an old call
    if (!is_full && (args.empty() || has_mode || !is_subtype(args[0].in(g)->type(), tensor_type())))
      return BuiltinFunction(Symbol::of("aten::" + std::string(upgrader_.name)))
          .call(at, g, std::move(args), std::move(named));
    return FunctionValue(compile(upgrader_)).call(at, g, std::move(args), std::move(named));
  }

 private:
  const Upgrader& upgrader_;
};

}  // namespace

SugaredRef old_operator(const std::string& name, int64_t version) {
  for (const Upgrader& u : upgraders)
    if (u.name == name && version <= u.until) return make_ref<OldOperator>(u);
  return {};
}

}  // namespace fc::jit
