// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/onednn.h"

#if FC_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "backends/cpu/library.h"
#include "core/error.h"
#include "core/instruction_set.h"
#include "core/signals.h"
#include "core/threads.h"
#include "dispatch/observe.h"
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
  X(convolution_backward_data_primitive_desc_create) X(convolution_backward_weights_primitive_desc_create) \
  X(matmul_primitive_desc_create) X(post_ops_create) X(post_ops_append_sum) X(post_ops_destroy) \
  X(primitive_attr_set_post_ops)
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

dnnl_data_type_t type_of(DType t) {
  return t == DType::BFloat16 ? dnnl_bf16 : t == DType::Float16 ? dnnl_f16 : dnnl_f32;
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
  const dnnl_data_type_t type = type_of(c.x.dtype());
  auto describe = [&](Description& d, IntSpan sizes, IntSpan strides) {
    return dnn.memory_desc_create_with_strides(&d.md, static_cast<int>(sizes.size()), sizes.data(), type,
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
    return dnn.memory_desc_create_with_tag(&d.md, static_cast<int>(sizes.size()), sizes.data(), type, t) ==
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

// What a primitive is for, as bytes.
struct Key {
  std::string bytes;
  Key& put(IntSpan v) {
    const auto count = static_cast<char>(v.size());
    bytes.append(&count, 1).append(reinterpret_cast<const char*>(v.data()), v.size_bytes());
    return *this;
  }
};

// Primitives of one thread, most recently used first. Building one takes up to milliseconds (it generates code).
template <class P>
class Cache {
 public:
  template <class Build>
  P& find(Key&& key, const Build& build) {
    if (auto it = index_.find(key.bytes); it != index_.end()) {
      entries_.splice(entries_.begin(), entries_, it->second);
      return *it->second->second;
    }
    if (entries_.size() == kCapacity) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    auto fresh = std::make_unique<P>();
    fresh->usable = build(*fresh);
    entries_.emplace_front(std::move(key.bytes), std::move(fresh));
    index_.emplace(entries_.front().first, entries_.begin());
    return *entries_.front().second;
  }

 private:
  static constexpr size_t kCapacity = 256;
  using Entry = std::pair<std::string, std::unique_ptr<P>>;
  std::list<Entry> entries_;
  std::unordered_map<std::string_view, typename std::list<Entry>::iterator> index_;
};

Primitive& find(const OneDnnConvolution& c, int threads) {
  thread_local Cache<Primitive> cache;
  Key key;
  key.put(Dims{c.pass, c.groups, c.b.defined(), threads, static_cast<int64_t>(c.x.dtype())});
  for (const Tensor* t : {&c.x, &c.w, &c.y}) key.put(t->sizes()).put(t->strides());
  key.put(c.stride).put(c.padding).put(c.dilation);
  return cache.find(std::move(key), [&](Primitive& p) { return build(p, c); });
}

// A product of matrices of one shape, ready to run.
struct ProductPrimitive {
  dnnl_primitive_t primitive = nullptr;
  dnnl_memory_t operands[3] = {};  // a, b, c
  bool usable = false;

  ~ProductPrimitive() {
    for (dnnl_memory_t m : operands)
      if (m) onednn().memory_destroy(m);
    if (primitive) onednn().primitive_destroy(primitive);
  }
};

// Sizes and strides of the three operands; a batch of one operand serves all of a result's.
struct ProductGeometry {
  Dims sizes[3], strides[3];
};

bool build(ProductPrimitive& p, const ProductGeometry& g, DType type, double beta) {
  const OneDnn& dnn = onednn();
  Description d[3];
  for (int i = 0; i < 3; ++i)
    if (dnn.memory_desc_create_with_strides(&d[i].md, 3, g.sizes[i].data(), type_of(type), g.strides[i].data()) !=
            dnnl_success ||
        dnn.memory_create(&p.operands[i], d[i].md, dnn.engine, DNNL_MEMORY_NONE) != dnnl_success)
      return false;
  dnnl_primitive_attr_t attr = nullptr;
  if (dnn.primitive_attr_create(&attr) != dnnl_success) return false;
  if (beta != 0) {
    dnnl_post_ops_t sum = nullptr;
    dnn.post_ops_create(&sum);
    dnn.post_ops_append_sum(sum, static_cast<float>(beta), 0, dnnl_data_type_undef);
    dnn.primitive_attr_set_post_ops(attr, sum);
    dnn.post_ops_destroy(sum);
  }
  dnnl_primitive_desc_t pd = nullptr;
  bool made =
      dnn.matmul_primitive_desc_create(&pd, dnn.engine, d[0].md, d[1].md, nullptr, d[2].md, attr) == dnnl_success;
  made = made && dnn.primitive_create(&p.primitive, pd) == dnnl_success;
  if (pd) dnn.primitive_desc_destroy(pd);
  dnn.primitive_attr_destroy(attr);
  return made;
}

constexpr double kPacked = 1 << 22;  // multiplications: from here on dnnl_sgemm packs hundreds of kilobytes

constexpr size_t kRoom = 8 << 20;  // bytes: what kColumnsAtOnce of backends/cpu/matmul.cpp need
constexpr int kMoves = 4;          // before pages are given back
// dnnl_sgemm asks the C library for room to pack blocks in and gives it back, in every call. Between calls the room is
// kept here: otherwise small blocks of the program settle in it, the next call finds it too small, and a heap of 15 MB
// grows to more than 100. What an aligned allocation cuts off may settle there all the same; then the room moves, and
// the pages that it leaves behind are given back from time to time.
struct Room {
  void* memory = nullptr;
  uintptr_t last = 0;
  int moves = 0;
  void leave() {
    last = reinterpret_cast<uintptr_t>(memory);
    std::free(std::exchange(memory, nullptr));
  }
  void enter() {
    memory = std::malloc(kRoom);
    if (last == 0 || last == reinterpret_cast<uintptr_t>(memory)) return;
#if defined(__GLIBC__)
    if (++moves % kMoves == 0) malloc_trim(kRoom);
#endif
  }
  ~Room() { std::free(memory); }
};

class PackingRoom {
 public:
  explicit PackingRoom(bool needed) : needed_(needed) {
    if (needed) room.leave();
  }
  PackingRoom(const PackingRoom&) = delete;
  ~PackingRoom() {
    if (needed_) room.enter();
  }

 private:
  inline static thread_local Room room;
  const bool needed_;
};

}  // namespace

bool onednn_available() { return onednn().found; }

bool onednn_computes(DType t) {
  if (!onednn().found) return false;
#if defined(__x86_64__)
  if (is_reduced(t)) {  // cpu_level knows whether the system keeps the registers
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool bfloat = t == DType::BFloat16;
    if (cpu_level() != CpuLevel::AVX512 || !__get_cpuid_count(7, bfloat ? 1 : 0, &a, &b, &c, &d)) return false;
    return bfloat ? a >> 5 & 1 : d >> 23 & 1;  // AVX512_BF16, AVX512_FP16
  }
#endif
  return t == DType::Float32;
}

bool onednn_half_product(const fc_matmul& c) {
  const auto type = static_cast<DType>(c.dtype);
  if (!onednn_computes(type) || c.alpha != 1) return false;
  const auto item = static_cast<int64_t>(item_size(type));
  ProductGeometry g;
  auto describe = [&](int i, int64_t rows, int64_t columns, int64_t batch, int64_t row, int64_t column) {
    // Of the two inner dimensions one lies side by side, and none is repeated.
    if (row % item || column % item || batch % item || row <= 0 || column <= 0) return false;
    if (column != item && row != item && rows != 1 && columns != 1) return false;
    g.sizes[i] = Dims{batch == 0 ? 1 : c.batch, rows, columns};
    g.strides[i] = Dims{batch == 0 ? rows * columns : batch / item, row / item, column / item};
    return true;
  };
  if (!describe(0, c.m, c.k, c.a_batch, c.a_row, c.a_col) || !describe(1, c.k, c.n, c.b_batch, c.b_row, c.b_col) ||
      !describe(2, c.m, c.n, c.c_batch, c.c_row, c.c_col) || (c.c_batch == 0 && c.batch != 1))
    return false;
  LibraryThreads threads(in_parallel_region());
  thread_local Cache<ProductPrimitive> cache;
  Key key;
  key.put(Dims{static_cast<int64_t>(type), threads.count(), __builtin_bit_cast(int64_t, c.beta)});
  for (int i = 0; i < 3; ++i) key.put(g.sizes[i]).put(g.strides[i]);
  ProductPrimitive& p =
      cache.find(std::move(key), [&](ProductPrimitive& fresh) { return build(fresh, g, type, c.beta); });
  if (!p.usable) return false;
  const OneDnn& dnn = onednn();
  const void* data[] = {c.a, c.b, c.c};
  const int names[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
  dnnl_exec_arg_t args[3];
  for (int i = 0; i < 3; ++i) {
    dnn.memory_set_data_handle(p.operands[i], const_cast<void*>(data[i]));
    args[i] = {names[i], p.operands[i]};
  }
  EventScope told(EventKind::Library, [&](Event& e) {
    e.name = "dnnl_matmul";
    e.m = c.m, e.n = c.n, e.k = c.k, e.batch = c.batch;
    e.add_matrix(c.a, type, {c.batch, c.m, c.k}, {c.a_batch, c.a_row, c.a_col}, true, false);
    e.add_matrix(c.b, type, {c.batch, c.k, c.n}, {c.b_batch, c.b_row, c.b_col}, true, false);
    e.add_matrix(c.c, type, {c.batch, c.m, c.n}, {c.c_batch, c.c_row, c.c_col}, c.beta != 0, true);
  });
  HoldSignals hold;
  auto status = dnn.primitive_execute(p.primitive, this_stream(), 3, args);
  FC_CHECK(status == dnnl_success, "matmul: oneDNN's product failed with status ", static_cast<int>(status));
  return true;
}

void onednn_product(const LibraryProduct& p) {
  PackingRoom room(static_cast<double>(p.m) * p.n * p.k >= kPacked);
  HoldSignals hold;
  auto status =
      onednn().sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, static_cast<float>(p.alpha),
                     static_cast<const float*>(p.a), p.lda, static_cast<const float*>(p.b), p.ldb,
                     static_cast<float>(p.beta), static_cast<float*>(p.c), p.ldc);
  FC_CHECK(status == dnnl_success, "matmul: oneDNN's product failed with status ", static_cast<int>(status));
}

bool onednn_convolve(const OneDnnConvolution& c) {
  const OneDnn& dnn = onednn();
  if (!dnn.found) return false;
  // With several threads oneDNN uses as many as it likes for each of its loops, which is slow (core/threads.h): it gets
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
  std::string shapes;
  EventScope told(EventKind::Library, [&](Event& e) {
    constexpr const char* passes[] = {"forward", "backward data", "backward weights"};
    shapes = str(passes[c.pass], " ", c.x.sizes(), " by ", c.w.sizes(), " groups ", c.groups);
    e.name = "dnnl_convolution";
    e.text = shapes;
    for (const bool written : {false, true})
      for (int i = 0; i < Primitive::Count; ++i)
        if (reads(c.pass, i) != written) e.add(*tensors[i], written);
  });
  HoldSignals hold;  // some convolutions are dnnl_sgemm's
  auto status = dnn.primitive_execute(p.primitive, this_stream(), count, args);
  FC_CHECK(status == dnnl_success, "convolution: oneDNN failed with status ", static_cast<int>(status));
  for (int i = 0; i < Primitive::Count; ++i)
    if (tensors[i]->defined()) p.operands[i].finish(reads(c.pass, i));
  return true;
}
#else
bool onednn_available() { return false; }
bool onednn_computes(DType) { return false; }
bool onednn_half_product(const fc_matmul&) { return false; }
void onednn_product(const LibraryProduct&) {}
bool onednn_convolve(const OneDnnConvolution&) { return false; }
#endif

}  // namespace fc::cpu
