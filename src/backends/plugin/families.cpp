// SPDX-License-Identifier: Apache-2.0
// Compute families of a backend: what it is asked (and how the answer is kept), and the calls themselves. Copies that
// plain bytes can do never need the backend's copy family: same type and both contiguous, or a contiguous fill with
// equal bytes.
#include "dispatch/family_table.h"

#include <cmath>
#include <cstring>

#include "backends/plugin/backend.h"
#include "dispatch/operator.h"

namespace fc::plugin {
namespace {

fc_layout layout_of(const fc_operand& o, int ndim, const int64_t* shape, bool number_allowed) {
  if (!o.strides) return number_allowed && !o.data ? FC_LAYOUT_NUMBER : FC_LAYOUT_ABSENT;
  bool contiguous = true, repeated = false;
  int64_t expect = static_cast<int64_t>(item_size(static_cast<DType>(o.dtype)));
  for (int d = ndim; d-- > 0;) {
    if (shape[d] == 1) continue;
    contiguous &= o.strides[d] == expect;
    repeated |= o.strides[d] == 0 && shape[d] > 1;
    expect *= shape[d];
  }
  return contiguous ? FC_LAYOUT_CONTIGUOUS : repeated ? FC_LAYOUT_REPEATED : FC_LAYOUT_STRIDED;
}

class QueryBuilder {
 public:
  QueryBuilder(fc_family family, int opcode, int compute, int ndim, const int64_t* shape) : ndim_(ndim), shape_(shape) {
    q.size = sizeof q;
    q.family = family;
    q.opcode = opcode;
    q.compute = compute;
  }
  QueryBuilder& add(const fc_operand& o, bool number_allowed = false) {
    fc_layout layout = layout_of(o, ndim_, shape_, number_allowed);
    q.dtype[q.n_operands] = layout == FC_LAYOUT_ABSENT ? -1 : o.dtype;
    q.layout[q.n_operands++] = layout;
    return *this;
  }
  fc_query q{};

 private:
  int ndim_;
  const int64_t* shape_;
};

// A result that is not allocated yet will be laid out like the inputs.
void guess_result(fc_query& q, int32_t dtype) {
  if (q.layout[0] != FC_LAYOUT_ABSENT) return;
  q.dtype[0] = dtype;
  q.layout[0] = FC_LAYOUT_CONTIGUOUS;
  for (int i = 1; i < q.n_operands; ++i)
    if (q.layout[i] == FC_LAYOUT_STRIDED || q.layout[i] == FC_LAYOUT_REPEATED) q.layout[0] = FC_LAYOUT_STRIDED;
}

fc_query query_of(fc_family family, const void* call) {
  switch (family) {
    case FC_FAMILY_COPY: {
      const auto& c = *static_cast<const fc_copy*>(call);
      return QueryBuilder(family, 0, c.dst.dtype, c.ndim, c.shape).add(c.dst).add(c.src, true).q;
    }
    case FC_FAMILY_MAP: {
      const auto& c = *static_cast<const fc_map*>(call);
      QueryBuilder b(family, c.opcode, c.compute, c.ndim, c.shape);
      b.add(c.out);
      for (int i = 0; i < c.n_in; ++i) b.add(c.in[i], true);
      guess_result(b.q, c.out.dtype);
      return b.q;
    }
    case FC_FAMILY_REDUCE: {
      const auto& c = *static_cast<const fc_reduce*>(call);
      QueryBuilder b(family, c.opcode, c.compute, c.ndim, c.shape);
      b.add(c.out).add(c.in).add(c.indices);
      if (!c.out.strides && !c.indices.strides) {  // asked before the results have memory
        b.q.dtype[0] = c.out.dtype;
        b.q.layout[0] = FC_LAYOUT_CONTIGUOUS;
      }
      // Results repeat along what is reduced; the host makes their memory itself, contiguous.
      for (int i : {0, 2})
        if (b.q.layout[i] != FC_LAYOUT_ABSENT) b.q.layout[i] = FC_LAYOUT_CONTIGUOUS;
      return b.q;
    }
    case FC_FAMILY_MATMUL: {
      const auto& c = *static_cast<const fc_matmul*>(call);
      fc_query q{};
      q.size = sizeof q;
      q.family = family;
      q.compute = c.dtype;
      q.n_operands = 3;
      auto layout = [&](int64_t row, int64_t col, int64_t columns) {
        int64_t item = static_cast<int64_t>(item_size(static_cast<DType>(c.dtype)));
        return col == item && row == columns * item ? FC_LAYOUT_CONTIGUOUS : FC_LAYOUT_STRIDED;
      };
      q.layout[0] = layout(c.c_row, c.c_col, c.n);
      q.layout[1] = layout(c.a_row, c.a_col, c.k);
      q.layout[2] = layout(c.b_row, c.b_col, c.n);
      for (int i = 0; i < 3; ++i) q.dtype[i] = c.dtype;
      return q;
    }
    case FC_FAMILY_GATHER: {
      const auto& c = *static_cast<const fc_gather*>(call);
      return QueryBuilder(family, 0, c.out.dtype, c.ndim, c.shape).add(c.out).add(c.in).add(c.index).q;
    }
    case FC_FAMILY_SCATTER: {
      const auto& c = *static_cast<const fc_scatter*>(call);
      return QueryBuilder(family, c.opcode, c.out.dtype, c.ndim, c.shape).add(c.out).add(c.src, true).add(c.index).q;
    }
    case FC_FAMILY_SCAN: {
      const auto& c = *static_cast<const fc_scan*>(call);
      return QueryBuilder(family, c.opcode, c.out.dtype, c.ndim, c.shape).add(c.out).add(c.in).add(c.indices).q;
    }
    case FC_FAMILY_RANDOM: {
      const auto& c = *static_cast<const fc_random*>(call);
      return QueryBuilder(family, c.opcode, c.out.dtype, c.ndim, c.shape).add(c.out).add(c.p).q;
    }
    default: {
      const auto& c = *static_cast<const fc_sort*>(call);
      return QueryBuilder(family, 0, c.out.dtype, c.ndim, c.shape).add(c.out).add(c.in).add(c.indices).q;
    }
  }
}

int64_t elements(int ndim, const int64_t* shape) {
  int64_t n = 1;
  for (int d = 0; d < ndim; ++d) n *= shape[d];
  return n;
}

// The byte that a number's element consists of, or -1.
int uniform_byte(const fc_number& v, DType t) {
  bool zero = v.category <= 1 ? v.i == 0 : v.re == 0 && v.im == 0 && !std::signbit(v.re) && !std::signbit(v.im);
  if (zero) return 0;
  if (t == DType::Bool) return 1;
  if (v.category > 1) return -1;
  if (t == DType::UInt8 || t == DType::Int8) return static_cast<uint8_t>(v.i);
  return v.i == -1 && is_integral(t, false) ? 0xff : -1;
}

bool plain_bytes(const fc_copy& c) {
  if (layout_of(c.dst, c.ndim, c.shape, false) != FC_LAYOUT_CONTIGUOUS) return false;
  if (!c.src.strides) return uniform_byte(c.src.value, static_cast<DType>(c.dst.dtype)) >= 0;
  return c.src.dtype == c.dst.dtype && layout_of(c.src, c.ndim, c.shape, false) == FC_LAYOUT_CONTIGUOUS;
}

bool supports(void* context, fc_family family, const void* call) {
  if (family == FC_FAMILY_COPY && plain_bytes(*static_cast<const fc_copy*>(call))) return true;
  return static_cast<Backend*>(context)->claims(query_of(family, call));
}

void copy(void* context, Device device, const fc_copy& c) {
  auto& b = *static_cast<Backend*>(context);
  CallScope s(b, index_of(device));
  if (!plain_bytes(c)) {
    s.check(b.c.family_copy(b.c.self, &s.context, &c), "copy");
    return;
  }
  DType t = static_cast<DType>(c.dst.dtype);
  size_t bytes = static_cast<size_t>(elements(c.ndim, c.shape)) * item_size(t);
  if (bytes == 0) return;
  if (c.src.strides)
    s.check(b.c.copy(b.c.self, &s.context, c.dst.data, c.src.data, bytes, FC_DEVICE_TO_DEVICE, 0),
            "copy on the device");
  else
    s.check(b.c.fill_bytes(b.c.self, &s.context, c.dst.data, static_cast<uint8_t>(uniform_byte(c.src.value, t)), bytes),
            "fill_bytes");
}

template <fc_family family, class Call, int (*fc_backend::*function)(void*, fc_context*, const Call*)>
void run(void* context, Device device, const Call& c) {
  if constexpr (requires { c.shape; })
    if (elements(c.ndim, c.shape) == 0) return;
  auto& b = *static_cast<Backend*>(context);
  CallScope s(b, index_of(device));
  int status = (b.c.*function)(b.c.self, &s.context, &c);
  if (status != FC_OK) [[unlikely]] {
    const std::string_view opcode = opcode_name(family, &c);
    s.fail(status, str(family_name(family), opcode.empty() ? "" : " ", opcode));
  }
}

}  // namespace

size_t Backend::QueryHash::operator()(const fc_query& q) const {
  uint64_t h = 1469598103934665603u;
  auto mix = [&](int32_t v) { h = (h ^ static_cast<uint32_t>(v)) * 1099511628211u; };
  mix(q.family);
  mix(q.opcode);
  mix(q.compute);
  for (int i = 0; i < q.n_operands; ++i) {
    mix(q.dtype[i]);
    mix(q.layout[i]);
  }
  return h;
}

bool Backend::QuerySame::operator()(const fc_query& a, const fc_query& b) const {
  return std::memcmp(&a, &b, sizeof a) == 0;  // made by QueryBuilder: no padding, unused entries are zero
}

bool has_function(const fc_backend& c, fc_family family) {
  switch (family) {
    case FC_FAMILY_COPY: return c.family_copy;
    case FC_FAMILY_MAP: return c.map;
    case FC_FAMILY_REDUCE: return c.reduce;
    case FC_FAMILY_MATMUL: return c.matmul;
    case FC_FAMILY_GATHER: return c.gather;
    case FC_FAMILY_SCATTER: return c.scatter;
    case FC_FAMILY_SCAN: return c.scan;
    case FC_FAMILY_RANDOM: return c.random;
    default: return c.sort;
  }
}

bool Backend::claims(const fc_query& q) {
  if (!c.supports) return false;
  uint64_t epoch;
  {
    std::lock_guard lock(mutex_);
    epoch = epoch_;
    if (auto it = answers_.find(q); it != answers_.end()) return it->second;
  }
  bool answer = c.supports(c.self, &q) == 1, first = false;
  if (answer && !has_function(c, static_cast<fc_family>(q.family))) {
    std::lock_guard lock(mutex_);
    first = !(empty_claims_ & 1u << q.family);
    empty_claims_ |= 1u << q.family;
    answer = false;
  }
  if (first)
    warn(str("backend '", name, "' claims calls of the family ", family_name(static_cast<fc_family>(q.family)),
             ", but has no function for it: they go to the CPU"));
  std::lock_guard lock(mutex_);
  if (epoch == epoch_) answers_.emplace(q, answer);
  return answer;
}

void Backend::ask_anew() {
  {
    std::lock_guard lock(mutex_);
    ++epoch_;
    answers_.clear();
  }
  const std::vector<std::string> unknown = read_operators();
  install_operators();
  for (const std::string& one : unknown)
    warn(str("backend '", name, "' offers the operator '", one, "', which this Facula does not have"));
}

void fill_families(Backend& b) {
  Families& f = b.families;
  f.context = &b;
  f.supports = supports;
  f.copy = copy;
  f.map = run<FC_FAMILY_MAP, fc_map, &fc_backend::map>;
  f.reduce = run<FC_FAMILY_REDUCE, fc_reduce, &fc_backend::reduce>;
  f.matmul = run<FC_FAMILY_MATMUL, fc_matmul, &fc_backend::matmul>;
  f.gather = run<FC_FAMILY_GATHER, fc_gather, &fc_backend::gather>;
  f.scatter = run<FC_FAMILY_SCATTER, fc_scatter, &fc_backend::scatter>;
  f.scan = run<FC_FAMILY_SCAN, fc_scan, &fc_backend::scan>;
  f.sort = run<FC_FAMILY_SORT, fc_sort, &fc_backend::sort>;
  f.random = run<FC_FAMILY_RANDOM, fc_random, &fc_backend::random>;
}

}  // namespace fc::plugin
