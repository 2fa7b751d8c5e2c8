// SPDX-License-Identifier: Apache-2.0
// A rule is a function of types, shapes, strides and numbers, so its answers are kept per thread: running it takes
// tensors on the meta device, a lookup does not. What is long, or changes the size of an out= tensor, is not kept.
#include "backends/plugin/shape_rules.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>

#include "core/error.h"
#include "dispatch/infer.h"

namespace fc::plugin {
namespace {

constexpr size_t kKeyWords = 48, kEntries = 64, kResults = 4, kRank = 6;

class Key {
 public:
  Key(const Operator& op, const Arg* args) {
    add(reinterpret_cast<uint64_t>(&op));
    add(static_cast<uint64_t>(default_dtype()));
    for (size_t i = 0; i < op.num_args(); ++i) add(args[i]);
  }
  bool whole() const { return whole_; }
  size_t hash() const {
    uint64_t h = n_;
    for (size_t i = 0; i < n_; ++i) h = (h ^ words_[i]) * 0x9E3779B97F4A7C15u, h ^= h >> 32;
    return h;
  }
  friend bool operator==(const Key& a, const Key& b) {
    return a.n_ == b.n_ && std::memcmp(a.words_, b.words_, a.n_ * sizeof(uint64_t)) == 0;
  }

 private:
  void add(uint64_t word) {
    if (n_ < kKeyWords) words_[n_++] = word;
    else whole_ = false;
  }
  void add(const Tensor& t) {
    if (!t.defined()) return add(~uint64_t{0});
    add(t.sizes().size() << 16 | static_cast<uint64_t>(static_cast<uint8_t>(t.dtype())) << 8 |
        t.impl().is_wrapped_number());
    for (int64_t v : t.sizes()) add(static_cast<uint64_t>(v));
    for (int64_t v : t.strides()) add(static_cast<uint64_t>(v));
  }
  void add(const Arg& a) {
    auto head = [&](size_t n) { add(n << 8 | static_cast<uint64_t>(a.tag())); };
    switch (a.tag()) {
      case Tag::None:
      case Tag::Device:     // results are made on the call's device
      case Tag::Generator:  // of what is drawn the shape says nothing
        return head(0);
      case Tag::Layout: head(0); return add(static_cast<uint64_t>(a.layout()));
      case Tag::MemoryFormat: head(0); return add(static_cast<uint64_t>(a.memory_format()));
      case Tag::DType: head(0); return add(static_cast<uint64_t>(a.dtype()));
      case Tag::Bool: head(0); return add(uint64_t{a.boolean()});
      case Tag::Int: head(0); return add(static_cast<uint64_t>(a.integer()));
      case Tag::Double: head(0); return add(std::bit_cast<uint64_t>(a.real()));
      case Tag::Scalar: {
        const Scalar s = a.scalar();
        head(static_cast<size_t>(s.kind()));
        add(std::bit_cast<uint64_t>(s.to_complex().re));
        add(std::bit_cast<uint64_t>(s.to_complex().im));
        return add(s.is_integral(true) ? static_cast<uint64_t>(s.bits()) : 0);
      }
      case Tag::Tensor: head(0); return add(a.tensor());
      case Tag::TensorList:
        head(a.tensors().size());
        for (const Tensor& t : a.tensors()) add(t);
        return;
      case Tag::IntList:
        head(a.ints().size());
        for (int64_t v : a.ints()) add(static_cast<uint64_t>(v));
        return;
      case Tag::BoolList:
        head(a.bools().size());
        for (bool v : a.bools()) add(uint64_t{v});
        return;
      case Tag::DoubleList:
        head(a.doubles().size());
        for (double v : a.doubles()) add(std::bit_cast<uint64_t>(v));
        return;
      case Tag::String:
        head(a.text().size());
        for (char letter : a.text()) add(static_cast<uint64_t>(static_cast<unsigned char>(letter)));
        return;
      default: whole_ = false;
    }
  }

  uint64_t words_[kKeyWords];
  size_t n_ = 0;
  bool whole_ = true;
};

struct Geometry {
  int8_t rank = -1;  // -1: absent
  bool contiguous = false;
  DType dtype = DType::Undefined;
  int64_t sizes[kRank], strides[kRank];
};
struct Answer {
  Geometry results[kResults];
  uint64_t unknown = 0;
};
struct Entry {
  std::optional<Key> key;
  const void* rule = nullptr;  // what was asked: a program may bring another
  Answer answer;
};
thread_local std::unique_ptr<Entry[]> entries;

// By the schema a written argument, a view, or something new.
enum class Origin : uint8_t { Argument, View, New };
Origin origin_of(const Operator& op, size_t r) {
  const Alias& alias = op.schema().returns[r].alias;
  return !alias.set && !alias.all ? Origin::New : alias.write ? Origin::Argument : Origin::View;
}

// What is written gets the size that the rule gave it.
struct ResizeArguments final : Resized {
  explicit ResizeArguments(const Arg* args) : args(args) {}
  const Arg* args;
  bool any = false;
  void argument(size_t i, IntSpan sizes) override {
    resize_tensor(args[i].tensor(), sizes);
    any = true;
  }
};

}  // namespace

uint64_t prepare_results(const Operator& op, Device device, const Arg* args, Value* results) {
  const size_t n = op.num_results();
  uint64_t unmade = 0;
  auto fill = [&](auto&& make_new, uint64_t unknown) {
    for (size_t r = 0; r < n; ++r) {
      const Parameter& returned = op.schema().returns[r];
      if (returned.type.kind != Kind::Tensor) results[r] = Value();
      else switch (origin_of(op, r)) {
          case Origin::Argument: results[r] = Value(args[op.schema().find_alias(returned.alias.set)]); break;
          case Origin::View:
            results[r] = Value();
            unmade |= uint64_t{1} << r;
            break;
          case Origin::New:
            if (unknown >> r & 1) {
              results[r] = Value();
              unmade |= uint64_t{1} << r;
            } else make_new(r);
        }
    }
  };
  const Key key(op, args);
  Entry* entry = nullptr;
  if (key.whole()) {
    if (!entries) entries = std::make_unique<Entry[]>(kEntries);
    entry = &entries[key.hash() % kEntries];
    if (entry->key && *entry->key == key && entry->rule == op.kernel(Device::Meta).context) {
      const Answer& known = entry->answer;
      fill(
          [&](size_t r) {
            const Geometry& g = known.results[r];
            const auto rank = static_cast<size_t>(g.rank);
            results[r] = g.rank < 0 ? Value()
                         : g.contiguous
                             ? Value(empty_tensor({g.sizes, rank}, g.dtype, device))
                             : Value(empty_strided_tensor({g.sizes, rank}, {g.strides, rank}, g.dtype, device));
          },
          known.unknown);
      return unmade;
    }
  }
  ResizeArguments resized(args);
  Answer fresh;
  bool keep = entry && n <= kResults;
  bool asked = op.is_out;  // a rule says nothing of numbers, views and arguments that keep their size
  for (size_t r = 0; r < n; ++r)
    asked |= op.schema().returns[r].type.kind == Kind::Tensor && origin_of(op, r) == Origin::New;
  if (asked && !infer_results(op, args, results, &resized)) fresh.unknown = ~uint64_t{0};
  auto note = [&](size_t r, const Tensor& t) {
    if (!keep || !t.defined()) return;
    if (t.sizes().size() > kRank) {
      keep = false;
      return;
    }
    Geometry& g = fresh.results[r];
    g.rank = static_cast<int8_t>(t.sizes().size());
    g.contiguous = t.is_contiguous();
    g.dtype = t.dtype();
    std::copy(t.sizes().begin(), t.sizes().end(), g.sizes);
    std::copy(t.strides().begin(), t.strides().end(), g.strides);
  };
  auto here = [&](const Tensor& t) {
    return t.defined() ? empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), device) : Tensor();
  };
  fill(
      [&](size_t r) {
        if (results[r].tag() == Tag::TensorList) {
          keep = false;
          std::vector<Tensor> list = results[r].take_tensors();
          for (Tensor& t : list) t = here(t);
          results[r] = Value(std::move(list));
          return;
        }
        note(r, results[r].tensor());
        results[r] = results[r].tensor().defined() ? Value(here(results[r].tensor())) : Value();
      },
      fresh.unknown);
  if (keep && !resized.any) *entry = {key, op.kernel(Device::Meta).context, fresh};
  return unmade;
}

}  // namespace fc::plugin
