// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/onednn.h"

#if FC_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "backends/cpu/library.h"
#include "core/error.h"
#include "core/threads.h"
#endif

namespace fc::cpu {

#if FC_HAVE_ONEDNN
namespace {

// Every function used, resolved once.
// clang-format off
#define FC_ONEDNN_FUNCTIONS(X) \
  X(sgemm) X(engine_create) X(stream_create) X(primitive_desc_destroy) X(primitive_create) X(primitive_destroy) \
  X(primitive_execute) X(primitive_desc_query_md) X(primitive_attr_create) X(primitive_attr_destroy) \
  X(primitive_attr_set_scratchpad_mode) X(memory_desc_create_with_strides) X(memory_desc_create_with_tag) \
  X(memory_desc_destroy) X(memory_desc_equal) X(memory_desc_get_size) X(memory_create) X(memory_destroy) \
  X(memory_set_data_handle) X(reorder_primitive_desc_create) X(convolution_forward_primitive_desc_create) \
  X(convolution_backward_data_primitive_desc_create) X(convolution_backward_weights_primitive_desc_create)
// clang-format on

struct OneDnn {
#define FC_MEMBER(name) decltype(dnnl_##name)* name = nullptr;
  FC_ONEDNN_FUNCTIONS(FC_MEMBER)
#undef FC_MEMBER
  dnnl_engine_t engine = nullptr;
  bool found = false;

  OneDnn() {
    void* lib = open_library(FC_ONEDNN_PATH, "libdnnl.so.3");
    if (!lib) return;
    found = true;
#define FC_FIND(name) found = found && find_symbol(lib, "dnnl_" #name, name);
    FC_ONEDNN_FUNCTIONS(FC_FIND)
#undef FC_FIND
    found = found && engine_create(&engine, dnnl_cpu, 0) == dnnl_success;
  }
};
const OneDnn& onednn() {
  static const OneDnn library;
  return library;
}

dnnl_stream_t this_stream() {
  thread_local dnnl_stream_t stream = [] {
    dnnl_stream_t s = nullptr;
    onednn().stream_create(&s, onednn().engine, dnnl_stream_default_flags);
    return s;
  }();
  return stream;
}

struct Description {  // owns a memory descriptor
  dnnl_memory_desc_t md = nullptr;
  Description() = default;
  Description(const Description&) = delete;
  ~Description() {
    if (md) onednn().memory_desc_destroy(md);
  }
};

// One operand: as the tensor lies in memory, and as the primitive wants it.
struct Operand {
  Description user;
  const_dnnl_memory_desc_t inside = nullptr;  // owned by the primitive's description
  dnnl_memory_t user_memory = nullptr, memory = nullptr;
  dnnl_primitive_t reorder = nullptr;  // null: the two agree
  Tensor buffer;                       // only while a call runs

  ~Operand() {
    if (user_memory) onednn().memory_destroy(user_memory);
    if (memory) onednn().memory_destroy(memory);
    if (reorder) onednn().primitive_destroy(reorder);
  }

  // `reads`: user memory goes into the primitive; otherwise out of it.
  bool prepare(bool reads) {
    const OneDnn& dnn = onednn();
    if (!inside || dnn.memory_create(&memory, inside, dnn.engine, DNNL_MEMORY_NONE) != dnnl_success) return false;
    if (dnn.memory_desc_equal(user.md, inside)) return true;
    if (dnn.memory_create(&user_memory, user.md, dnn.engine, DNNL_MEMORY_NONE) != dnnl_success) return false;
    dnnl_primitive_desc_t pd = nullptr;
    const_dnnl_memory_desc_t from = reads ? user.md : inside, to = reads ? inside : user.md;
    if (dnn.reorder_primitive_desc_create(&pd, from, dnn.engine, to, dnn.engine, nullptr) != dnnl_success) return false;
    bool made = dnn.primitive_create(&reorder, pd) == dnnl_success;
    dnn.primitive_desc_destroy(pd);
    return made;
  }
  void run_reorder(dnnl_memory_t from, dnnl_memory_t to) {
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    auto status = onednn().primitive_execute(reorder, this_stream(), 2, args);
    FC_CHECK(status == dnnl_success, "convolution: oneDNN's reorder failed with status ", static_cast<int>(status));
  }
  void bind(void* data, bool reads) {
    const OneDnn& dnn = onednn();
    if (!reorder) {
      dnn.memory_set_data_handle(memory, data);
      return;
    }
    buffer = empty_tensor(Dims{static_cast<int64_t>(dnn.memory_desc_get_size(inside))}, DType::UInt8, Device{});
    dnn.memory_set_data_handle(memory, buffer.data());
    dnn.memory_set_data_handle(user_memory, data);
    if (reads) run_reorder(user_memory, memory);
  }
  void finish(bool reads) {
    if (reorder && !reads) run_reorder(memory, user_memory);
    buffer.reset();
  }
};

constexpr double kThreadedConvolution = 1 << 20;  // multiplications: about 20 microseconds of one core

// A convolution of one shape, ready to run.
struct Primitive {
  enum { X, W, B, Y, Count };
  dnnl_primitive_desc_t pd = nullptr, forward_pd = nullptr;
  dnnl_primitive_t primitive = nullptr;
  Operand operands[Count];
  dnnl_memory_t scratch = nullptr;
  int64_t scratch_bytes = 0;
  bool usable = false;

  ~Primitive() {
    const OneDnn& dnn = onednn();
    if (scratch) dnn.memory_destroy(scratch);
    if (primitive) dnn.primitive_destroy(primitive);
    if (pd) dnn.primitive_desc_destroy(pd);
    if (forward_pd) dnn.primitive_desc_destroy(forward_pd);
  }
};

bool reads(OneDnnConvolution::Pass pass, int operand) {
  switch (pass) {
    case OneDnnConvolution::Forward: return operand != Primitive::Y;
    case OneDnnConvolution::Data: return operand != Primitive::X;
    default: return operand == Primitive::X || operand == Primitive::Y;
  }
}

// Sizes and strides of the weight with its groups as a dimension of their own.
void weight_geometry(const OneDnnConvolution& c, Dims& sizes, Dims& strides) {
  sizes = Dims(c.w.sizes());
  strides = Dims(c.w.strides());
  if (c.groups == 1) return;
  sizes[0] /= c.groups;
  sizes.insert(0, c.groups);
  strides.insert(0, strides[0] * sizes[1]);
}

// What moving an operand into oneDNN's own layout and back costs is seldom worth it where there is little to compute
// per element: pointwise kernels, and few products per output.
bool stays_plain(const OneDnnConvolution& c) {
  int64_t depth = c.w.size(1);
  bool pointwise = c.groups == 1;
  for (size_t i = 0; i < c.stride.size(); ++i) {
    depth *= c.w.sizes()[i + 2];
    pointwise &= c.w.sizes()[i + 2] == 1 && c.stride[i] == 1 && c.padding[i] == 0;
  }
  return pointwise || (c.groups == 1 && depth < 16);
}

bool build(Primitive& p, const OneDnnConvolution& c) {
  const OneDnn& dnn = onednn();
  const int n = static_cast<int>(c.stride.size());
  if (n > 3) return false;
  auto describe = [&](Description& d, IntSpan sizes, IntSpan strides) {
    return dnn.memory_desc_create_with_strides(&d.md, static_cast<int>(sizes.size()), sizes.data(), dnnl_f32,
                                               strides.data()) == dnnl_success;
  };
  Dims w_sizes, w_strides;
  weight_geometry(c, w_sizes, w_strides);
  if (!describe(p.operands[Primitive::X].user, c.x.sizes(), c.x.strides()) ||
      !describe(p.operands[Primitive::W].user, w_sizes, w_strides) ||
      !describe(p.operands[Primitive::Y].user, c.y.sizes(), c.y.strides()))
    return false;
  if (c.b.defined() && !describe(p.operands[Primitive::B].user, c.b.sizes(), c.b.strides())) return false;

  // Channels-last tensors are computed in place; others in the layout that oneDNN prefers.
  static constexpr dnnl_format_tag_t last[] = {dnnl_nwc, dnnl_nhwc, dnnl_ndhwc},
                                     plain[] = {dnnl_ncw, dnnl_nchw, dnnl_ncdhw};
  const bool channels_last = c.x.impl().is_channels_last() || c.y.impl().is_channels_last();
  const dnnl_format_tag_t tag = channels_last ? last[n - 1] : stays_plain(c) ? plain[n - 1] : dnnl_format_tag_any;
  Description x, w, y;
  auto wish = [&](Description& d, IntSpan sizes, dnnl_format_tag_t t) {
    return dnn.memory_desc_create_with_tag(&d.md, static_cast<int>(sizes.size()), sizes.data(), dnnl_f32, t) ==
           dnnl_success;
  };
  if (!wish(x, c.x.sizes(), tag) || !wish(w, w_sizes, dnnl_format_tag_any) || !wish(y, c.y.sizes(), tag)) return false;

  Dims dilates(c.dilation);
  for (int64_t& d : dilates) --d;
  for (int i = 0; i < n; ++i) {  // the library computes y's size from padding on both sides: it must agree
    const auto at = static_cast<size_t>(i);
    const int64_t reach = c.dilation[at] * (c.w.sizes()[at + 2] - 1) + 1;
    if ((c.x.sizes()[at + 2] + 2 * c.padding[at] - reach) / c.stride[at] + 1 != c.y.sizes()[at + 2]) return false;
  }
  dnnl_primitive_attr_t attr = nullptr;
  if (dnn.primitive_attr_create(&attr) != dnnl_success) return false;
  dnn.primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
  const_dnnl_memory_desc_t b = c.b.defined() ? p.operands[Primitive::B].user.md : nullptr;
  const auto algorithm = dnnl_convolution_direct;
  const int64_t *s = c.stride.data(), *d = dilates.data(), *pad = c.padding.data();
  dnnl_status_t status;
  if (c.pass == OneDnnConvolution::Forward) {
    status = dnn.convolution_forward_primitive_desc_create(&p.pd, dnn.engine, dnnl_forward_inference, algorithm, x.md,
                                                           w.md, b, y.md, s, d, pad, pad, attr);
  } else {
    status = dnn.convolution_forward_primitive_desc_create(&p.forward_pd, dnn.engine, dnnl_forward_training, algorithm,
                                                           x.md, w.md, nullptr, y.md, s, d, pad, pad, attr);
    if (status == dnnl_success && c.pass == OneDnnConvolution::Data)
      status = dnn.convolution_backward_data_primitive_desc_create(&p.pd, dnn.engine, algorithm, x.md, w.md, y.md, s, d,
                                                                   pad, pad, p.forward_pd, attr);
    else if (status == dnnl_success)
      status = dnn.convolution_backward_weights_primitive_desc_create(&p.pd, dnn.engine, algorithm, x.md, w.md, b, y.md,
                                                                      s, d, pad, pad, p.forward_pd, attr);
  }
  dnn.primitive_attr_destroy(attr);
  if (status != dnnl_success || dnn.primitive_create(&p.primitive, p.pd) != dnnl_success) return false;

  auto query = [&](dnnl_query_t what) { return dnn.primitive_desc_query_md(p.pd, what, 0); };
  const bool data = c.pass == OneDnnConvolution::Data, weights = c.pass == OneDnnConvolution::Weights;
  p.operands[Primitive::X].inside = query(data ? dnnl_query_diff_src_md : dnnl_query_src_md);
  p.operands[Primitive::W].inside = query(weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
  p.operands[Primitive::Y].inside =
      query(c.pass == OneDnnConvolution::Forward ? dnnl_query_dst_md : dnnl_query_diff_dst_md);
  p.operands[Primitive::B].inside = b;
  for (int i = 0; i < Primitive::Count; ++i)
    if ((i != Primitive::B || b) && !p.operands[i].prepare(reads(c.pass, i))) return false;
  const_dnnl_memory_desc_t scratch = query(dnnl_query_scratchpad_md);
  p.scratch_bytes = scratch ? static_cast<int64_t>(dnn.memory_desc_get_size(scratch)) : 0;
  return p.scratch_bytes == 0 || dnn.memory_create(&p.scratch, scratch, dnn.engine, DNNL_MEMORY_NONE) == dnnl_success;
}

// The primitives of this thread, most recently used first. Building one takes up to milliseconds (it generates code).
Primitive& find(const OneDnnConvolution& c, int threads) {
  using Entry = std::pair<std::string, std::unique_ptr<Primitive>>;
  struct Cache {
    std::list<Entry> entries;
    std::unordered_map<std::string_view, std::list<Entry>::iterator> index;
  };
  static constexpr size_t kCapacity = 256;
  thread_local Cache cache;

  std::string key;
  auto put = [&](IntSpan v) {
    const auto count = static_cast<char>(v.size());
    key.append(&count, 1).append(reinterpret_cast<const char*>(v.data()), v.size_bytes());
  };
  const int64_t head[] = {c.pass, c.groups, c.b.defined(), threads};
  put(head);
  for (const Tensor* t : {&c.x, &c.w, &c.y}) put(t->sizes()), put(t->strides());
  put(c.stride), put(c.padding), put(c.dilation);
  if (auto it = cache.index.find(key); it != cache.index.end()) {
    cache.entries.splice(cache.entries.begin(), cache.entries, it->second);
    return *it->second->second;
  }
  if (cache.entries.size() == kCapacity) {
    cache.index.erase(cache.entries.back().first);
    cache.entries.pop_back();
  }
  auto fresh = std::make_unique<Primitive>();
  fresh->usable = build(*fresh, c);
  cache.entries.emplace_front(std::move(key), std::move(fresh));
  cache.index.emplace(cache.entries.front().first, cache.entries.begin());
  return *cache.entries.front().second;
}

}  // namespace

bool onednn_available() { return onednn().found; }

void onednn_product(const LibraryProduct& p) {
  auto status =
      onednn().sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, static_cast<float>(p.alpha),
                     static_cast<const float*>(p.a), p.lda, static_cast<const float*>(p.b), p.ldb,
                     static_cast<float>(p.beta), static_cast<float*>(p.c), p.ldc);
  FC_CHECK(status == dnnl_success, "matmul: oneDNN's product failed with status ", static_cast<int>(status));
}

bool onednn_convolve(const OneDnnConvolution& c) {
  const OneDnn& dnn = onednn();
  if (!dnn.found) return false;
  // With several threads oneDNN uses as many as it likes for each of its loops, which is dear (core/threads.h): it gets
  // them only where there is enough to do for all of them.
  const double work = static_cast<double>(c.y.numel()) * static_cast<double>(c.w.numel() / c.w.size(0));
  LibraryThreads threads(work < kThreadedConvolution);
  Primitive& p = find(c, threads.count());
  if (!p.usable) return false;
  const Tensor* tensors[] = {&c.x, &c.w, &c.b, &c.y};
  const bool data = c.pass == OneDnnConvolution::Data, weights = c.pass == OneDnnConvolution::Weights,
             forward = !data && !weights;
  const int names[] = {data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
                       weights ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST};
  dnnl_exec_arg_t args[Primitive::Count + 1];
  int count = 0;
  for (int i = 0; i < Primitive::Count; ++i) {
    if (!tensors[i]->defined()) continue;
    p.operands[i].bind(tensors[i]->data(), reads(c.pass, i));
    args[count++] = {names[i], p.operands[i].memory};
  }
  Tensor scratch;
  if (p.scratch_bytes) {
    scratch = empty_tensor(Dims{p.scratch_bytes}, DType::UInt8, Device{});
    dnn.memory_set_data_handle(p.scratch, scratch.data());
    args[count++] = {DNNL_ARG_SCRATCHPAD, p.scratch};
  }
  auto status = dnn.primitive_execute(p.primitive, this_stream(), count, args);
  FC_CHECK(status == dnnl_success, "convolution: oneDNN failed with status ", static_cast<int>(status));
  for (int i = 0; i < Primitive::Count; ++i)
    if (tensors[i]->defined()) p.operands[i].finish(reads(c.pass, i));
  return true;
}
#else
bool onednn_available() { return false; }
void onednn_product(const LibraryProduct&) {}
bool onednn_convolve(const OneDnnConvolution&) { return false; }
#endif

}  // namespace fc::cpu
