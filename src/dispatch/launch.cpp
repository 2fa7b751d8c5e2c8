// SPDX-License-Identifier: Apache-2.0
// What a call of a family is, for those who watch: its name, its opcode, the bytes it reads and writes.
#include <algorithm>
#include <iterator>

#include "dispatch/family_table.h"
#include "dispatch/observe.h"

namespace fc {
namespace {

constexpr const char* scan_names[] = {"sum", "prod", "max", "min", "logsumexp"};
static_assert(std::size(scan_names) == FC_SCAN_LOGSUMEXP + 1);
constexpr const char* scatter_names[] = {"set", "add", "mul", "max", "min"};
static_assert(std::size(scatter_names) == FC_SCATTER_MIN + 1);
constexpr const char* random_names[] = {"uniform", "normal",    "log_normal", "exponential",
                                        "cauchy",  "geometric", "bernoulli",  "integer"};
static_assert(std::size(random_names) == FC_RANDOM_INTEGER + 1);
constexpr const char* family_names[] = {"copy",    "map",  "reduce", "matmul", "gather",
                                        "scatter", "scan", "sort",   "random"};
static_assert(std::size(family_names) == FC_FAMILY_COUNT);

// Memory that an operand covers: what is repeated is read once.
uint64_t bytes_of(const fc_operand& o, int ndim, const int64_t* shape) {
  if (!o.data) return 0;
  uint64_t n = item_size(static_cast<DType>(o.dtype));
  for (int d = 0; d < ndim; ++d)
    if (shape[d] == 0 || o.strides[d] != 0) n *= static_cast<uint64_t>(shape[d]);
  return n;
}

template <class Call>
uint64_t bytes_of(const Call& c, std::initializer_list<const fc_operand*> operands) {
  uint64_t n = 0;
  for (const fc_operand* o : operands) n += bytes_of(*o, c.ndim, c.shape);
  return n;
}

// Operands of one call, in the order in which they are read and written.
class OperandList {
 public:
  OperandList(MemoryOperand* out, int ndim, const int64_t* shape) : out_(out), ndim_(ndim), shape_(shape) {}
  void add(const fc_operand& o, bool read, bool written, bool some = false) {
    if (!o.data || n_ == kMaxOperands) return;
    out_[n_++] = {.data = o.data,
                  .sizes = shape_,
                  .strides = o.strides,
                  .ndim = ndim_,
                  .dtype = static_cast<DType>(o.dtype),
                  .read = read,
                  .written = written,
                  .some = some};
  }
  int count() const { return n_; }

 private:
  MemoryOperand* out_;
  int ndim_;
  const int64_t* shape_;
  int n_ = 0;
};

int family_operands(fc_family family, const void* request, MemoryOperand* out) {
  auto simple = [&](const auto& c, auto&& add) {
    OperandList list(out, c.ndim, c.shape);
    add(list);
    return list.count();
  };
  switch (family) {
    case FC_FAMILY_COPY: {
      const auto& c = *static_cast<const fc_copy*>(request);
      return simple(c, [&](OperandList& l) { l.add(c.src, true, false), l.add(c.dst, false, true); });
    }
    case FC_FAMILY_MAP: {
      const auto& c = *static_cast<const fc_map*>(request);
      return simple(c, [&](OperandList& l) {
        for (int i = 0; i < c.n_in; ++i) l.add(c.in[i], true, false);
        l.add(c.out, false, true);
      });
    }
    case FC_FAMILY_REDUCE: {
      const auto& c = *static_cast<const fc_reduce*>(request);
      return simple(c, [&](OperandList& l) {
        l.add(c.in, true, false), l.add(c.shift, true, false);
        l.add(c.out, false, true), l.add(c.indices, false, true);
      });
    }
    case FC_FAMILY_MATMUL: {
      const auto& c = *static_cast<const fc_matmul*>(request);
      Event e{.kind = EventKind::Launch};
      e.own_operands = out;
      const auto type = static_cast<DType>(c.dtype);
      e.add_matrix(c.a, type, {c.batch, c.m, c.k}, {c.a_batch, c.a_row, c.a_col}, true, false);
      e.add_matrix(c.b, type, {c.batch, c.k, c.n}, {c.b_batch, c.b_row, c.b_col}, true, false);
      e.add_matrix(c.c, type, {c.batch, c.m, c.n}, {c.c_batch, c.c_row, c.c_col}, c.beta != 0, true);
      return e.num_operands;
    }
    case FC_FAMILY_GATHER: {
      const auto& c = *static_cast<const fc_gather*>(request);
      return simple(c, [&](OperandList& l) {
        l.add(c.in, true, false, true), l.add(c.index, true, false), l.add(c.out, false, true);
      });
    }
    case FC_FAMILY_SCATTER: {
      const auto& c = *static_cast<const fc_scatter*>(request);
      return simple(c, [&](OperandList& l) {
        l.add(c.src, true, false), l.add(c.index, true, false);
        l.add(c.out, c.opcode != FC_SCATTER_SET, true, true);
      });
    }
    case FC_FAMILY_SCAN: {
      const auto& c = *static_cast<const fc_scan*>(request);
      return simple(c, [&](OperandList& l) {
        l.add(c.in, true, false), l.add(c.out, false, true), l.add(c.indices, false, true);
      });
    }
    case FC_FAMILY_SORT: {
      const auto& c = *static_cast<const fc_sort*>(request);
      return simple(c, [&](OperandList& l) {
        l.add(c.in, true, false), l.add(c.out, false, true), l.add(c.indices, false, true);
      });
    }
    case FC_FAMILY_RANDOM: {
      const auto& c = *static_cast<const fc_random*>(request);
      return simple(c, [&](OperandList& l) { l.add(c.p, true, false), l.add(c.out, false, true); });
    }
    default: return 0;
  }
}

}  // namespace

void Event::add_matrix(const void* data, DType dtype, std::array<int64_t, 3> sizes, std::array<int64_t, 3> strides,
                       bool read, bool written) {
  if (!own_operands || !data || num_operands == kMaxOperands) return;
  MemoryOperand& o =
      own_operands[num_operands++] = {.data = data, .ndim = 3, .dtype = dtype, .read = read, .written = written};
  std::ranges::copy(sizes, o.own);
  std::ranges::copy(strides, o.own + 3);
}

void Event::add(const Tensor& t, bool written) {
  if (!own_operands || !t.defined() || !t.data() || num_operands == kMaxOperands) return;
  // What it spans: layouts of libraries have no gaps that anybody else would use.
  const int64_t bytes =
      static_cast<int64_t>(t.numel() ? storage_bytes_needed(t.sizes(), t.strides(), 0, t.dtype()) : size_t{0});
  const auto item = static_cast<int64_t>(item_size(t.dtype()));
  own_operands[num_operands++] = {.data = t.data(),
                                  .ndim = 1,
                                  .dtype = t.dtype(),
                                  .read = !written,
                                  .written = written,
                                  .storage = t.impl().storage().get(),
                                  .own = {bytes / item, 1, 1, item, 0, 0}};
}

int Event::operands(MemoryOperand* out) const {
  if (request) return family_operands(family, request, out);
  if (kind == EventKind::Copy && source) {
    const auto n = static_cast<int64_t>(bytes);
    out[0] = {.data = source, .ndim = 1, .read = true, .own = {n, 1, 1, 1, 0, 0}};
    out[1] = {.data = address, .ndim = 1, .written = true, .own = {n, 1, 1, 1, 0, 0}};
    return 2;
  }
  std::copy_n(own_operands, num_operands, out);
  return num_operands;
}

std::string_view family_name(fc_family family) { return family_names[family]; }

std::string_view opcode_name(fc_family family, const void* request) {
  switch (family) {
    case FC_FAMILY_MAP: return map_opcode(static_cast<const fc_map*>(request)->opcode).name;
    case FC_FAMILY_REDUCE: return reduce_opcode(static_cast<const fc_reduce*>(request)->opcode).name;
    case FC_FAMILY_SCATTER: return scatter_names[static_cast<const fc_scatter*>(request)->opcode];
    case FC_FAMILY_SCAN: return scan_names[static_cast<const fc_scan*>(request)->opcode];
    case FC_FAMILY_RANDOM: return random_names[static_cast<const fc_random*>(request)->opcode];
    default: return {};
  }
}

void describe_launch(Event& e, Device device, fc_family family, const void* request) {
  e.kind = EventKind::Launch;
  e.name = family_name(family);
  e.text = opcode_name(family, request);
  e.where = device;
  e.family = family;
  e.request = request;
  switch (family) {
    case FC_FAMILY_COPY: {
      const auto& c = *static_cast<const fc_copy*>(request);
      e.kind = c.src.data ? EventKind::Copy : EventKind::Fill;
      if (!c.src.data) e.name = "fill";
      e.from = device;
      e.address = c.dst.data;
      e.source = c.src.data;
      e.bytes = bytes_of(c.dst, c.ndim, c.shape);
      break;
    }
    case FC_FAMILY_MAP: {
      const auto& c = *static_cast<const fc_map*>(request);
      e.bytes = bytes_of(c.out, c.ndim, c.shape);
      for (int i = 0; i < c.n_in; ++i) e.bytes += bytes_of(c.in[i], c.ndim, c.shape);
      break;
    }
    case FC_FAMILY_REDUCE: {
      const auto& c = *static_cast<const fc_reduce*>(request);
      e.bytes = bytes_of(c, {&c.in, &c.out, &c.indices});
      break;
    }
    case FC_FAMILY_MATMUL: {
      const auto& c = *static_cast<const fc_matmul*>(request);
      e.m = c.m, e.n = c.n, e.k = c.k, e.batch = c.batch;
      const auto product = [](int64_t batch, int64_t stride, int64_t rows, int64_t columns) {
        return static_cast<uint64_t>(stride || batch == 1 ? batch : 1) * static_cast<uint64_t>(rows) *
               static_cast<uint64_t>(columns);
      };
      e.bytes = item_size(static_cast<DType>(c.dtype)) *
                (product(c.batch, c.a_batch, c.m, c.k) + product(c.batch, c.b_batch, c.k, c.n) +
                 product(c.batch, c.c_batch, c.m, c.n) * (c.beta != 0 ? 2 : 1));
      break;
    }
    case FC_FAMILY_GATHER: {
      const auto& c = *static_cast<const fc_gather*>(request);
      e.bytes = bytes_of(c, {&c.out, &c.out, &c.index});  // it reads as many elements as it writes
      break;
    }
    case FC_FAMILY_SCATTER: {
      const auto& c = *static_cast<const fc_scatter*>(request);
      e.bytes = bytes_of(c, {&c.src, &c.index}) + bytes_of(c.index, c.ndim, c.shape) /
                                                      item_size(static_cast<DType>(c.index.dtype)) *
                                                      item_size(static_cast<DType>(c.out.dtype));
      break;
    }
    case FC_FAMILY_SCAN: {
      const auto& c = *static_cast<const fc_scan*>(request);
      e.bytes = bytes_of(c, {&c.in, &c.out, &c.indices});
      break;
    }
    case FC_FAMILY_RANDOM: {
      const auto& c = *static_cast<const fc_random*>(request);
      e.bytes = bytes_of(c, {&c.out, &c.p});
      break;
    }
    default: {
      const auto& c = *static_cast<const fc_sort*>(request);
      e.bytes = bytes_of(c, {&c.in, &c.out, &c.indices});
    }
  }
}

}  // namespace fc
