// SPDX-License-Identifier: Apache-2.0
// What the backend contract costs a call: the same device once behind the contract and once with C++ functions in its
// place, which do the same. Runs alternate; each figure is the median of their differences, beside that of two equal
// sides.
//   facula_backend_calls           the table
//   facula_backend_calls SIDE N    N warm calls of family, family-typed, operator or operator-typed (for callgrind)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "backends/plugin/plugin.h"
#include "core/device_record.h"
#include "define/calls.h"
#include "dispatch/call.h"
#include "facula/backend.hpp"
#include "runtime.h"

using namespace fc;

namespace {

namespace fb = facula::backend;

// Computes nothing: what is left is the way there.
class Idle final : public fb::Backend {
 public:
  using fb::Backend::Backend;
  std::string describe(fc_context&) override { return "idle"; }
  void* alloc(fc_context&, size_t bytes) override { return std::aligned_alloc(64, bytes); }
  void free(fc_context&, void* data, size_t) override { std::free(data); }
  void copy_bytes(fc_context&, void* dst, const void* src, size_t bytes, fc_copy_kind, bool) override {
    std::memcpy(dst, src, bytes);
  }
  void fill_bytes(fc_context&, void* data, uint8_t value, size_t bytes) override { std::memset(data, value, bytes); }
  void synchronise(fc_context&) override {}
  bool supports(const fc_query&) override { return true; }
  void copy(fc_context&, const fc_copy&) override {}
  void map(fc_context&, const fc_map&) override {}
  const char* const* operators() override {
    static const char* const names[] = {"aten::relu", nullptr};
    return names;
  }
  bool run_operator(fc_context&, const char*, const fc_value*, int, fc_value*, int) override { return true; }
};

Tensor typed_relu(const Tensor& self) { return empty_tensor(self.sizes(), self.dtype(), self.device()); }
void typed_map(void*, Device, const fc_map&) {}

Device make_device(const char* name) {
  fc_backend b{};
  b.size = sizeof b;
  fb::fill<Idle>(&host_services(), &b, name);
  return {static_cast<int8_t>(register_backend(b, "benchmark")), 0};
}

double nanoseconds(const std::function<void()>& call) {
  constexpr int n = 2000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < n; ++i) call();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / n;
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

void compare(const char* what, const std::function<void()>& contract, const std::function<void()>& typed) {
  std::vector<double> cost, extra, noise;
  for (int i = 0; i < 301; ++i) {
    const double one = nanoseconds(contract), two = nanoseconds(typed), again = nanoseconds(typed);
    cost.push_back(one);
    extra.push_back(one - std::min(two, again));
    noise.push_back(std::abs(two - again));
  }
  std::printf("%-10s %8.0f ns a call, %6.0f ns more than the typed function (equal sides differ by %.0f ns)\n", what,
              median(cost), median(extra), median(noise));
}

}  // namespace

int main(int argc, char** argv) {
  initialise();
  const Device device = make_device("idle"), direct = make_device("idle_typed");
  Families& families = device_record(direct).families;
  families.map = typed_map;
  families.supports = nullptr;
  find_operator("aten::relu")->set_kernel(direct.type, kernel<&typed_relu>());
  const Tensor x = empty_tensor(Dims{4, 4}, DType::Float32, device),
               y = empty_tensor(Dims{4, 4}, DType::Float32, direct);
  const std::function<void()> family = [&] { add(x, x); }, family_typed = [&] { add(y, y); },
                              whole = [&] { call<"aten::relu", Tensor>(x); },
                              whole_typed = [&] { call<"aten::relu", Tensor>(y); };
  for (int i = 0; i < 100; ++i) family(), family_typed(), whole(), whole_typed();
  if (argc > 2) {
    const std::pair<const char*, const std::function<void()>*> sides[] = {
        {"family", &family}, {"family-typed", &family_typed}, {"operator", &whole}, {"operator-typed", &whole_typed}};
    for (auto& [name, call] : sides)
      if (!std::strcmp(name, argv[1]))
        for (long i = std::atol(argv[2]); i > 0; --i) (*call)();
    return 0;
  }
  compare("family", family, family_typed);
  compare("operator", whole, whole_typed);
}
