// SPDX-License-Identifier: Apache-2.0
// Operators on lists. A list is shared: those that change it change what every holder sees.
#include <algorithm>
#include <cmath>

#include "core/type.h"
#include "jit/ops/script_ops.h"

namespace fc::jit {
namespace {

#define KERNEL(name) void name(void*, const Operator&, [[maybe_unused]] const Arg* a, [[maybe_unused]] fc::Value* r)
#define ITEMS(v) visit_list(v, [&](auto & items)

template <class T>
using ItemOf = std::remove_cvref_t<decltype(std::declval<T&>()[0])>;

// A value as an item of that list.
template <class List>
ItemOf<List> item_from(const Arg& a) {
  using T = ItemOf<List>;
  if constexpr (std::is_same_v<T, int64_t>) return a.integer();
  else if constexpr (std::is_same_v<T, double>) return a.real();
  else if constexpr (std::is_same_v<T, bool>) return a.boolean();
  else if constexpr (std::is_same_v<T, Scalar>) return a.scalar();
  else if constexpr (std::is_same_v<T, Tensor>) return a.tensor();
  else return value_of(a);
}
template <class T>
bool same_item(const T& x, const T& y) {
  if constexpr (std::is_same_v<T, Tensor>) return x.same(y);
  else if constexpr (std::is_same_v<T, Scalar> || std::is_same_v<T, fc::Value>)
    return equal(fc::Value(x), fc::Value(y));
  else return x == y;
}

template <class List>
fc::Value same_kind(const fc::Value& like, List items) {  // a new list of the same type
  if constexpr (std::is_same_v<List, std::vector<fc::Value>>)
    return fc::Value(Tag::List, make_ref<ListBox>(list_of(like).item, std::move(items)));
  else return fc::Value(like.tag(), make_ref<Box<List>>(std::move(items)));
}
template <class List>
void insert_at(List& items, size_t at, ItemOf<List> v) {
  if constexpr (std::is_same_v<List, Dims>) items.insert(at, v);
  else items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), std::move(v));
}
template <class List>
void erase_at(List& items, size_t at) {
  if constexpr (std::is_same_v<List, Dims>) {
    items.erase(at);
  } else {
    [[maybe_unused]] auto gone = std::move(items[at]);  // freed when the list is whole again
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  }
}
template <class List>
void extend_by(List& items, const fc::Value& other) {
  visit_list(other, [&](auto& more) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(more)>, List>) {
      const size_t n = more.size();  // it may be the list itself
      for (size_t i = 0; i < n; ++i) {
        auto v = more[i];
        items.push_back(std::move(v));
      }
    } else {
      FC_CHECK(more.size() == 0, "a list of other items cannot be added");
    }
  });
}

KERNEL(append) {
  ITEMS(held(a[0])) { items.push_back(item_from<std::remove_cvref_t<decltype(items)>>(a[1])); });
  r[0] = held(a[0]);
}
KERNEL(insert) {
  ITEMS(held(a[0])) {
    const auto n = static_cast<int64_t>(items.size());
    const int64_t i = a[1].integer();
    insert_at(items, static_cast<size_t>(std::clamp<int64_t>(i < 0 ? i + n : i, 0, n)),
              item_from<std::remove_cvref_t<decltype(items)>>(a[2]));
  });
}
KERNEL(get) {
  ITEMS(held(a[0])) {
    r[0] = fc::Value(items[static_cast<size_t>(place(a[1].integer(), items.size(), "list index out of range"))]);
  });
}
KERNEL(set) {
  ITEMS(held(a[0])) {
    auto v = item_from<std::remove_cvref_t<decltype(items)>>(a[2]);
    std::swap(items[static_cast<size_t>(place(a[1].integer(), items.size(), "list index out of range"))], v);
  });
  r[0] = held(a[0]);
}
KERNEL(remove_at) {
  ITEMS(held(a[0])) {
    erase_at(items, static_cast<size_t>(place(a[1].integer(), items.size(), "list index out of range")));
  });
}
KERNEL(pop) {
  ITEMS(held(a[0])) {
    FC_CHECK_AS(IndexError, items.size() > 0, "pop from empty list");
    const auto at = static_cast<size_t>(place(a[1].integer(), items.size(), "list index out of range"));
    r[0] = fc::Value(items[at]);
    erase_at(items, at);
  });
}
KERNEL(clear) {
  ITEMS(held(a[0])) {
    std::remove_cvref_t<decltype(items)> before;
    std::swap(before, items);
  });
}
KERNEL(extend) {
  ITEMS(held(a[0])) { extend_by(items, held(a[1])); });
}
KERNEL(add_in_place) {
  ITEMS(held(a[0])) { extend_by(items, held(a[1])); });
  r[0] = held(a[0]);
}
KERNEL(concatenate) {
  ITEMS(held(a[0])) {
    auto out = items;
    extend_by(out, held(a[1]));
    r[0] = same_kind(held(a[0]), std::move(out));
  });
}
template <class List>
void repeat(List& items, int64_t times) {
  const size_t n = items.size();
  FC_CHECK(times <= 0 || n == 0 || static_cast<uint64_t>(times) < (uint64_t{1} << 40) / n, "a list of ", n, " items ",
           times, " times");
  for (int64_t k = 1; k < times; ++k)
    for (size_t i = 0; i < n; ++i) {
      auto v = items[i];
      items.push_back(std::move(v));
    }
  if (times <= 0) items = List();
}
void repeated(const fc::Value& list, int64_t times, fc::Value& to) {
  ITEMS(list) {
    auto out = items;
    repeat(out, times);
    to = same_kind(list, std::move(out));
  });
}
KERNEL(times) { repeated(held(a[0]), a[1].integer(), r[0]); }
KERNEL(times_left) { repeated(held(a[1]), a[0].integer(), r[0]); }
KERNEL(times_in_place) {
  ITEMS(held(a[0])) { repeat(items, a[1].integer()); });
  r[0] = held(a[0]);
}
KERNEL(copy) {
  ITEMS(held(a[0])) { r[0] = same_kind(held(a[0]), items); });
}
KERNEL(slice) {
  ITEMS(held(a[0])) {
    const Slice s = slice_of(static_cast<int64_t>(items.size()), a[1], a[2], a[3]);
    std::remove_cvref_t<decltype(items)> out;
    for (int64_t k = 0; k < s.count; ++k) {
      auto v = items[static_cast<size_t>(s.start + k * s.step)];
      out.push_back(std::move(v));
    }
    r[0] = same_kind(held(a[0]), std::move(out));
  });
}
KERNEL(reverse) {
  ITEMS(held(a[0])) { std::reverse(items.begin(), items.end()); });
}
KERNEL(length) {
  ITEMS(held(a[0])) { r[0] = static_cast<int64_t>(items.size()); });
}
KERNEL(equal_lists) { r[0] = equal(held(a[0]), held(a[1])); }
KERNEL(unequal_lists) { r[0] = !equal(held(a[0]), held(a[1])); }

size_t find_in(const Arg* a) {
  return ITEMS(held(a[0])) {
    const auto v = item_from<std::remove_cvref_t<decltype(items)>>(a[1]);
    for (size_t i = 0; i < items.size(); ++i)
      if (same_item<ItemOf<std::remove_cvref_t<decltype(items)>>>(items[i], v)) return i;
    return SIZE_MAX;
  });
}
KERNEL(contains) { r[0] = find_in(a) != SIZE_MAX; }
KERNEL(index) {
  const size_t at = find_in(a);
  FC_CHECK_AS(ValueError, at != SIZE_MAX, "'", to_string(value_of(a[1])), "' is not in list");
  r[0] = static_cast<int64_t>(at);
}
KERNEL(remove) {
  const size_t at = find_in(a);
  FC_CHECK_AS(ValueError, at != SIZE_MAX, "list.remove(x): x not in list");
  ITEMS(held(a[0])) { erase_at(items, at); });
}
KERNEL(count) {
  ITEMS(held(a[0])) {
    const auto v = item_from<std::remove_cvref_t<decltype(items)>>(a[1]);
    int64_t n = 0;
    for (size_t i = 0; i < items.size(); ++i) n += same_item<ItemOf<std::remove_cvref_t<decltype(items)>>>(items[i], v);
    r[0] = n;
  });
}

// Of ints, floats, bools and strings.
bool item_less(const fc::Value& x, const fc::Value& y) {
  if (x.tag() == Tag::String && y.tag() == Tag::String) return x.arg().text() < y.arg().text();
  return x.arg().real() < y.arg().real();
}
template <class List>
void sort_items(List& items, bool descending) {
  auto less = [](const auto& x, const auto& y) {
    using T = std::remove_cvref_t<decltype(x)>;
    if constexpr (std::is_same_v<T, double>) return x < y || (std::isnan(y) && !std::isnan(x));
    else if constexpr (std::is_same_v<T, fc::Value>) return item_less(x, y);
    else if constexpr (std::is_arithmetic_v<T>) return x < y;
    else {
      raise<Error>("a list of such items cannot be sorted");
      return false;
    }
  };
  if (descending)
    std::stable_sort(items.begin(), items.end(), [&](const auto& x, const auto& y) { return less(y, x); });
  else std::stable_sort(items.begin(), items.end(), less);
}
KERNEL(sort) {
  ITEMS(held(a[0])) { sort_items(items, a[1].boolean()); });
}
KERNEL(sorted) {
  ITEMS(held(a[0])) {
    auto out = items;
    sort_items(out, false);
    r[0] = same_kind(held(a[0]), std::move(out));
  });
}

template <class F>
fc::Value fold(const Arg* a, F&& f) {
  const fc::Value& list = held(a[0]);
  if (list.tag() == Tag::IntList) return f(content<Dims>(list));
  if (list.tag() == Tag::DoubleList) return f(content<std::vector<double>>(list));
  return f(content<std::basic_string<bool>>(list));
}
KERNEL(sum) {
  r[0] = fold(a, [](auto& items) {
    if constexpr (std::is_same_v<ItemOf<std::remove_cvref_t<decltype(items)>>, double>) {
      double total = 0;
      for (const double v : items) total += v;
      return fc::Value(total);
    } else {
      uint64_t total = 0;
      for (const auto v : items) total += static_cast<uint64_t>(v);
      return fc::Value(static_cast<int64_t>(total));
    }
  });
}
KERNEL(any) {
  r[0] = fold(
      a, [](auto& items) { return fc::Value(std::any_of(items.begin(), items.end(), [](auto v) { return v != 0; })); });
}
KERNEL(all) {
  r[0] = fold(
      a, [](auto& items) { return fc::Value(std::all_of(items.begin(), items.end(), [](auto v) { return v != 0; })); });
}
template <bool largest>
KERNEL(extreme) {
  r[0] = fold(a, [](auto& items) {
    FC_CHECK_AS(ValueError, items.size() > 0, largest ? "max" : "min", "() arg is an empty sequence");
    return fc::Value(largest ? *std::max_element(items.begin(), items.end())
                             : *std::min_element(items.begin(), items.end()));
  });
}
template <bool largest>
KERNEL(extreme_list) {
  const fc::Value &x = held(a[0]), &y = held(a[1]);
  const bool second = fold(a,
                           [&](auto& items) {
                             auto& other = content<std::remove_cvref_t<decltype(items)>>(y);
                             const bool less =
                                 std::lexicographical_compare(items.begin(), items.end(), other.begin(), other.end());
                             return fc::Value(largest ? less : !less);
                           })
                          .arg()
                          .boolean();
  r[0] = second ? y : x;
}
KERNEL(rangelist) {
  const int64_t n = a[0].integer();
  FC_CHECK(n < int64_t{1} << 32, "a list of ", n, " numbers");
  Dims out;
  for (int64_t i = 0; i < n; ++i) out.push_back(i);
  r[0] = fc::Value(IntSpan(out));
}
KERNEL(copy_sizes) { r[0] = held(a[0]); }
KERNEL(size_if_not_equal) {
  if (!equal(held(a[0]), held(a[1]))) r[0] = held(a[0]);
}
#undef ITEMS

constexpr ScriptRow rows[] = {
    {"aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", append},
    {"aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()", insert},
    {"aten::__getitem__.t(t[](a) list, int idx) -> t(*)", get},
    {"aten::select.t(t[](a) list, int idx) -> t(*)", get},
    {"aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)", set},
    {"aten::Delete.t(t[](a!) self, int idx) -> ()", remove_at},
    {"aten::pop.t(t[](a!) self, int idx=-1) -> t(*)", pop},
    {"aten::clear.t(t[](a!) self) -> ()", clear},
    {"aten::extend.t(t[](a!) self, t[] other) -> ()", extend},
    {"aten::add_.t(t[](a!) self, t[] b) -> t[]", add_in_place},
    {"aten::add.t(t[] a, t[] b) -> t[]", concatenate},
    {"aten::mul.left_t(t[] l, int n) -> t[]", times},
    {"aten::mul.right_(int n, t[] l) -> t[]", times_left},
    {"aten::mul_.t(t[](a!) l, int n) -> t[](a!)", times_in_place},
    {"aten::copy.t(t[](a) self) -> t[]", copy},
    {"aten::list.t(t[] l) -> t[]", copy},
    {"aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]", slice},
    {"aten::reverse.t(t[](a!) self) -> ()", reverse},
    {"aten::len.t(t[] a) -> int", length},
    {"aten::len.any(Any[] a) -> int", length},
    {"aten::eq.int_list(int[] a, int[] b) -> bool", equal_lists},
    {"aten::eq.float_list(float[] a, float[] b) -> bool", equal_lists},
    {"aten::eq.bool_list(bool[] a, bool[] b) -> bool", equal_lists},
    {"aten::eq.str_list(str[] a, str[] b) -> bool", equal_lists},
    {"aten::ne.int_list(int[] a, int[] b) -> bool", unequal_lists},
    {"aten::ne.float_list(float[] a, float[] b) -> bool", unequal_lists},
    {"aten::ne.bool_list(bool[] a, bool[] b) -> bool", unequal_lists},
    {"aten::ne.str_list(str[] a, str[] b) -> bool", unequal_lists},
    {"aten::__contains__.int_list(int[] l, int item) -> bool", contains},
    {"aten::__contains__.float_list(float[] l, float item) -> bool", contains},
    {"aten::__contains__.str_list(str[] l, str item) -> bool", contains},
    {"aten::index.list_int(int[] self, int el) -> int", index},
    {"aten::index.list_float(float[] self, float el) -> int", index},
    {"aten::index.list_bool(bool[] self, bool el) -> int", index},
    {"aten::index.list_str(str[] self, str el) -> int", index},
    {"aten::remove.int(int[](a!) self, int el) -> ()", remove},
    {"aten::remove.float(float[](a!) self, float el) -> ()", remove},
    {"aten::remove.bool(bool[](a!) self, bool el) -> ()", remove},
    {"aten::remove.str(str[](a!) self, str el) -> ()", remove},
    {"aten::count.int(int[] self, int el) -> int", count},
    {"aten::count.float(float[] self, float el) -> int", count},
    {"aten::count.bool(bool[] self, bool el) -> int", count},
    {"aten::count.str(str[] self, str el) -> int", count},
    {"aten::sort.int(int[](a!) self, bool reverse=False) -> ()", sort},
    {"aten::sort.float(float[](a!) self, bool reverse=False) -> ()", sort},
    {"aten::sort.bool(bool[](a!) self, bool reverse=False) -> ()", sort},
    {"aten::sort.str(str[](a!) self, bool reverse=False) -> ()", sort},
    {"aten::sorted.int(int[](a) input) -> int[]", sorted},
    {"aten::sorted.float(float[](a) input) -> float[]", sorted},
    {"aten::sorted.bool(bool[](a) input) -> bool[]", sorted},
    {"aten::sorted.str(str[](a) input) -> str[]", sorted},
    {"aten::sum.int(int[] self) -> int", sum},
    {"aten::sum.float(float[] self) -> float", sum},
    {"aten::sum.bool(bool[] self) -> int", sum},
    {"aten::any.int(int[] self) -> bool", any},
    {"aten::any.float(float[] self) -> bool", any},
    {"aten::any.bool(bool[] self) -> bool", any},
    {"aten::all.int(int[] self) -> bool", all},
    {"aten::all.float(float[] self) -> bool", all},
    {"aten::all.bool(bool[] self) -> bool", all},
    {"prim::max.self_int(int[] self) -> int", extreme<true>},
    {"prim::max.self_float(float[] self) -> float", extreme<true>},
    {"prim::max.self_bool(bool[] self) -> bool", extreme<true>},
    {"prim::min.self_int(int[] self) -> int", extreme<false>},
    {"prim::min.self_float(float[] self) -> float", extreme<false>},
    {"prim::min.self_bool(bool[] self) -> bool", extreme<false>},
    {"prim::max.int_list(int[] l, int[] r) -> int[]", extreme_list<true>},
    {"prim::max.float_list(float[] l, float[] r) -> float[]", extreme_list<true>},
    {"prim::max.bool_list(bool[] l, bool[] r) -> bool[]", extreme_list<true>},
    {"prim::min.int_list(int[] l, int[] r) -> int[]", extreme_list<false>},
    {"prim::min.float_list(float[] l, float[] r) -> float[]", extreme_list<false>},
    {"prim::min.bool_list(bool[] l, bool[] r) -> bool[]", extreme_list<false>},
    {"prim::rangelist(int n) -> int[]", rangelist},
    {"aten::Size(int[] sizes) -> int[]", copy_sizes},
    {"aten::_size_if_not_equal(int[] self_size, int[] other_size) -> int[]?", size_if_not_equal},
};

}  // namespace

void define_list_operators() { define_rows(rows); }

}  // namespace fc::jit
