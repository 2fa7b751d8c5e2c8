// SPDX-License-Identifier: Apache-2.0
// A backend that misbehaves. FACULA_HOSTILE names how, at each load; the device is called hostile_<how>. Everything
// that is not said to be wrong works, on plain host memory.
#include <cstdlib>
#include <facula/backend.hpp>
#include <stdexcept>

namespace fb = facula::backend;

namespace {

std::string how() {
  const char* text = std::getenv("FACULA_HOSTILE");
  return text ? text : "";
}

class Hostile final : public fb::Backend {
 public:
  explicit Hostile(const fc_host& host) : Backend(host), how_(how()) {
    if (how_ == "constructor_throws") throw std::runtime_error("no such hardware");
  }
  int device_count() override { return how_ == "no_devices" ? 0 : 1; }
  std::string describe(fc_context&) override {
    if (how_ == "describe_throws") throw 42;
    return "hostile: " + how_;
  }
  void* alloc(fc_context&, size_t bytes) override {
    if (how_ == "alloc_null") return nullptr;
    if (how_ == "alloc_error") fb::fail("the power is off");
    if (how_ == "second_alloc_fails" && ++allocations_ > 1) fb::fail("only one block", FC_OUT_OF_MEMORY);
    return std::aligned_alloc(64, bytes);
  }
  void free(fc_context&, void* data, size_t) override {
    if (how_ == "free_error") fb::fail("keeps everything");
    std::free(data);
  }
  void copy_bytes(fc_context& c, void* dst, const void* src, size_t bytes, fc_copy_kind kind, bool) override {
    if (how_ == "copy_error" && kind == FC_DEVICE_TO_HOST) fb::fail("bus error");
    if (how_ == "long_message") {  // fills the buffer without an end
      std::memset(c.message, 'x', c.message_size);
      throw fb::Failure(FC_ERROR, std::string(100000, 'y'));
    }
    std::memcpy(dst, src, bytes);
  }
  void fill_bytes(fc_context&, void* data, uint8_t value, size_t bytes) override { std::memset(data, value, bytes); }
  void synchronise(fc_context&) override {
    if (how_ == "synchronise_error") fb::fail("a kernel crashed earlier");
  }
  bool supports(const fc_query& q) override {
    if (how_ == "supports_throws") throw std::runtime_error("does not know");
    if (how_ == "lies") return true;
    return q.family == FC_FAMILY_MAP && q.opcode == FC_MAP_add && q.compute == FC_FLOAT32;
  }
  void map(fc_context& c, const fc_map& k) override {
    if (how_ == "lies") fb::fail("", FC_UNSUPPORTED);
    if (how_ == "map_error") fb::fail("kernel 7 crashed");
    if (how_ == "map_bad_index") fb::fail("", FC_BAD_INDEX);
    if (how_ == "map_strange_status") throw fb::Failure(99, "");
    if (how_ == "too_much_workspace") workspace(c, size_t{1} << 60);
    if (c.stream) ++maps_on_streams_;
    fb::In<float> a(k.in[0]), b(k.in[1]);
    fb::Out<float> out(k.out);
    const float alpha = fb::number<float>(k.params[0]), wrong = how_ == "wrong_results" ? 1 : 0;
    fb::for_each(k.ndim, k.shape,
                 [&](const int64_t* i) { out.set(i, k.ndim, a.at(i, k.ndim) + alpha * b.at(i, k.ndim) + wrong); });
  }
  const char* const* operators() override {
    static const char* const none[] = {nullptr};
    static const char* const some[] = {"aten::no_such_operator", "aten::relu", "aten::exp", nullptr};
    static const char* const sized[] = {"aten::nonzero", "aten::equal", "aten::diagonal", "aten::unbind.int", nullptr};
    return how_ == "operators" ? some : how_.compare(0, 7, "result_") == 0 ? sized : none;
  }
  // Results that no backend should make: nonzero's, equal's number, views.
  bool make_nonsense(fc_context& c, const char* name, fc_value* values) {
    const int64_t one[] = {1, 1}, negative[] = {-1, 1}, huge[] = {int64_t{1} << 40, int64_t{1} << 40},
                  far[] = {1000, 1000};
    const int64_t strides[] = {4, 4}, backward[] = {-4, 4}, between[] = {2, 4};
    fc_tensor made{};
    auto give = [&](int status) {
      if (status != FC_OK) throw fb::Failure(status, c.message);
      return true;
    };
    auto tensor = [&](int result, int item, int dtype, int ndim, const int64_t* sizes) {
      return give(host.make_result(&c, result, item, dtype, ndim, sizes, &made));
    };
    auto view = [&](int arg, int item, int64_t offset, const int64_t* sizes, const int64_t* steps) {
      return give(host.make_view(&c, 0, 0, arg, item, offset, 2, sizes, steps));
    };
    if (std::strcmp(name, "aten::equal") == 0) {
      values->tag = how_ == "result_wrong_kind" ? FC_TAG_DOUBLE : how_ == "result_garbage_tag" ? 1234567 : FC_TAG_NONE;
      return true;
    }
    if (how_ == "result_negative") return tensor(0, 0, FC_INT64, 2, negative);
    if (how_ == "result_huge") return tensor(0, 0, FC_INT64, 2, huge);
    if (how_ == "result_wrong_number") return tensor(7, 0, FC_INT64, 2, one);
    if (how_ == "result_wrong_item") return tensor(0, 1, FC_INT64, 2, one);
    if (how_ == "result_bad_type") return tensor(0, 0, 77, 2, one);
    if (how_ == "result_no_sizes") return tensor(0, 0, FC_INT64, 2, nullptr);
    if (how_ == "result_many_dimensions") return tensor(0, 0, FC_INT64, 1 << 20, one);
    if (how_ == "result_fewer_than_none") return tensor(0, 0, FC_INT64, -3, one);
    if (how_ == "result_twice") return tensor(0, 0, FC_INT64, 2, one) && tensor(0, 0, FC_INT64, 2, one);
    if (how_ == "result_strange_status") throw fb::Failure(-77, "");
    if (how_ == "result_view_beyond") return view(0, 0, 0, far, strides);
    if (how_ == "result_view_before") return view(0, 0, -4, one, strides);
    if (how_ == "result_view_backward") return view(0, 0, 0, one, backward);
    if (how_ == "result_view_between") return view(0, 0, 2, one, between);
    if (how_ == "result_view_of_nothing") return view(5, 0, 0, one, strides);
    if (how_ == "result_view_of_another") return view(0, 3, 0, one, strides);
    if (how_ == "result_list_out_of_order") { return give(host.make_view(&c, 0, 2, 0, 0, 0, 1, one, strides)); }
    if (how_ == "result_context_kept") {  // uses the context of an earlier call, which is over
      static fc_context* kept = nullptr;
      const fc_launch launch{sizeof launch, 0, "late", nullptr, 1, 1, 1, 0};
      if (kept) {
        host.report_launch(kept, &launch);
        if (kept != &c && (host.workspace(kept, 64) || host.make_result(kept, 0, 0, FC_INT64, 2, one, &made) == FC_OK))
          fb::fail("the host followed a context that was over");
      }
      static fc_context copy;
      copy = c;
      kept = &copy;
      return tensor(0, 0, FC_INT64, 2, one);
    }
    if (how_ == "result_epoch_inside") {
      for (int i = 0; i < 3; ++i) host.claims_changed("hostile_result_epoch_inside");
      host.claims_changed("no such backend");
      host.claims_changed(nullptr);
      host.report_error(nullptr, 0, nullptr, FC_ERROR, nullptr);
      host.report_error("hostile_result_epoch_inside", -5, nullptr, FC_ERROR, nullptr);
      host.report_launch(&c, nullptr);
      return tensor(0, 0, FC_INT64, 2, one);
    }
    return true;  // result_missing: says that all is well
  }
  bool run_operator(fc_context& c, const char* name, const fc_value* args, int n_args, fc_value* values, int) override {
    if (how_.compare(0, 7, "result_") == 0) {
      how_ = how();  // one device for all of these: a process has room for 64
      return make_nonsense(c, name, values);
    }
    if (std::strcmp(name, "aten::exp") == 0) return false;  // declines: the usual way is taken
    const fc_tensor* results = values->u.tensor;
    if (n_args != 1 || args[0].tag != FC_TAG_TENSOR || results->dtype != FC_FLOAT32) fb::fail("unexpected arguments");
    fc_operand in{args[0].u.tensor->data, args[0].u.tensor->strides, FC_FLOAT32, 0, {}};
    fc_operand out{results->data, results->strides, FC_FLOAT32, 0, {}};
    fb::for_each(results->ndim, results->sizes, [&](const int64_t* i) {
      fb::Out<float>(out).set(i, results->ndim, fb::In<float>(in).at(i, results->ndim) > 0 ? 7.0f : 0.0f);
    });
    return true;
  }

  // Streams that only keep books; an event is done once it was recorded.
  void* stream_create(fc_context&) override { return ++open_, new char; }
  void stream_destroy(fc_context&, void* stream) override { --open_, delete static_cast<char*>(stream); }
  void* event_create(fc_context&) override { return ++open_, new bool(false); }
  void event_destroy(fc_context&, void* event) override { --open_, delete static_cast<bool*>(event); }
  void event_record(fc_context& c, void* event) override { *static_cast<bool*>(event) = c.stream != nullptr; }
  void event_wait(fc_context& c, void* event) override {
    if (!c.stream || !*static_cast<bool*>(event)) fb::fail("waits for nothing");
  }
  bool event_query(fc_context&, void* event) override { return *static_cast<bool*>(event); }
  void event_synchronise(fc_context&, void* event) override {
    if (!*static_cast<bool*>(event)) fb::fail("was never recorded");
  }
  double event_elapsed(fc_context&, void*, void*) override { return 2.5; }
  const char* const* counter_names() override {
    static const char* const names[] = {"maps_on_streams", "open", nullptr};
    return names;
  }
  void counters(fc_context&, uint64_t* values) override { values[0] = maps_on_streams_, values[1] = open_; }
  void* host_alloc(fc_context&, size_t bytes) override { return ++open_, std::malloc(bytes); }
  void host_free(fc_context&, void* data, size_t) override { --open_, std::free(data); }
  void memory_info(fc_context&, uint64_t* free, uint64_t* total) override { *free = 1, *total = 2; }

 private:
  std::string how_;
  int allocations_ = 0;
  uint64_t maps_on_streams_ = 0, open_ = 0;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int facula_backend_v2(const fc_host* host, fc_backend* b) {
  static std::string names[64];  // stay where they are, whatever is loaded later
  static int used = 0;
  std::string& name = names[used++ % 64] = "hostile_" + (how().compare(0, 7, "result_") == 0 ? "results" : how());
  if (how() == "entry_fails") return FC_ERROR;
  int status = fb::fill<Hostile>(host, b, name.c_str());
  if (how() == "wrong_version") b->abi_version = FC_ABI_VERSION + 1;
  if (how() == "short_struct") b->size = FC_BACKEND_REQUIRED_SIZE - 8;
  if (how() == "long_struct") b->size += 8;
  if (how() == "old_struct") b->size = FC_BACKEND_REQUIRED_SIZE;  // an old plugin: only what is required
  if (how() == "no_name") b->name = nullptr;
  if (how() == "bad_name") b->name = "Hostile!";
  if (how() == "taken_name") b->name = "cpu";
  if (how() == "no_copy") b->copy = nullptr;
  return status;
}
