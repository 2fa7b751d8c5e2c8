// SPDX-License-Identifier: Apache-2.0
// Functions of a backend's own, called by name.
#include <algorithm>

#include "backends/plugin/backend.h"
#include "dispatch/observe.h"
#include "dispatch/family_table.h"

namespace fc {
namespace plugin {
namespace {

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// The only result: a tensor on the device that the call is made for.
class OneResult final : public ResultMaker {
 public:
  explicit OneResult(Device device) : device_(device) {}
  int make_result(int32_t result, int32_t item, int32_t dtype, IntSpan sizes, fc_tensor* made) override {
    FC_CHECK(result == 0 && item == 0 && !tensor.defined(), "make_result: a function has one result, number 0");
    FC_CHECK(dtype >= 0 && dtype < kDTypeSlots && exists(static_cast<DType>(dtype)), "make_result: no element type ",
             dtype);
    tensor = empty_tensor(sizes, static_cast<DType>(dtype), device_);
    strides_ = ByteStrides(tensor);
    if (made)
      *made = {tensor.data(), tensor.sizes().data(), strides_.data(), dtype, static_cast<int32_t>(tensor.dim())};
    return FC_OK;
  }
  int make_view(int32_t, int32_t, int32_t, int32_t, int64_t, IntSpan, const int64_t*) override {
    raise<Error>("make_view: functions return no views");
  }
  Tensor tensor;

 private:
  Device device_;
  ByteStrides strides_;
};

Value value_of(const fc_value& v, const Tensor& tensor) {
  const auto n = static_cast<size_t>(std::max<int32_t>(v.n, 0));
  switch (v.tag) {
    case FC_TAG_NONE: return tensor.defined() ? Value(tensor) : Value();
    case FC_TAG_TENSOR:
      FC_CHECK(tensor.defined(), "its result is a tensor that make_result did not make");
      return Value(tensor);
    case FC_TAG_BOOL: return Value(v.u.i != 0);
    case FC_TAG_INT: return Value(v.u.i);
    case FC_TAG_DOUBLE: return Value(v.u.d);
    case FC_TAG_NUMBER:
      if (v.u.number) return Value(to_scalar(*v.u.number));
      break;
    case FC_TAG_STRING:
      if (v.u.text) return Value(std::string_view(v.u.text, n));
      break;
    case FC_TAG_INTS:
      if (v.u.ints || n == 0) return Value(IntSpan(v.u.ints, n));
      break;
    case FC_TAG_DOUBLES:
      if (v.u.doubles || n == 0) {
        std::vector<Value> list(v.u.doubles, v.u.doubles + n);
        return Value(std::move(list));
      }
      break;
    default: break;
  }
  raise<Error>("its result has the tag ", v.tag, ", which is none of a function's, or no content");
}

}  // namespace

std::vector<std::string> function_lines(Backend& b) {
  std::vector<std::string> out;
  for (const char* const* line = b.c.functions ? b.c.functions(b.c.self) : nullptr; line && *line; ++line)
    out.emplace_back(*line);
  return out;
}

}  // namespace plugin

using namespace plugin;

namespace {
struct Watching {
  std::mutex mutex;
  WatcherOf watcher_of;
};
Watching& watching() {
  static Watching& w = *new Watching;
  return w;
}
void watch(Backend& b, const fc_watcher* watcher) {
  if (!b.c.watch) return;
  CallScope s(b, 0);
  s.check(b.c.watch(b.c.self, &s.context, watcher), "watch");
}
}  // namespace

void watch_backends(WatcherOf watcher_of) {
  std::lock_guard lock(watching().mutex);
  watching().watcher_of = std::move(watcher_of);
  const WatcherOf& of = watching().watcher_of;
  for (const BackendInfo& info : loaded_backends())
    if (Backend* b = find_backend(info.device_type)) watch(*b, of ? of(info.device_type) : nullptr);
}

void plugin::tell_watchers(Backend& b) {
  std::lock_guard lock(watching().mutex);
  if (watching().watcher_of) watch(b, watching().watcher_of(b.type));
}

Value call_backend(Device device, const std::string& function, std::span<const Value> args) {
  Backend& b = backend_of(device);
  std::string known;
  bool found = false;
  for (const std::string& line : function_lines(b)) {
    const std::string name =
        line.substr(0, static_cast<size_t>(std::find_if_not(line.begin(), line.end(), is_name) - line.begin()));
    found |= name == function;
    known += (known.empty() ? "" : ", ") + name;
  }
  FC_CHECK_AS(AttributeError, found, "backend '", b.name, "' has no function '", function, "'; ",
              known.empty() ? "it has none" : "it has " + known);
  std::vector<Arg> borrowed;
  for (const Value& v : args) borrowed.push_back(v.arg());
  Arguments c(borrowed.data(), borrowed.size(), {});
  Device here{static_cast<int8_t>(b.type), static_cast<int8_t>(index_of(device))};
  OneResult maker(here);
  fc_value result{FC_TAG_NONE, 0, {}};
  EventScope told(EventKind::Library, [&](Event& e) {  // what it does with tensors, only the backend knows
    e.name = function, e.text = b.name, e.where = here;
    for (const Value& v : args) {
      if (!v.arg().is_tensor()) continue;
      const int before = e.num_operands;
      e.add(v.arg().tensor(), true);
      if (e.num_operands > before) e.own_operands[before].read = e.own_operands[before].some = true;
    }
  });
  CallScope s(b, index_of(device), &maker);
  s.check(b.c.call(b.c.self, &s.context, function.c_str(), c.data(), static_cast<int32_t>(args.size()), &result),
          function);
  try {
    return value_of(result, maker.tensor);
  } catch (const Error& e) { raise<Error>("backend '", b.name, "', ", function, ": ", e.what()); }
}

}  // namespace fc
