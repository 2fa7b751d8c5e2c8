// SPDX-License-Identifier: Apache-2.0
// einsum and tensordot: sums of products over named dimensions, as permutations and one batched matrix product per
// pair of operands, from left to right.
#include <algorithm>

#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

constexpr int kLabels = 52, kEllipsis = 52;  // A-Z, then a-z: the order in which implicit outputs are sorted

int label_of(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1; }
char letter_of(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26); }

using Subscript = std::vector<uint8_t>;

struct Equation {
  std::vector<Subscript> inputs;
  Subscript output;
  bool explicit_output = false;
};

Equation parse(std::string_view text) {
  Equation e;
  e.inputs.emplace_back();
  bool ellipsis = false;  // in the operand being read
  for (size_t i = 0; i < text.size(); ++i) {
    Subscript& now = e.explicit_output ? e.output : e.inputs.back();
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      std::string where = e.explicit_output ? "output" : str("operand ", e.inputs.size() - 1);
      FC_CHECK(!ellipsis, "einsum(): found '.' for ", where, " for which an ellipsis was already found");
      FC_CHECK(text.substr(i, 3) == "...", "einsum(): found '.' for ", where, " that is not part of any ellipsis");
      now.push_back(kEllipsis);
      ellipsis = true;
      i += 2;
    } else if (c == ',' && !e.explicit_output) {
      e.inputs.emplace_back();
      ellipsis = false;
    } else if (c == '-' && !e.explicit_output && text.substr(i, 2) == "->") {
      e.explicit_output = true;
      ellipsis = false;
      ++i;
    } else {
      const int label = label_of(c);
      FC_CHECK(label >= 0, "einsum(): invalid subscript given at index ", i,
               " in the equation string, subscripts must be in [a-zA-Z]");
      now.push_back(static_cast<uint8_t>(label));
    }
  }
  return e;
}

// Products of a and b, which have one rank and broadcast; the dimensions in `contract` (where both have a size) are
// summed and stay with size 1.
Tensor sum_product(const Tensor& a, const Tensor& b, const std::vector<bool>& contract) {
  const int64_t rank = a.dim();
  Dims batch, left, right, inner;
  for (int64_t d = 0; d < rank; ++d) {
    if (contract[static_cast<size_t>(d)]) inner.push_back(d);
    else if (b.size(d) == 1) left.push_back(d);
    else if (a.size(d) == 1) right.push_back(d);
    else batch.push_back(d);
  }
  if (inner.empty()) return mul(a, b);
  auto join = [](std::initializer_list<const Dims*> parts) {
    Dims all;
    for (const Dims* p : parts)
      for (int64_t d : *p) all.push_back(d);
    return all;
  };
  auto count = [](const Tensor& t, const Dims& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= t.size(d);
    return n;
  };
  Tensor x = reshape(permute(a, join({&batch, &left, &inner, &right})),
                     Dims{count(a, batch), count(a, left), count(a, inner)});
  Tensor y = reshape(permute(b, join({&batch, &inner, &right, &left})),
                     Dims{count(b, batch), count(b, inner), count(b, right)});
  Tensor product = bmm(x, y);
  Dims order = join({&batch, &left, &right, &inner}), shape, back(static_cast<size_t>(rank));
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t d = order[i];
    const int64_t size = a.size(d) == 1 ? b.size(d) : a.size(d);
    shape.push_back(contract[static_cast<size_t>(d)] ? 1 : size);
    back[static_cast<size_t>(d)] = static_cast<int64_t>(i);
  }
  return permute(reshape(product, shape), back);
}

Tensor einsum(std::string_view text, TensorSpan operands, std::optional<IntSpan>) {
  FC_CHECK(!operands.empty(), "einsum(): must provide at least one operand");
  const Equation e = parse(text);
  FC_CHECK(e.inputs.size() >= operands.size(), "einsum(): more operands were provided than specified in the equation");
  FC_CHECK(e.inputs.size() <= operands.size(), "einsum(): fewer operands were provided than specified in the equation");

  // --- sizes of labels, and how many dimensions the ellipsis stands for
  int seen[kLabels] = {};
  int64_t ellipsis_rank = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto labels = static_cast<int64_t>(e.inputs[i].size());
    const bool dots = std::find(e.inputs[i].begin(), e.inputs[i].end(), kEllipsis) != e.inputs[i].end();
    const int64_t rank = operands[i].dim();
    FC_CHECK(dots ? labels - 1 <= rank : labels == rank, "einsum(): the number of subscripts in the equation (",
             dots ? labels - 1 : labels,
             dots ? ") is more than the number of dimensions (" : ") does not match the number of dimensions (", rank,
             ") for operand ", i, dots ? "" : " and no ellipsis was given");
    if (dots) ellipsis_rank = std::max(ellipsis_rank, rank - labels + 1);
    for (uint8_t l : e.inputs[i])
      if (l != kEllipsis) ++seen[l];
  }

  // --- where each label goes: first the output's dimensions, then the summed ones
  int64_t position[kLabels], ellipsis_position = -1, rank = 0;
  std::fill(position, position + kLabels, -1);
  if (e.explicit_output) {
    for (uint8_t l : e.output) {
      if (l == kEllipsis) {
        ellipsis_position = rank;
        rank += ellipsis_rank;
        continue;
      }
      FC_CHECK(position[l] < 0, "einsum(): output subscript ", letter_of(l), " appears more than once in the output");
      FC_CHECK(seen[l] > 0, "einsum(): output subscript ", letter_of(l),
               " does not appear in the equation for any input operand");
      position[l] = rank++;
    }
  } else {
    ellipsis_position = 0;
    rank = ellipsis_rank;
    for (int l = 0; l < kLabels; ++l)
      if (seen[l] == 1) position[l] = rank++;
  }
  const int64_t output_rank = rank;
  if (ellipsis_position < 0) {
    ellipsis_position = rank;
    rank += ellipsis_rank;
  }
  for (int l = 0; l < kLabels; ++l)
    if (seen[l] && position[l] < 0) position[l] = rank++;
  FC_CHECK(rank <= static_cast<int64_t>(kMaxRank), "einsum(): ", rank, " dimensions are more than ", kMaxRank);

  // --- bring every operand to that rank: repeated labels to diagonals, missing ones to size 1
  std::vector<Tensor> ready;
  Dims sizes(static_cast<size_t>(rank), 1);
  for (size_t i = 0; i < operands.size(); ++i) {
    Tensor t = operands[i];
    std::vector<int64_t> at;  // position of each dimension of t
    auto take = [&](int64_t where, int64_t dim, const char* text_of, char letter) {
      auto again = std::find(at.begin(), at.end(), where);
      const int64_t n = t.size(dim);
      if (again != at.end()) {
        const int64_t other = again - at.begin();
        FC_CHECK(t.size(other) == n, "einsum(): subscript ", letter, " is repeated for operand ", i,
                 " but the sizes don't match, ", n, " != ", t.size(other));
        t = call<"aten::movedim.int", Tensor>(call<"aten::diagonal", Tensor>(t, 0, other, dim), -1, other);
        return false;
      }
      int64_t& known = sizes[static_cast<size_t>(where)];
      FC_CHECK(known == n || known == 1 || n == 1, "einsum(): ", text_of,
               letter ? str(" ", letter) : str(" ", where - ellipsis_position, " covered by ellipsis"), " has size ", n,
               " for operand ", i, " which does not broadcast with previously seen size ", known);
      if (known == 1) known = n;
      at.push_back(where);
      return true;
    };
    int64_t dim = 0;
    for (uint8_t l : e.inputs[i]) {
      if (l == kEllipsis) {
        const int64_t here = operands[i].dim() - static_cast<int64_t>(e.inputs[i].size()) + 1;
        for (int64_t k = 0; k < here; ++k, ++dim)
          take(ellipsis_position + ellipsis_rank - here + k, dim, "dimension", 0);
      } else if (take(position[l], dim, "subscript", letter_of(l))) {
        ++dim;
      }
    }
    Dims order, shape;
    for (int64_t p = 0; p < rank; ++p) {
      auto found = std::find(at.begin(), at.end(), p);
      if (found != at.end()) order.push_back(found - at.begin());
    }
    t = permute(t, order);
    for (int64_t p = 0; p < rank; ++p)
      if (std::find(at.begin(), at.end(), p) == at.end()) t = unsqueeze(t, p);
    ready.push_back(std::move(t));
  }

  // --- contract; a summed dimension goes as soon as no later operand has it
  auto last_with = [&](int64_t d) {
    size_t last = 0;
    for (size_t i = 0; i < ready.size(); ++i)
      if (ready[i].size(d) != 1) last = i;
    return last;
  };
  Tensor out = ready[0];
  for (size_t i = 0; i < ready.size(); ++i) {
    Dims alone, alone_next;
    std::vector<bool> contract(static_cast<size_t>(rank), false);
    Tensor next = ready[i];
    for (int64_t d = output_rank; d < rank; ++d) {
      if (last_with(d) != i) continue;
      if (i == 0 || next.size(d) == 1) alone.push_back(d);
      else if (out.size(d) == 1) alone_next.push_back(d);
      else contract[static_cast<size_t>(d)] = true;
    }
    if (!alone.empty()) out = sum(out, alone, true);
    if (i == 0) continue;
    if (!alone_next.empty()) next = sum(next, alone_next, true);
    out = sum_product(out, next, contract);
  }
  return output_rank == rank ? out : reshape(out, out.sizes().first(static_cast<size_t>(output_rank)));
}

Tensor tensordot(const Tensor& a, const Tensor& b, IntSpan dims_a, IntSpan dims_b) {
  FC_CHECK(dims_a.size() == dims_b.size(), "tensordot: both dimension lists should have same length, got ",
           dims_a.size(), " and ", dims_b.size());
  FC_CHECK(a.dtype() == b.dtype(), "tensordot: both inputs should have same dtype, got ", a.dtype(), " and ",
           b.dtype());
  Tensor x = a, y = b;
  Dims da, db;
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const int64_t p = wrap_dim(dims_a[i], a.dim(), "tensordot"), q = wrap_dim(dims_b[i], b.dim(), "tensordot");
    FC_CHECK(std::find(da.begin(), da.end(), p) == da.end() && std::find(db.begin(), db.end(), q) == db.end(),
             "tensordot: dim ", p, " or ", q, " appears multiple times in the list of dims");
    da.push_back(p);
    db.push_back(q);
    const Dims at_p{p}, at_q{q};
    if (y.size(q) == 1) x = sum(x, at_p, true);
    else if (x.size(p) == 1) y = sum(y, at_q, true);
    else
      FC_CHECK(x.size(p) == y.size(q), "tensordot: contracted dimensions need to match, but first has size ", x.size(p),
               " in dim ", dims_a[i], " and second has size ", y.size(q), " in dim ", dims_b[i]);
  }
  auto rest = [](const Tensor& t, const Dims& used) {
    Dims free;
    for (int64_t d = 0; d < t.dim(); ++d)
      if (std::find(used.begin(), used.end(), d) == used.end()) free.push_back(d);
    return free;
  };
  Dims fa = rest(x, da), fb = rest(y, db), shape, order_a = fa, order_b = db;
  int64_t m = 1, n = 1, k = 1;
  for (int64_t d : fa) shape.push_back(x.size(d)), m *= x.size(d);
  for (int64_t d : fb) shape.push_back(y.size(d)), n *= y.size(d);
  for (int64_t d : da) order_a.push_back(d), k *= x.size(d);
  for (int64_t d : fb) order_b.push_back(d);
  return reshape(mm(reshape(permute(x, order_a), Dims{m, k}), reshape(permute(y, order_b), Dims{k, n})), shape);
}

constexpr OpDef defs[] = {
    {.schema = "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
     .doc = "Sums of products of tensors, by index letters: 'ij,jk->ik' is a matrix product.",
     .composite = kernel<&einsum>()},
    {.schema = "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
     .doc = "Sums of products over the given dimensions of both tensors.",
     .composite = kernel<&tensordot>(),
     .out = true},
};

}  // namespace

void define_einsum() { define_all(defs); }

}  // namespace fc
