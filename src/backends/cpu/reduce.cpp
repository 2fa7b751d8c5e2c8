// SPDX-License-Identifier: Apache-2.0
// The CPU's reduce family. Dimensions are split into kept and reduced ones, ordered by the input's strides and merged.
// The results along the innermost kept dimension form tiles; the terms of a tile are cut into blocks, each folded by
// one kernel call, and the blocks' results are combined pairwise like the carries of a binary counter. The cut depends
// on the shape alone, and parts handed to threads are whole subtrees, so any number of threads gives the same bits.
#include <algorithm>
#include <memory>

#include "backends/cpu/isa.h"
#include "backends/cpu/register.h"
#include "core/tensor.h"
#include "core/threads.h"
#include "dispatch/family_table.h"
#include "facula/opcodes/base.h"

namespace fc::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // terms per thread at least

struct Axis {
  int64_t size, in, out, indices, shift;  // strides in bytes
};

struct Plan {
  Axis kept[kMaxRank + 1], reduced[kMaxRank + 1];  // innermost first, at least one each
  int n_kept = 0, n_reduced = 0;
  int64_t results = 1, terms = 1;
};

void add_axis(Axis* axes, int& n, const Axis& a) {
  if (n > 0) {
    Axis& last = axes[n - 1];
    if (a.in == last.in * last.size && a.out == last.out * last.size && a.indices == last.indices * last.size &&
        a.shift == last.shift * last.size) {
      last.size *= a.size;
      return;
    }
  }
  axes[n++] = a;
}

Plan make_plan(const fc_reduce& c) {
  Plan p;
  int order[kMaxRank], n = 0;
  for (int d = c.ndim; d-- > 0;)
    if (c.shape[d] != 1) order[n++] = d;
  for (int i = 1; i < n; ++i)
    for (int j = i; j > 0 && std::abs(c.in.strides[order[j - 1]]) > std::abs(c.in.strides[order[j]]); --j)
      std::swap(order[j - 1], order[j]);
  auto stride = [](const fc_operand& o, int d) { return o.data ? o.strides[d] : 0; };
  for (int i = 0; i < n; ++i) {
    int d = order[i];
    Axis a{c.shape[d], c.in.strides[d], stride(c.out, d), stride(c.indices, d), stride(c.shift, d)};
    if (a.out != 0 || a.indices != 0) {
      add_axis(p.kept, p.n_kept, a);
      p.results *= a.size;
    } else {
      add_axis(p.reduced, p.n_reduced, a);
      p.terms *= a.size;
    }
  }
  if (p.n_kept == 0) p.kept[p.n_kept++] = {1, 0, 0, 0, 0};
  if (p.n_reduced == 0) p.reduced[p.n_reduced++] = {1, 0, 0, 0, 0};
  return p;
}

// Where the i-th position of axes[1..n) lies.
struct Offsets {
  int64_t in = 0, out = 0, indices = 0, shift = 0;
};
Offsets offsets(const Axis* axes, int n, int64_t i) {
  Offsets o;
  for (int d = 1; d < n; ++d) {
    int64_t k = i % axes[d].size;
    i /= axes[d].size;
    o.in += k * axes[d].in;
    o.out += k * axes[d].out;
    o.indices += k * axes[d].indices;
    o.shift += k * axes[d].shift;
  }
  return o;
}

int levels_for(int64_t blocks) {
  int n = 2;
  while (blocks >>= 1) ++n;
  return n;
}

// Partial results of one tile, combined pairwise in order of arrival.
class Cascade {
 public:
  Cascade(const ReduceKernel& k, char* memory, int64_t slot_bytes, int levels) : k_(k), levels_(levels) {
    for (int i = 0; i <= levels; ++i) slots_[i] = memory + i * slot_bytes;
  }
  char* next() { return slots_[levels_]; }  // write a block's results here, then push
  void push(int64_t m) {
    int level = 0;
    while (count_ >> level & 1) {
      k_.combine(slots_[level], slots_[levels_], m);
      std::swap(slots_[level], slots_[levels_]);
      ++level;
    }
    std::swap(slots_[level], slots_[levels_]);
    ++count_;
  }
  char* total(int64_t m) {
    int level = 0;
    while (!(count_ >> level & 1)) ++level;
    char* sum = slots_[level];
    while (count_ >> ++level)
      if (count_ >> level & 1) {
        k_.combine(slots_[level], sum, m);
        sum = slots_[level];
      }
    count_ = 0;
    return sum;
  }

 private:
  const ReduceKernel& k_;
  int levels_;
  uint64_t count_ = 0;
  char* slots_[66];
};

class Reducer {
 public:
  Reducer(const fc_reduce& c, const ReduceKernel& k, const Plan& p)
      : c_(c), k_(k), p_(p), compute_(static_cast<DType>(c.compute)), in_type_(static_cast<DType>(c.in.dtype)) {
    item_ = static_cast<int64_t>(item_size(compute_));
    partial_ = static_cast<int64_t>(item_size(k.partial));
    to_compute_ = cast_fn(in_type_, compute_);
    const Axis &keep = p.kept[0], &red = p.reduced[0];
    // By columns when results lie side by side in the input.
    columns_ = keep.size > 1 && (red.size == 1 || std::abs(keep.in) < std::abs(red.in));
    if (in_type_ == compute_) rows_ = k.rows;
    else if (compute_ == DType::Float32 && is_reduced(in_type_)) rows_ = kernels().reduce[c.opcode][c.in.dtype].rows;
    packed_ = columns_ ? in_type_ == compute_ && keep.in == item_ : rows_ != nullptr;
    block_ = columns_ ? (packed_ ? kReduceRows : kPackedRows) : kReduceRow;
    // Bytes have only exact folds, so rows may be long; joining their many lanes costs as much as 4096 elements.
    if (packed_ && !columns_ && item_ == 1) block_ *= 16;
    int64_t per_row = columns_ ? 1 : red.size;
    tile_ =
        std::min(keep.size, columns_ ? (packed_ ? 1024 : kPackedColumns) : std::clamp<int64_t>(8192 / per_row, 1, 256));
    if (!packed_ && !columns_) tile_ = 1;
    tiles_per_line_ = (keep.size + tile_ - 1) / tile_;
    tiles_ = p.results / keep.size * tiles_per_line_;
    blocks_per_line_ = (red.size + block_ - 1) / block_;
    blocks_ = p.terms / red.size * blocks_per_line_;
    // Few tiles with many terms: cut the blocks into parts that are whole subtrees.
    part_ = blocks_;
    if (tiles_ < 16 && p.terms * std::min(tile_, p.results) >= 2 * kGrain) {
      part_ = 1;
      while (part_ * 64 < blocks_ || part_ * std::min(block_, red.size) * tile_ < kGrain / 2) part_ *= 2;
    }
    parts_ = (blocks_ + part_ - 1) / part_;
  }

  void run() {
    int64_t slot = tile_ * partial_;
    std::unique_ptr<char[]> partial;
    if (parts_ > 1) partial.reset(new char[static_cast<size_t>(tiles_ * parts_ * slot)]);
    int64_t work = std::max<int64_t>(p_.terms * p_.results / std::max<int64_t>(tiles_ * parts_, 1), 1);
    parallel_for(0, tiles_ * parts_, std::max<int64_t>(kGrain / work, 1), [&](int64_t from, int64_t to) {
      int levels = levels_for(part_);
      Scratch memory((levels + 1) * slot + (packed_ ? 0 : kPackedBytes));
      char* pack = memory.data + (levels + 1) * slot;
      Cascade cascade(k_, memory.data, slot, levels);
      for (int64_t i = from; i < to; ++i) {
        int64_t tile = i / parts_, part = i % parts_;
        int64_t m = tile_size(tile);
        fold(cascade, tile, m, part * part_, std::min((part + 1) * part_, blocks_), pack);
        char* total = cascade.total(m);
        if (parts_ == 1) write(tile, m, total);
        else std::copy_n(total, m * partial_, partial.get() + i * slot);
      }
    });
    if (parts_ == 1) return;
    int levels = levels_for(parts_);
    Scratch memory((levels + 1) * slot);
    Cascade cascade(k_, memory.data, slot, levels);
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      int64_t m = tile_size(tile);
      for (int64_t part = 0; part < parts_; ++part) {
        std::copy_n(partial.get() + (tile * parts_ + part) * slot, m * partial_, cascade.next());
        cascade.push(m);
      }
      write(tile, m, cascade.total(m));
    }
  }

 private:
  static constexpr int64_t kPackedRows = 16, kPackedColumns = 256;
  static constexpr int64_t kPackedBytes = kReduceRow * 16;
  static_assert(kPackedRows * kPackedColumns <= kReduceRow);

  // Small scratch lives on the stack.
  struct Scratch {
    explicit Scratch(int64_t bytes) {
      if (bytes > static_cast<int64_t>(sizeof near)) far.reset(new char[static_cast<size_t>(bytes)]);
      data = far ? far.get() : near;
    }
    char* data;
    std::unique_ptr<char[]> far;
    alignas(64) char near[4096];
  };

  int64_t tile_size(int64_t tile) const { return std::min(tile_, p_.kept[0].size - tile % tiles_per_line_ * tile_); }
  Offsets tile_offsets(int64_t tile) const {
    Offsets o = offsets(p_.kept, p_.n_kept, tile / tiles_per_line_);
    int64_t first = tile % tiles_per_line_ * tile_;
    const Axis& a = p_.kept[0];
    o.in += first * a.in;
    o.out += first * a.out;
    o.indices += first * a.indices;
    o.shift += first * a.shift;
    return o;
  }

  void fold(Cascade& cascade, int64_t tile, int64_t m, int64_t from, int64_t to, char* pack) const {
    Offsets o = tile_offsets(tile);
    const char* in = static_cast<const char*>(c_.in.data) + o.in;
    alignas(64) char shifts[1024 * 8];
    const char* shift = nullptr;
    if (c_.shift.data) {  // side by side for the kernels
      cast_fn(compute_, compute_)(shifts, item_, static_cast<const char*>(c_.shift.data) + o.shift, p_.kept[0].shift,
                                  m);
      shift = shifts;
    }
    const Axis &keep = p_.kept[0], &red = p_.reduced[0];
    for (int64_t b = from; b < to; ++b) {
      int64_t first = b % blocks_per_line_ * block_, n = std::min(block_, red.size - first);
      const char* x = in + first * red.in;
      if (p_.n_reduced > 1) x += offsets(p_.reduced, p_.n_reduced, b / blocks_per_line_).in;
      if (columns_) {
        int64_t row = red.in;
        if (!packed_) {
          for (int64_t i = 0; i < n; ++i) to_compute_(pack + i * m * item_, item_, x + i * red.in, keep.in, m);
          x = pack;
          row = m * item_;
        }
        k_.columns(x, row, n, m, cascade.next(), shift);
      } else if (packed_) {
        rows_(x, keep.in, m, red.in, n, cascade.next(), shift);
      } else {
        to_compute_(pack, item_, x, red.in, n);
        k_.rows(pack, 0, 1, item_, n, cascade.next(), shift);
      }
      cascade.push(m);
    }
  }

  void write(int64_t tile, int64_t m, char* values) const {
    if (k_.finish) k_.finish(values, m, p_.terms);
    cast_fn(k_.partial, static_cast<DType>(c_.out.dtype))(static_cast<char*>(c_.out.data) + tile_offsets(tile).out,
                                                          p_.kept[0].out, values, partial_, m);
  }

  const fc_reduce& c_;
  const ReduceKernel& k_;
  const Plan& p_;
  DType compute_, in_type_;
  CastFn to_compute_;
  decltype(ReduceKernel::rows) rows_ = nullptr;  // for rows as they are stored
  int64_t item_, partial_, block_, tile_, tiles_per_line_, tiles_, blocks_per_line_, blocks_, part_, parts_;
  bool columns_, packed_;
};

// Extremes with positions. One reduced axis: positions along it are the indices.
void run_arg(const fc_reduce& c, const ArgReduceKernel& k, const Plan& p) {
  FC_CHECK(p.n_reduced == 1, "reduce: indices are only defined along one dimension");
  DType compute = static_cast<DType>(c.compute), in_type = static_cast<DType>(c.in.dtype);
  const Axis &keep = p.kept[0], &red = p.reduced[0];
  const int64_t item = static_cast<int64_t>(item_size(compute));
  CastFn to_compute = cast_fn(in_type, compute),
         from_index = cast_fn(DType::Int64, static_cast<DType>(c.indices.dtype));
  const bool columns = keep.size > 1 && (red.size == 1 || std::abs(keep.in) < std::abs(red.in));
  const bool packed = in_type == compute && (!columns || keep.in == item);
  const int64_t tile = columns ? std::min<int64_t>(keep.size, 256) : 1;
  const int64_t tiles_per_line = (keep.size + tile - 1) / tile, tiles = p.results / keep.size * tiles_per_line;
  // A long row with few others beside it is cut into parts.
  const int64_t part = tiles < 16 ? 65536 / tile : red.size, parts = (red.size + part - 1) / part;
  struct Best {
    alignas(16) char values[256 * 8];
    int64_t index[256];
  };
  std::unique_ptr<Best[]> partial;
  if (parts > 1) partial.reset(new Best[static_cast<size_t>(tiles * parts)]);

  auto fold = [&](const char* in, int64_t m, int64_t from, int64_t to, Best& best) {
    alignas(64) char pack[4096 * 8];
    const int64_t step = packed ? to - from : 4096 / m;
    for (int64_t i = from; i < to; i += step) {
      int64_t n = std::min(step, to - i);
      const char* x = in + i * red.in;
      int64_t stride = red.in;
      if (!packed) {
        if (columns)
          for (int64_t r = 0; r < n; ++r) to_compute(pack + r * m * item, item, x + r * red.in, keep.in, m);
        else to_compute(pack, item, x, red.in, n);
        x = pack;
        stride = columns ? m * item : item;
      }
      if (columns) k.columns(x, stride, n, m, i - from, best.values, best.index);
      else k.row(x, stride, n, i - from, best.values, best.index);
    }
    for (int64_t j = 0; j < m; ++j) best.index[j] += from;
  };
  auto position = [&](int64_t t, int64_t& m) {
    Offsets o = offsets(p.kept, p.n_kept, t / tiles_per_line);
    int64_t first = t % tiles_per_line * tile;
    m = std::min(tile, keep.size - first);
    o.in += first * keep.in;
    o.out += first * keep.out;
    o.indices += first * keep.indices;
    return o;
  };
  auto write = [&](const Offsets& o, int64_t m, const Best& best) {
    if (c.out.data)
      cast_fn(compute, static_cast<DType>(c.out.dtype))(static_cast<char*>(c.out.data) + o.out, keep.out, best.values,
                                                        item, m);
    from_index(static_cast<char*>(c.indices.data) + o.indices, keep.indices, reinterpret_cast<const char*>(best.index),
               8, m);
  };
  const int64_t work = std::max<int64_t>(p.terms * p.results / std::max<int64_t>(tiles * parts, 1), 1);
  // Following an index takes four times as long as folding.
  parallel_for(0, tiles * parts, std::max<int64_t>(kGrain / 4 / work, 1), [&](int64_t from, int64_t to) {
    Best here;
    for (int64_t i = from; i < to; ++i) {
      int64_t m;
      Offsets o = position(i / parts, m);
      int64_t first = i % parts * part;
      Best& best = parts > 1 ? partial[static_cast<size_t>(i)] : here;
      fold(static_cast<const char*>(c.in.data) + o.in, m, first, std::min(first + part, red.size), best);
      if (parts == 1) write(o, m, best);
    }
  });
  for (int64_t t = 0; parts > 1 && t < tiles; ++t) {
    int64_t m;
    Offsets o = position(t, m);
    Best& best = partial[static_cast<size_t>(t * parts)];
    for (int64_t i = 1; i < parts; ++i) {
      const Best& later = partial[static_cast<size_t>(t * parts + i)];
      k.combine(best.values, best.index, later.values, later.index, m);
    }
    write(o, m, best);
  }
}

}  // namespace

void reduce(void*, Device, const fc_reduce& c) {
  Plan plan = make_plan(c);
  if (plan.results == 0) return;
  auto check = [&](bool found) {
    FC_CHECK_AS(NotImplementedError, found, "\"", reduce_opcode(c.opcode).name, "_cpu\" not implemented for '",
                info(static_cast<DType>(c.compute)).legacy, "'");
  };
  if (c.indices.data) {
    bool min = c.opcode == FC_REDUCE_min || c.opcode == FC_REDUCE_argmin;
    const ArgReduceKernel& k = kernels().arg_reduce[min][c.compute];
    check(k.row);
    run_arg(c, k, plan);
    return;
  }
  const ReduceKernel& k = kernels().reduce[c.opcode][c.compute];
  check(k.rows);
  Reducer(c, k, plan).run();
}

}  // namespace fc::cpu
