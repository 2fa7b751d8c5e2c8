// SPDX-License-Identifier: Apache-2.0
#include "plugin.h"

#include <algorithm>
#include <chrono>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/error.h"

namespace hammerblade {
namespace {

fc::hb::Eva eva(const void* data) { return static_cast<fc::hb::Eva>(reinterpret_cast<uintptr_t>(data)); }

int word_of(int dtype) {  // the integer type that moves elements of a type
  switch (item_size(dtype)) {
    case 1: return FC_UINT8;
    case 2: return FC_INT16;
    case 4: return FC_INT32;
    case 8: return FC_INT64;
    default: return -1;
  }
}

int drawn_as(int dtype) {  // the type in which random numbers of another are made
  switch (dtype) {
    case FC_FLOAT16:
    case FC_BFLOAT16: return FC_FLOAT32;
    case FC_INT8:
    case FC_INT16: return FC_INT32;
    default: return dtype;
  }
}

}  // namespace

HammerBlade::State::State() : device(Device::get()) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    fb::fail("the device's kernels were compiled for processors with AVX2 and FMA, which this one lacks");
#endif
  library = std::make_unique<Library>();
  fault = device.device_malloc(8);
  device.memset_device(fault, 0, 8);
}

// A machine that cannot be opened is told by the first use: loading a backend has no words for it.
HammerBlade::HammerBlade(const fc_host& host) : fb::Backend(host) {
  try {
    state_ = std::make_unique<State>();
  } catch (const std::exception& e) { broken_ = e.what(); }
}

HammerBlade::State& HammerBlade::state() const {
  if (!state_) fb::fail(broken_);
  return *state_;
}

const char* const* HammerBlade::operators() {
  static const char* const none[] = {nullptr};
  return state_ ? library().operators() : none;
}

// ---- memory --------------------------------------------------------------------------------------------------------

std::string HammerBlade::describe(fc_context&) {
  const fc::hb::Dimension t = device().tiles();
  const fc::hb::Mode mode = device().mode();
  const std::string how = mode == fc::hb::Mode::Sim ? "simulated" : std::string("emulated, mode ") + name_of(mode);
  return "HammerBlade " + device().machine().name + ", " + std::to_string(t.x) + " x " + std::to_string(t.y) +
         " tiles, " + how;
}

void* HammerBlade::alloc(fc_context&, size_t bytes) {
  try {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(device().device_malloc(bytes)));
  } catch (const fc::hb::Error& e) {
    if (e.status() == HB_MC_NOMEM) fb::fail(e.what(), FC_OUT_OF_MEMORY);
    throw;
  }
}

void HammerBlade::free(fc_context&, void* data, size_t) { device().device_free(eva(data)); }

void HammerBlade::copy_bytes(fc_context& c, void* dst, const void* src, size_t bytes, fc_copy_kind kind, bool) {
  if (kind == FC_HOST_TO_DEVICE) return device().memcpy_host_to_device(eva(dst), src, bytes);
  if (kind == FC_DEVICE_TO_HOST) return device().memcpy_device_to_host(dst, eva(src), bytes);
  // On the device a kernel moves it: words where it can.
  const int dtype = bytes % 4 == 0 && eva(dst) % 4 == 0 && eva(src) % 4 == 0 ? FC_INT32 : FC_UINT8;
  const int64_t item = item_size(dtype), n = static_cast<int64_t>(bytes) / item;
  fc_copy k{sizeof k, 1, &n, {}, {}};
  k.dst = {dst, &item, dtype, 0, {}};
  k.src = {const_cast<void*>(src), &item, dtype, 0, {}};
  copy(c, k);
}

void HammerBlade::fill_bytes(fc_context&, void* data, uint8_t value, size_t bytes) {
  device().memset_device(eva(data), value, bytes);
}

const char* const* HammerBlade::counter_names() {
  static const char* const names[] = {"launches",    "tiles", "packet_bytes",    "copies",     "copied_bytes",
                                      "allocations", "frees", "allocated_bytes", "peak_bytes", nullptr};
  return names;
}

void HammerBlade::counters(fc_context&, uint64_t* values) {
  const fc::hb::Counters c = device().counters();
  for (uint64_t value : {c.launches, c.tiles, c.packet_bytes, c.copies, c.copied_bytes, c.allocations, c.frees,
                         c.allocated_bytes, c.peak_bytes})
    *values++ = value;
}

void HammerBlade::memory_info(fc_context&, uint64_t* free, uint64_t* total) {
  *total = static_cast<uint64_t>(device().machine().dram_bytes);
  *free = *total - std::min(*total, device().counters().allocated_bytes);
}

// ---- families ------------------------------------------------------------------------------------------------------

const Kernel* HammerBlade::copy_kernel(int to, int from) const {
  if (to == from) to = from = word_of(to);
  return library().find(FC_FAMILY_COPY, to, from);
}

const Kernel* HammerBlade::scatter_kernel(int opcode, int dtype) const {
  return library().find(FC_FAMILY_SCATTER, opcode, opcode == FC_SCATTER_SET ? word_of(dtype) : dtype);
}

void HammerBlade::launch(fc_context& c, const Kernel& kernel, const Packet& packet, uint64_t bytes) {
  const auto began = std::chrono::steady_clock::now();
  const fc::hb::Device::Time time = device().offload_kernel(kernel.name, packet, kernel.program);
  const auto waited = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - began);
  // What the machine's clock says; the emulator has none.
  report_launch(c, kernel.name.c_str(), time.cycles ? time.nanoseconds : 0, bytes, 0, nullptr,
                static_cast<uint64_t>(waited.count()));
}

void HammerBlade::check_fault() {
  uint32_t words[2];
  device().memcpy_device_to_host(words, fault(), sizeof words);
  if (!words[0]) return;
  device().memset_device(fault(), 0, sizeof words);
  fb::fail("index " + std::to_string(static_cast<int32_t>(words[1])) + " is out of range", FC_BAD_INDEX);
}

bool HammerBlade::supports(const fc_query& q) {
  const bool filled = q.family == FC_FAMILY_COPY && q.layout[1] == FC_LAYOUT_NUMBER;
  const bool moved = q.family == FC_FAMILY_GATHER || (q.family == FC_FAMILY_COPY && !filled);  // words of any type
  const bool set = filled || (q.family == FC_FAMILY_SCATTER && q.opcode == FC_SCATTER_SET);
  const bool converts = q.family == FC_FAMILY_MAP || q.family == FC_FAMILY_REDUCE || q.family == FC_FAMILY_SORT ||
                        q.family == FC_FAMILY_RANDOM;
  bool halves = false;  // computed with as float
  for (int i = 0; i < q.n_operands; ++i) {
    if (q.layout[i] == FC_LAYOUT_ABSENT || moved || fb::visitable(q.dtype[i])) continue;
    if (!fb::storable(q.dtype[i]) || !(set || converts)) return false;
    halves |= converts;
  }
  switch (q.family) {
    case FC_FAMILY_COPY: return copy_kernel(q.dtype[0], filled ? q.dtype[0] : q.dtype[1]);
    case FC_FAMILY_MAP:
    case FC_FAMILY_REDUCE: {
      const Kernel* kernel = library().find(q.family, q.opcode, q.compute);
      if (!kernel || !halves) return kernel;
      return q.compute == FC_FLOAT32 && (fb::visitable(q.dtype[0]) || kernel->row->parameters[0].dtype == FC_FLOAT32);
    }
    case FC_FAMILY_MATMUL: return library().find(q.family, 0, q.compute);
    case FC_FAMILY_GATHER: return library().find(q.family, 0, word_of(q.dtype[0])) && q.dtype[2] == FC_INT64;
    case FC_FAMILY_SCATTER: return scatter_kernel(q.opcode, q.dtype[0]) && q.dtype[2] == FC_INT64;
    case FC_FAMILY_SCAN: return library().find(q.family, q.opcode, q.dtype[1]) && q.dtype[0] == q.dtype[1];
    case FC_FAMILY_SORT: return library().find(q.family, 0, halves ? FC_FLOAT32 : q.dtype[0]);
    case FC_FAMILY_RANDOM: return library().find(q.family, q.opcode == FC_RANDOM_INTEGER, drawn_as(q.dtype[0]));
    default: return false;
  }
}

void HammerBlade::make_dense(fc_context& c, Walk& w, int i, int dtype) {
  Walk::Side& s = w.side[i];
  int64_t stride = item_size(dtype);
  for (int d = w.ndim; d-- > 0;) {
    s.stride[d] = stride;
    stride *= w.size[d];
  }
  s.data = static_cast<char*>(workspace(c, static_cast<size_t>(stride)));
  s.dtype = dtype;
}

void HammerBlade::copy_sides(fc_context& c, const Walk& over, const Walk::Side& to, const Walk::Side& from) {
  fc_copy k{sizeof k, over.ndim, over.size, {}, {}};
  k.dst = {to.data, to.stride, to.dtype, 0, {}};
  k.src = {from.data, from.stride, from.dtype, 0, {}};
  copy(c, k);
}

void HammerBlade::cast(fc_context& c, Walk& w, int i, int dtype) {
  const Walk::Side before = w.side[i];
  make_dense(c, w, i, dtype);
  copy_sides(c, w, w.side[i], before);
}

void HammerBlade::copy(fc_context& c, const fc_copy& k) {
  Walk w(k.ndim, k.shape);
  w.add(k.dst);
  w.add(k.src);
  w.sort_by_result();
  w.merge(0, w.ndim);
  const Kernel* kernel = copy_kernel(k.dst.dtype, k.src.data ? k.src.dtype : k.dst.dtype);
  if (!kernel) fb::fail("no kernel copies these types", FC_UNSUPPORTED);
  w.parts([&](const Walk& part) {
    Packet p;
    pack(p, part.view(0));
    if (k.src.data) pack(p, part.view(1));
    else pack_repeated(p, k.dst.dtype, k.src.value, part.ndim, part.size);
    launch(c, *kernel, p, part.bytes());
  });
}

void HammerBlade::map(fc_context& c, const fc_map& k) {
  const Kernel* kernel = library().find(FC_FAMILY_MAP, k.opcode, k.compute);
  if (!kernel) fb::fail("no kernel for this formula", FC_UNSUPPORTED);
  const hb::Parameter* types = kernel->row->parameters;
  Walk w(k.ndim, k.shape);
  w.add(k.out);
  for (int i = 0; i < k.n_in; ++i) w.add(k.in[i]);
  w.sort_by_result();
  w.merge(0, w.ndim);
  // What is stored in another type than the kernel has is converted on the way, in memory of the host's.
  for (int i = 1; i < w.n; ++i)
    if (w.side[i].data && w.side[i].dtype != types[i].dtype) cast(c, w, i, types[i].dtype);
  const Walk::Side result = w.side[0];
  const bool other = result.dtype != types[0].dtype;
  if (other) make_dense(c, w, 0, types[0].dtype);
  w.parts([&](const Walk& part) {
    Packet p;
    pack(p, part.view(0));
    for (int i = 1; i < part.n; ++i) {
      if (part.side[i].data) pack(p, part.view(i));
      else pack_repeated(p, types[i].dtype, k.in[i - 1].value, part.ndim, part.size);
    }
    pack_numbers(p, k.compute, k.params, k.n_params);
    launch(c, *kernel, p, part.bytes());
  });
  if (other) copy_sides(c, w, result, w.side[0]);
}

void HammerBlade::reduce(fc_context& c, const fc_reduce& k) {
  const Kernel* kernel = library().find(FC_FAMILY_REDUCE, k.opcode, k.compute);
  if (!kernel) fb::fail("no kernel for this reduction", FC_UNSUPPORTED);
  const hb::Parameter* types = kernel->row->parameters;
  const bool extreme = types[1].kind == hb::kChanged;
  const fc_operand& result = k.out.data ? k.out : k.indices;
  Walk w(k.ndim, k.shape);
  w.add(result);
  w.add(k.in);
  if (extreme) w.add(k.indices.data ? k.indices : result);
  // Dimensions that stay first, reduced ones after them in their order.
  int stay = 0;
  for (int d = 0; d < w.ndim; ++d)
    if (w.side[0].stride[d] != 0 || w.size[d] == 1) w.move(d, stay++);
  stay = w.merge(0, stay);
  const int reduced = w.merge(stay, w.ndim);
  if (w.ndim > kMaxDims) fb::fail("reductions of tensors that need more than 8 dimensions", FC_UNSUPPORTED);
  if (w.side[1].dtype != k.compute) cast(c, w, 1, k.compute);
  Walk kept(stay, w.size);
  kept.n = 1;
  kept.side[0] = w.side[0];
  const Walk::Side wanted = w.side[0];
  const bool other = k.out.data && wanted.dtype != types[0].dtype;
  if (other) make_dense(c, kept, 0, types[0].dtype);
  const View out = kept.view(0), in = w.view(1);
  const int64_t results = out.numel(), per_result = in.numel() / results;
  Packet p;
  if (extreme) {
    k.out.data ? pack(p, out) : pack_absent(p);
    k.indices.data ? pack(p, w.view(2, 0, stay)) : pack_absent(p);
    pack(p, in);
    pack_integer(p, FC_INT32, reduced);
    pack_integer(p, FC_INT32, results);
  } else {
    const int64_t parts = std::max<int64_t>(1, std::min(device().tiles().area() / results, per_result / 16));
    View partial;
    partial.ndim = 1;
    partial.size[0] = parts > 1 ? results * parts : 0;
    partial.stride[0] = 1;
    if (parts > 1) partial.data = workspace(c, static_cast<size_t>(results * parts * item_size(k.compute)));
    pack(p, out);
    pack(p, in);
    pack_integer(p, FC_INT32, reduced);
    pack_integer(p, FC_INT32, parts);
    pack(p, partial);
  }
  launch(c, *kernel, p, static_cast<uint64_t>((in.numel() + results) * item_size(k.compute)));
  if (other) copy_sides(c, kept, wanted, kept.side[0]);
}

void HammerBlade::matmul(fc_context& c, const fc_matmul& k) {
  const Kernel* kernel = library().find(FC_FAMILY_MATMUL, 0, k.dtype);
  if (!kernel) fb::fail("no kernel multiplies matrices of this type", FC_UNSUPPORTED);
  auto view = [&](void* data, int64_t rows, int64_t columns, int64_t batch, int64_t row, int64_t column) {
    const int64_t sizes[] = {k.batch, rows, columns}, strides[] = {batch, row, column};
    return view_of(data, 3, sizes, strides, k.dtype);
  };
  Packet p;
  pack(p, view(k.c, k.m, k.n, k.c_batch, k.c_row, k.c_col));
  pack(p, view(k.a, k.m, k.k, k.a_batch, k.a_row, k.a_col));
  pack(p, view(k.b, k.k, k.n, k.b_batch, k.b_row, k.b_col));
  pack_number(p, k.dtype, {2, 0, 0, k.alpha, 0});
  pack_number(p, k.dtype, {2, 0, 0, k.beta, 0});
  launch(c, *kernel, p, static_cast<uint64_t>(k.batch * (k.m * k.n + k.m * k.k + k.k * k.n) * item_size(k.dtype)));
}

void HammerBlade::gather(fc_context& c, const fc_gather& k) {
  Walk w(k.ndim, k.shape);
  w.add(k.out);
  w.add(k.in);
  w.add(k.index);
  const int64_t step = k.ndim ? w.side[1].stride[k.dim] / item_size(k.in.dtype) : 1;
  if (k.ndim) w.side[1].stride[k.dim] = 0;
  w.merge(0, w.ndim);
  indexed(c, *library().find(FC_FAMILY_GATHER, 0, word_of(k.out.dtype)), w, k.in_size, step);
}

void HammerBlade::scatter(fc_context& c, const fc_scatter& k) {
  Walk w(k.ndim, k.shape);
  w.add(k.out);
  w.add(k.src);
  w.add(k.index);
  const int64_t step = k.ndim ? w.side[0].stride[k.dim] / item_size(k.out.dtype) : 1;
  if (k.ndim) {
    w.side[0].stride[k.dim] = 0;
    w.move(k.dim, w.ndim - 1);
    w.merge(0, w.ndim - 1);
  }
  // Many indices for few lines are sorted by the tile that owns their part of a line.
  const int64_t n = w.numel(), lines = w.ndim ? n / w.size[w.ndim - 1] : n, tiles = device().tiles().area();
  const int64_t owners = tiles / std::max<int64_t>(lines, 1) * lines;
  View memory;
  if (owners > lines && n > 8 * owners) memory = scratch(c, (tiles * owners + owners + n) * 4);
  indexed(c, *scatter_kernel(k.opcode, k.out.dtype), w, k.out_size, step, k.src.data ? nullptr : &k.src.value,
          memory.ndim ? &memory : nullptr);
}

View HammerBlade::scratch(fc_context& c, int64_t bytes) {
  const int64_t words = (bytes + 7) / 8, stride = 8;
  return view_of(workspace(c, static_cast<size_t>(words * 8)), 1, &words, &stride, FC_INT64);
}

namespace {

// The lines along a dimension, which comes last.
Walk lines_of(int ndim, const int64_t* shape, int dim, std::initializer_list<const fc_operand*> operands) {
  Walk w(ndim, shape);
  for (const fc_operand* o : operands) w.add(*o);
  w.move(dim, ndim - 1);
  w.merge(0, ndim - 1);
  if (w.ndim > kMaxDims) fb::fail("lines of tensors that need more than 8 dimensions", FC_UNSUPPORTED);
  return w;
}

}  // namespace

void HammerBlade::scan(fc_context& c, const fc_scan& k) {
  const Kernel* kernel = library().find(FC_FAMILY_SCAN, k.opcode, k.in.dtype);
  if (!kernel) fb::fail("no kernel for this scan", FC_UNSUPPORTED);
  const Walk w = lines_of(k.ndim, k.shape, k.dim, {&k.out, &k.in, k.indices.data ? &k.indices : &k.out});
  const int64_t length = w.size[w.ndim - 1], lines = w.numel() / length;
  const int64_t parts = std::max<int64_t>(1, std::min(device().tiles().area() / lines, length / 16));
  Packet p;
  pack(p, w.view(0));
  k.indices.data ? pack(p, w.view(2)) : pack_absent(p);
  pack(p, w.view(1));
  pack_integer(p, FC_INT32, parts);
  parts > 1 ? pack(p, scratch(c, lines * parts * 16)) : pack_absent(p);
  launch(c, *kernel, p, w.bytes());
}

void HammerBlade::sort(fc_context& c, const fc_sort& k) {
  const bool half = k.in.dtype == FC_FLOAT16 || k.in.dtype == FC_BFLOAT16;
  const Kernel* kernel = library().find(FC_FAMILY_SORT, 0, half ? FC_FLOAT32 : k.in.dtype);
  if (!kernel) fb::fail("no kernel sorts this type", FC_UNSUPPORTED);
  Walk w = lines_of(k.ndim, k.shape, k.dim, {&k.out, &k.indices, &k.in});
  const Walk::Side result = w.side[0];
  if (half) {
    cast(c, w, 2, FC_FLOAT32);
    make_dense(c, w, 0, FC_FLOAT32);
  }
  Packet p;
  for (int i = 0; i < 3; ++i) pack(p, w.view(i));
  pack_integer(p, FC_BOOL, k.descending);
  pack(p, scratch(c, w.numel() * 2 * (item_size(k.in.dtype) == 8 ? 16 : 8)));  // two entries of key and position each
  launch(c, *kernel, p, w.bytes());
  if (half) copy_sides(c, w, result, w.side[0]);
}

void HammerBlade::indexed(fc_context& c, const Kernel& kernel, const Walk& w, int64_t size, int64_t step,
                          const fc_number* number, const View* memory) {
  if (w.ndim > kMaxDims) fb::fail("indexing of tensors that need more than 8 dimensions", FC_UNSUPPORTED);
  Packet p;
  pack(p, w.view(0));
  if (number) pack_repeated(p, w.side[0].dtype, *number, w.ndim, w.size);
  else pack(p, w.view(1));
  pack(p, w.view(2));
  pack_integer(p, FC_INT64, size);
  pack_integer(p, FC_INT64, step);
  memory ? pack(p, *memory) : pack_absent(p);
  p.word(fault());
  std::lock_guard lock(state().indexing);
  launch(c, kernel, p, w.bytes());
  check_fault();
}

void HammerBlade::random(fc_context& c, const fc_random& k) {
  const int dtype = drawn_as(k.out.dtype);
  const Kernel* kernel = library().find(FC_FAMILY_RANDOM, k.opcode == FC_RANDOM_INTEGER, dtype);
  if (!kernel) fb::fail("no kernel draws numbers of this type", FC_UNSUPPORTED);
  Walk w(k.ndim, k.shape);  // in their order: element i is made from counter offset + i
  w.add(k.out);
  if (k.p.data) w.add(k.p);
  w.merge(0, w.ndim);
  if (w.ndim > kMaxDims) fb::fail("random tensors that need more than 8 dimensions", FC_UNSUPPORTED);
  if (k.p.data && w.side[1].dtype != FC_FLOAT32) cast(c, w, 1, FC_FLOAT32);
  const Walk::Side result = w.side[0];
  const bool other = result.dtype != dtype;
  if (other) make_dense(c, w, 0, dtype);
  Packet p;
  pack(p, w.view(0));
  if (k.p.data) pack(p, w.view(1));
  else pack_absent(p);
  pack_integer(p, FC_INT32, k.opcode);
  pack_number(p, FC_FLOAT32, {2, 0, 0, k.a, 0});
  pack_number(p, FC_FLOAT32, {2, 0, 0, k.b, 0});
  pack_integer(p, FC_INT64, k.low);
  pack_integer(p, FC_INT64, static_cast<int64_t>(k.range));
  pack_integer(p, FC_INT64, static_cast<int64_t>(k.seed));
  pack_integer(p, FC_INT64, static_cast<int64_t>(k.offset));
  launch(c, *kernel, p, w.bytes());
  if (other) copy_sides(c, w, result, w.side[0]);
}

}  // namespace hammerblade

FACULA_BACKEND(hammerblade::HammerBlade, "hammerblade")
