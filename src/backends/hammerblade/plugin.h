// SPDX-License-Identifier: Apache-2.0
// The backend "hammerblade": an emulated manycore behind the backend contract, and nothing else of the framework. Which
// kernels there are comes from the kernel libraries' own tables (plugin_library.h). Here are memory and compute
// families;
// plugin_operators.cpp has whole operators and launches by name, plugin_functions.cpp what programs call by name.
#pragma once
#include <atomic>

#include <facula/backend.hpp>

#include "plugin_library.h"
#include "plugin_pack.h"
#include "plugin_walk.h"

namespace hammerblade {

using fc::hb::Device;

class HammerBlade final : public fb::Backend {
 public:
  explicit HammerBlade(const fc_host& host);

  // ---- memory: exact, as the device's own; nothing is cached
  uint32_t flags() override { return FC_BACKEND_SINGLE_DEVICE | FC_BACKEND_EXACT_MEMORY | FC_BACKEND_INT32_INDICES; }
  std::string describe(fc_context&) override;
  void* alloc(fc_context&, size_t bytes) override;
  void free(fc_context&, void* data, size_t) override;
  void copy_bytes(fc_context&, void* dst, const void* src, size_t bytes, fc_copy_kind, bool non_blocking) override;
  void fill_bytes(fc_context&, void* data, uint8_t value, size_t bytes) override;
  void synchronise(fc_context&) override {}  // launches are done when they return
  const char* const* counter_names() override;
  void counters(fc_context&, uint64_t* values) override;
  void memory_info(fc_context&, uint64_t* free, uint64_t* total) override;

  // ---- families
  bool supports(const fc_query&) override;
  void copy(fc_context&, const fc_copy&) override;
  void map(fc_context&, const fc_map&) override;
  void reduce(fc_context&, const fc_reduce&) override;
  void matmul(fc_context&, const fc_matmul&) override;
  void gather(fc_context&, const fc_gather&) override;
  void scatter(fc_context&, const fc_scatter&) override;
  void scan(fc_context&, const fc_scan&) override;
  void sort(fc_context&, const fc_sort&) override;
  void random(fc_context&, const fc_random&) override;

  // ---- operators, functions
  const char* const* operators() override;
  bool run_operator(fc_context&, const char* name, const fc_value* args, int n_args, fc_value* results,
                    int n_results) override;
  const char* const* functions() override;
  void call(fc_context&, const char* function, const fc_value* args, int n_args, fc_value& result) override;
  const char* python_module() override { return "facula.hammerblade"; }
  void watch(fc_context&, const fc_watcher*) override;

 private:
  const Kernel* copy_kernel(int to, int from) const;
  const Kernel* scatter_kernel(int opcode, int dtype) const;
  void launch(fc_context&, const Kernel&, const Packet&, uint64_t bytes = 0);
  void check_fault();
  // Contiguous memory of a type in an operand's place; a copy between two operands; both: a conversion.
  void make_dense(fc_context&, Walk&, int operand, int dtype);
  void copy_sides(fc_context&, const Walk& over, const Walk::Side& to, const Walk::Side& from);
  void cast(fc_context&, Walk&, int operand, int dtype);
  View scratch(fc_context&, int64_t bytes);  // as 64-bit words
  void indexed(fc_context&, const Kernel&, const Walk&, int64_t size, int64_t step, const fc_number* number = nullptr,
               const View* memory = nullptr);

  struct Binding;
  bool bind(fc_context&, const Kernel&, Binding&);
  bool bind_port(const Kernel&, Binding&);
  void declined(const char* op, const Kernel&, const std::string& why);  // warns, once
  void run(fc_context&, const Kernel&, Binding&);
  void launch_by_name(fc_context&, const fc_value* args, int n_args);

  struct State {
    State();
    Device& device;
    std::unique_ptr<Library> library;
    fc::hb::Eva fault;  // two words of device memory: whether a kernel met a bad index, and which
    std::mutex told_lock;
    std::set<std::string> told;  // why kernels declined calls
    std::mutex indexing;         // held from a launch that may write them until they are read
  };
  State& state() const;
  Device& device() const { return state().device; }
  Library& library() const { return *state().library; }
  fc::hb::Eva fault() const { return state().fault; }

  std::unique_ptr<State> state_;
  std::string broken_;
  std::atomic<long> watching_{0};
};

}  // namespace hammerblade
