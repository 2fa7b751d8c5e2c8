// SPDX-License-Identifier: Apache-2.0
// What a call of a family is, for those who watch: its name, its opcode, the bytes it reads and writes.
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

}  // namespace

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
