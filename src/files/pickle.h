// SPDX-License-Identifier: Apache-2.0
// Python's pickle format as far as it is data: the instructions, a reader and a writer. The reader has no opinion on
// what a global name means and calls nothing: a Builder makes the objects and says which names it knows
// (python/src/pickle.cpp, for Python's objects).
#pragma once
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace fc::files {

struct UnpicklingError : Error {  // pickle.UnpicklingError in Python
  using Error::Error;
  const char* kind() const noexcept override { return "UnpicklingError"; }
};

// clang-format off
enum class Op : unsigned char {
  Mark = '(', Stop = '.', Pop = '0', PopMark = '1', BinFloat = 'G', BinInt = 'J', BinInt1 = 'K', BinInt2 = 'M',
  None = 'N', BinPersId = 'Q', Reduce = 'R', BinString = 'T', ShortBinString = 'U', BinUnicode = 'X', Append = 'a',
  Build = 'b', Global = 'c', Appends = 'e', BinGet = 'h', LongBinGet = 'j', List = 'l', Dict = 'd', BinPut = 'q',
  LongBinPut = 'r', SetItem = 's', Tuple = 't', EmptyTuple = ')', SetItems = 'u', EmptyDict = '}', EmptyList = ']',
  Proto = 0x80, NewObj = 0x81, Tuple1 = 0x85, Tuple2 = 0x86, Tuple3 = 0x87, NewTrue = 0x88, NewFalse = 0x89,
  Long1 = 0x8a, Long4 = 0x8b, BinBytes = 'B', ShortBinBytes = 'C', ShortBinUnicode = 0x8c, BinUnicode8 = 0x8d,
  BinBytes8 = 0x8e, EmptySet = 0x8f, AddItems = 0x90, FrozenSet = 0x91, NewObjEx = 0x92, StackGlobal = 0x93,
  Memoize = 0x94, Frame = 0x95, ByteArray8 = 0x96,
};
// clang-format on

// Reads pickles that stand one after the other in `bytes`. Every length is compared with what is left before anything
// is made, and every instruction makes at most one object, so that memory is bounded by a multiple of the bytes. No
// recursion, however deep the nesting. Builder has a copyable type Object and the functions that are called below;
// whatever it throws ends the reading.
template <class Builder>
class PickleReader {
 public:
  using Object = typename Builder::Object;

  PickleReader(std::string_view bytes, Builder& builder) : rest_(bytes), bytes_(bytes.size()), make_(builder) {}
  Object read() {
    stack_.clear();
    marks_.clear();
    memo_.clear();
    while (step(static_cast<Op>(number(1)))) continue;
    if (!marks_.empty() || stack_.size() != 1) raise<UnpicklingError>("a pickle must end with one object");
    memo_.clear();
    return pop();
  }
  size_t position() const { return bytes_ - rest_.size(); }

 private:
  bool step(Op op) {  // false: the pickle has ended
    switch (op) {
      case Op::Stop: return false;
      case Op::Proto: {
        const uint64_t protocol = number(1);
        if (protocol > 5) raise<UnpicklingError>("unsupported pickle protocol: ", protocol);
        break;
      }
      case Op::Frame: number(8); break;  // a hint for readers of streams
      case Op::Mark: marks_.push_back(stack_.size()); break;
      case Op::Pop:
        if (stack_.size() == fence() && !marks_.empty()) marks_.pop_back();
        else pop();
        break;
      case Op::PopMark: marked(); break;

      case Op::None: push(make_.none()); break;
      case Op::NewTrue: push(make_.boolean(true)); break;
      case Op::NewFalse: push(make_.boolean(false)); break;
      case Op::BinInt: push(make_.integer(static_cast<int32_t>(number(4)))); break;
      case Op::BinInt1: push(make_.integer(static_cast<int64_t>(number(1)))); break;
      case Op::BinInt2: push(make_.integer(static_cast<int64_t>(number(2)))); break;
      case Op::Long1: push(make_.long_integer(take(number(1)))); break;
      case Op::Long4: push(make_.long_integer(take(number(4)))); break;
      case Op::BinFloat: push(make_.real(real())); break;
      case Op::BinString: push(make_.old_string(take(number(4)))); break;
      case Op::ShortBinString: push(make_.old_string(take(number(1)))); break;
      case Op::BinUnicode: push(make_.text(take(number(4)))); break;
      case Op::ShortBinUnicode: push(make_.text(take(number(1)))); break;
      case Op::BinUnicode8: push(make_.text(take(number(8)))); break;
      case Op::BinBytes: push(make_.bytes(take(number(4)))); break;
      case Op::ShortBinBytes: push(make_.bytes(take(number(1)))); break;
      case Op::BinBytes8: push(make_.bytes(take(number(8)))); break;
      case Op::ByteArray8: push(make_.byte_array(take(number(8)))); break;

      case Op::EmptyTuple: push(make_.tuple({})); break;
      case Op::Tuple1: tuple(1); break;
      case Op::Tuple2: tuple(2); break;
      case Op::Tuple3: tuple(3); break;
      case Op::Tuple: {
        auto items = marked();
        push(make_.tuple(items));
        break;
      }
      case Op::EmptyList: push(make_.list()); break;
      case Op::List: {
        auto items = marked();
        Object list = make_.list();
        make_.append(list, items);
        push(std::move(list));
        break;
      }
      case Op::Append: {
        Object item = pop();
        make_.append(top(), std::span(&item, 1));
        break;
      }
      case Op::Appends: {
        auto items = marked();
        make_.append(top(), items);
        break;
      }
      case Op::EmptyDict: push(make_.dict()); break;
      case Op::Dict: {
        auto items = pairs();
        Object dict = make_.dict();
        make_.set_items(dict, items);
        push(std::move(dict));
        break;
      }
      case Op::SetItem: {
        Object pair[2];
        pair[1] = pop();
        pair[0] = pop();
        make_.set_items(top(), pair);
        break;
      }
      case Op::SetItems: {
        auto items = pairs();
        make_.set_items(top(), items);
        break;
      }
      case Op::EmptySet: push(make_.set()); break;
      case Op::AddItems: {
        auto items = marked();
        make_.add(top(), items);
        break;
      }
      case Op::FrozenSet: {
        auto items = marked();
        push(make_.frozen_set(items));
        break;
      }

      case Op::Global: {
        const std::string_view module = line(), name = line();
        push(make_.global(module, name));
        break;
      }
      case Op::StackGlobal: {
        Object name = pop(), module = pop();
        push(make_.global(module, name));
        break;
      }
      case Op::Reduce: {
        Object args = pop(), function = pop();
        push(make_.reduce(function, args));
        break;
      }
      case Op::NewObj: {
        Object args = pop(), type = pop();
        push(make_.new_object(type, args));
        break;
      }
      case Op::NewObjEx: {
        Object named = pop(), args = pop(), type = pop();
        push(make_.new_object(type, args, named));
        break;
      }
      case Op::Build: {
        Object state = pop();
        make_.build(top(), state);
        break;
      }
      case Op::BinPersId: {
        Object id = pop();
        push(make_.persistent(id));
        break;
      }

      case Op::BinGet: get(number(1)); break;
      case Op::LongBinGet: get(number(4)); break;
      case Op::BinPut: put(number(1)); break;
      case Op::LongBinPut: put(number(4)); break;
      case Op::Memoize: put(memo_.size()); break;
      default: raise<UnpicklingError>("Unsupported operand ", static_cast<int>(op));
    }
    return true;
  }

  std::string_view take(uint64_t bytes) {
    if (bytes > rest_.size()) raise<UnpicklingError>("pickle data was truncated");
    const std::string_view s = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return s;
  }
  uint64_t number(size_t bytes) {
    const std::string_view s = take(bytes);
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; ++i) v |= uint64_t{static_cast<unsigned char>(s[i])} << (8 * i);
    return v;
  }
  double real() {
    const uint64_t bits = __builtin_bswap64(number(8));
    double v;
    std::memcpy(&v, &bits, 8);
    return v;
  }
  std::string_view line() {
    const size_t end = rest_.find('\n');
    if (end == rest_.npos) raise<UnpicklingError>("pickle data was truncated");
    const std::string_view s = take(end);
    take(1);
    return s;
  }

  size_t fence() const { return marks_.empty() ? 0 : marks_.back(); }
  void push(Object o) { stack_.push_back(std::move(o)); }
  Object& top() {
    if (stack_.size() <= fence()) raise<UnpicklingError>("unpickling stack underflow");
    return stack_.back();
  }
  Object pop() {
    Object o = std::move(top());
    stack_.pop_back();
    return o;
  }
  std::vector<Object> take_from(size_t begin) {
    std::vector<Object> items(std::make_move_iterator(stack_.begin() + static_cast<ptrdiff_t>(begin)),
                              std::make_move_iterator(stack_.end()));
    stack_.resize(begin);
    return items;
  }
  std::vector<Object> marked() {
    if (marks_.empty()) raise<UnpicklingError>("could not find MARK");
    const size_t begin = marks_.back();
    marks_.pop_back();
    return take_from(begin);
  }
  std::vector<Object> pairs() {
    auto items = marked();
    if (items.size() % 2) raise<UnpicklingError>("odd number of items for SETITEMS");
    return items;
  }
  void tuple(size_t n) {
    if (stack_.size() < fence() + n) raise<UnpicklingError>("unpickling stack underflow");
    auto items = take_from(stack_.size() - n);
    push(make_.tuple(items));
  }
  void get(uint64_t i) {
    if (i >= memo_.size() || !memo_[i].known) raise<UnpicklingError>("Memo value not found at index ", i);
    push(memo_[i].object);
  }
  void put(uint64_t i) {
    // Writers count from 0, and an entry takes them two bytes.
    if (i > bytes_) raise<UnpicklingError>("memo index ", i, " is larger than the pickle");
    if (i >= memo_.size()) memo_.resize(i + 1);
    memo_[i] = {top(), true};
  }

  struct Memo {
    Object object{};
    bool known = false;
  };
  std::string_view rest_;
  size_t bytes_;
  Builder& make_;
  std::vector<Object> stack_;
  std::vector<size_t> marks_;
  std::vector<Memo> memo_;
};

// Writes the instructions of protocol 2, which every version of PyTorch reads. What is written and in which order is
// the caller's (python/src/pickle.cpp).
class PickleWriter {
 public:
  void op(Op o) { text_ += static_cast<char>(o); }
  void integer(int64_t v);
  void long_integer(std::string_view two_complement);  // little-endian
  void real(double v);
  void text(std::string_view utf8);
  void global(std::string_view module, std::string_view name);
  void get(size_t memo);
  void put(size_t memo);
  std::string take() { return std::move(text_); }
  void start();

 private:
  void number(uint64_t v, size_t bytes);
  std::string text_;
};

}  // namespace fc::files
