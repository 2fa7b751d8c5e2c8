// SPDX-License-Identifier: Apache-2.0
// A backend that uses what the contract offers beyond families: exact memory, a single device, operators by name of
// every kind, results that it sizes itself, reports, functions by name. It computes on plain host memory.
#include <atomic>
#include <cstdlib>
#include <facula/backend.hpp>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace fb = facula::backend;

namespace {

int64_t count_of(const fc_tensor& t) {
  int64_t n = 1;
  for (int d = 0; d < t.ndim; ++d) n *= t.sizes[d];
  return n;
}
fc_operand operand(const fc_tensor& t) { return {t.data, t.strides, t.dtype, 0, {}}; }

template <class F>
void apply(const fc_tensor& out, const fc_tensor& in, F f) {
  fb::Out<float> to(operand(out));
  fb::In<float> from(operand(in));
  fb::for_each(out.ndim, out.sizes, [&](const int64_t* i) { to.set(i, out.ndim, f(from.at(i, out.ndim))); });
}

class Versatile final : public fb::Backend {
 public:
  using fb::Backend::Backend;

  uint32_t flags() override { return FC_BACKEND_SINGLE_DEVICE | FC_BACKEND_EXACT_MEMORY; }
  const char* python_module() override { return "versatile_names"; }
  std::string describe(fc_context&) override { return "does everything by name"; }
  void* alloc(fc_context&, size_t bytes) override {
    void* data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    std::lock_guard lock(mutex_);
    live_[data] = bytes;
    ++allocations_;
    return data;
  }
  void free(fc_context&, void* data, size_t bytes) override {
    {
      std::lock_guard lock(mutex_);
      if (live_.count(data) == 0 || live_[data] != bytes) fb::fail("freed what was not allocated so");
      live_.erase(data);
    }
    std::free(data);
  }
  void copy_bytes(fc_context& c, void* dst, const void* src, size_t bytes, fc_copy_kind, bool non_blocking) override {
    if (non_blocking) ++non_blocking_;
    c.device_ns = 5;
    std::memcpy(dst, src, bytes);
  }
  void fill_bytes(fc_context&, void* data, uint8_t value, size_t bytes) override { std::memset(data, value, bytes); }
  void synchronise(fc_context&) override {}
  void* host_alloc(fc_context&, size_t bytes) override { return std::malloc(bytes); }
  void host_free(fc_context&, void* data, size_t) override { std::free(data); }

  bool supports(const fc_query& q) override {
    ++questions_;
    return offers_add_ && q.family == FC_FAMILY_MAP && q.opcode == FC_MAP_add && q.compute == FC_FLOAT32;
  }
  void map(fc_context& c, const fc_map& k) override {
    remember(c);
    fb::In<float> a(k.in[0]), b(k.in[1]);
    fb::Out<float> out(k.out);
    const float alpha = fb::number<float>(k.params[0]);
    fb::for_each(k.ndim, k.shape,
                 [&](const int64_t* i) { out.set(i, k.ndim, a.at(i, k.ndim) + alpha * b.at(i, k.ndim)); });
    report_launch(c, "tensorlib_add", 1000, 12, ++clock_ * 2000, "1x1 tiles");
    report_launch(c, "tensorlib_barrier", 500);
  }

  const char* const* operators() override {
    static const char* const all[] = {"aten::relu_",
                                      "aten::exp.out",
                                      "aten::nonzero",
                                      "aten::_foreach_neg",
                                      "aten::diagonal",
                                      "aten::equal",
                                      "aten::native_layer_norm_backward",
                                      "aten::unbind.int",
                                      "aten::sigmoid",
                                      nullptr};
    static const char* const less[] = {"aten::relu_", nullptr};
    return offers_all_ ? all : less;
  }
  bool run_operator(fc_context& c, const char* name, const fc_value* args, int n_args, fc_value* results,
                    int n_results) override {
    remember(c);
    const std::string op = name;
    const fc_tensor* self = args[0].u.tensor;
    if (op == "aten::relu_") apply(*self, *self, [](float x) { return x > 0 ? x : 0.0f; });
    else if (op == "aten::sigmoid") apply(*results->u.tensor, *self, [](float) { return 0.75f; });  // its own idea
    else if (op == "aten::exp.out") apply(*args[n_args - 1].u.tensor, *self, [](float x) { return std::exp(x) + 1; });
    else if (op == "aten::equal") {
      results->tag = FC_TAG_BOOL;
      results->u.i = count_of(*self) == count_of(*args[1].u.tensor) ? 1 : 0;
    } else if (op == "aten::nonzero") {
      if (results->tag != FC_TAG_UNMADE) fb::fail("nonzero has a shape already");
      fb::In<float> in(operand(*self));
      std::vector<int64_t> found;
      fb::for_each(self->ndim, self->sizes, [&](const int64_t* i) {
        if (in.at(i, self->ndim) != 0) found.insert(found.end(), i, i + self->ndim);
      });
      const int64_t sizes[] = {static_cast<int64_t>(found.size()) / std::max(self->ndim, 1), self->ndim};
      const fc_tensor made = make_result(c, 0, FC_INT64, 2, sizes);
      if (!found.empty()) std::memcpy(made.data, found.data(), found.size() * sizeof(int64_t));
    } else if (op == "aten::_foreach_neg") {
      if (results->tag != FC_TAG_TENSORS || results->n != args[0].n) fb::fail("lists of different lengths");
      for (int i = 0; i < results->n; ++i) apply(results->u.tensor[i], self[i], [](float x) { return -x; });
    } else if (op == "aten::diagonal") {
      const int64_t n = self->sizes[0], stride = self->strides[0] + self->strides[1];
      if (int status = host.make_view(&c, 0, 0, 0, 0, 0, 1, &n, &stride)) fb::fail(c.message, status);
    } else if (op == "aten::unbind.int") {
      for (int32_t i = 0; i < self->sizes[0]; ++i)
        if (host.make_view(&c, 0, i, 0, 0, i * self->strides[0], self->ndim - 1, self->sizes + 1, self->strides + 1))
          fb::fail(c.message);
    } else if (op == "aten::native_layer_norm_backward") {
      for (int r = 0; r < n_results; ++r)
        if (results[r].tag == FC_TAG_TENSOR)
          apply(*results[r].u.tensor, *results[r].u.tensor, [](float) { return 3.0f; });
    } else return false;
    return true;
  }

  const char* const* functions() override {
    static const char* const all[] = {"add(a, b): the sum of two integers",
                                      "last(): operator, call id and flags of the last call that computed",
                                      "iota(n): 0 … n - 1",
                                      "kinds(…): the tags of the arguments",
                                      "withdraw(): offers no more than relu_",
                                      "offer(): offers everything",
                                      "later(text): reports an error that the next synchronisation raises",
                                      "elsewhere(): uses its context on another thread",
                                      "fail(text)",
                                      nullptr};
    return all;
  }
  void call(fc_context& c, const char* function, const fc_value* args, int n, fc_value& result) override {
    const std::string f = function;
    if (f == "add") {
      if (n != 2 || args[0].tag != FC_TAG_INT || args[1].tag != FC_TAG_INT) fb::fail("add takes two integers");
      result.tag = FC_TAG_INT;
      result.u.i = args[0].u.i + args[1].u.i;
    } else if (f == "last") {
      std::lock_guard lock(mutex_);
      give_text(result, last_);
    } else if (f == "iota") {
      const fc_tensor made = make_result(c, 0, FC_INT64, 1, &args[0].u.i);
      for (int64_t i = 0; i < args[0].u.i; ++i) static_cast<int64_t*>(made.data)[i] = i;
      result.tag = FC_TAG_TENSOR;
    } else if (f == "kinds") {
      std::string tags;
      for (int i = 0; i < n; ++i) tags += std::to_string(args[i].tag) + ":" + std::to_string(args[i].n) + " ";
      give_text(result, tags);
    } else if (f == "withdraw" || f == "offer") {
      offers_all_ = offers_add_ = f == "offer";
      host.claims_changed("versatile");
    } else if (f == "later") host.report_error("versatile", 0, nullptr, FC_BAD_INDEX, args[0].u.text);
    else if (f == "elsewhere") {
      int status = 0;
      void* memory = &c;
      std::thread([&] {
        memory = host.workspace(&c, 64);
        const int64_t n = 1;
        fc_tensor made;
        status = host.make_result(&c, 0, 0, FC_FLOAT32, 1, &n, &made);
        const fc_launch launch{sizeof launch, 0, "nowhere", nullptr, 1, 1, 1, 0};
        host.report_launch(&c, &launch);
      }).join();
      result.tag = FC_TAG_BOOL;
      result.u.i = status == FC_ERROR && !memory;
    } else fb::fail(n && args[0].tag == FC_TAG_STRING ? args[0].u.text : "failed");
  }

  const char* const* counter_names() override {
    static const char* const names[] = {"allocations", "live_bytes", "questions", "non_blocking", nullptr};
    return names;
  }
  void counters(fc_context&, uint64_t* values) override {
    std::lock_guard lock(mutex_);
    values[0] = allocations_;
    values[1] = 0;
    for (auto& [data, bytes] : live_) values[1] += bytes;
    values[2] = questions_;
    values[3] = non_blocking_;
  }

 private:
  void remember(const fc_context& c) {
    std::lock_guard lock(mutex_);
    last_ = std::string(c.op) + " " + (c.call_id ? "seen" : "unseen") + " " + std::to_string(c.flags);
  }

  std::mutex mutex_;
  std::map<void*, size_t> live_;
  uint64_t allocations_ = 0;
  std::atomic<uint64_t> questions_{0}, non_blocking_{0}, clock_{0};
  std::atomic<bool> offers_all_{true}, offers_add_{true};
  std::string last_;
};

}  // namespace

FACULA_BACKEND(Versatile, "versatile")
