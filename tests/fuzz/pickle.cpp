// SPDX-License-Identifier: Apache-2.0
// Any bytes are either pickles that make no more objects than they have bytes, or an Error. Plain data comes out again
// from the pickle that we write of it.
#include "files/pickle.h"

#include <cstdlib>

#include "fuzz.h"

namespace fc {
namespace {

using files::Op;

void require(bool promise) {
  if (!promise) std::abort();
}

struct Node {
  char kind;
  std::string text;
  std::vector<uint32_t> parts;
  bool operator==(const Node&) const = default;
};

// Objects are numbers of nodes, so that nothing recurses.
struct Builder {
  using Object = uint32_t;
  std::vector<Node> nodes;
  size_t parts = 0;

  Object make(char kind, std::string_view text = {}, std::span<Object> items = {}) {
    nodes.push_back({kind, std::string(text), {items.begin(), items.end()}});
    parts += items.size();
    return static_cast<Object>(nodes.size() - 1);
  }
  Object none() { return make('n'); }
  Object boolean(bool b) { return make(b ? 't' : 'f'); }
  Object integer(int64_t v) { return make('i', str(v)); }
  Object long_integer(std::string_view s) { return make('l', s); }
  Object real(double v) { return make('r', {reinterpret_cast<const char*>(&v), 8}); }
  Object text(std::string_view s) { return make('s', s); }
  Object old_string(std::string_view s) { return make('o', s); }
  Object bytes(std::string_view s) { return make('b', s); }
  Object byte_array(std::string_view s) { return make('a', s); }
  Object tuple(std::span<Object> items) { return make('T', {}, items); }
  Object list() { return make('L'); }
  Object dict() { return make('D'); }
  Object set() { return make('S'); }
  Object frozen_set(std::span<Object> items) { return make('F', {}, items); }
  void append(Object to, std::span<Object> items) { extend(to, 'L', items); }
  void set_items(Object to, std::span<Object> items) { extend(to, 'D', items); }
  void add(Object to, std::span<Object> items) { extend(to, 'S', items); }
  void extend(Object to, char kind, std::span<Object> items) {
    if (nodes[to].kind != kind) raise<files::UnpicklingError>("another kind");
    nodes[to].parts.insert(nodes[to].parts.end(), items.begin(), items.end());
    parts += items.size();
  }
  Object global(std::string_view module, std::string_view name) { return make('g', str(module, "\n", name)); }
  Object global(Object module, Object name) { return call('G', module, name); }
  Object reduce(Object f, Object args) { return call('R', f, args); }
  Object new_object(Object type, Object args) { return call('N', type, args); }
  Object new_object(Object type, Object args, Object) { return call('N', type, args); }
  void build(Object o, Object state) { call('B', o, state); }
  Object persistent(Object id) { return call('P', id, id); }
  Object call(char kind, Object a, Object b) {
    Object both[] = {a, b};
    return make(kind, {}, both);
  }
};

// Each object after those it holds, under its number in the memo. False where something is no plain data.
bool write(files::PickleWriter& out, const Builder& b, uint32_t result) {
  out.start();
  for (uint32_t i = 0; i < b.nodes.size(); ++i) {
    const Node& n = b.nodes[i];
    double v = 0;
    switch (n.kind) {
      case 'n': out.op(Op::None); break;
      case 't': out.op(Op::NewTrue); break;
      case 'f': out.op(Op::NewFalse); break;
      case 'i': out.integer(std::strtoll(n.text.c_str(), nullptr, 10)); break;
      case 'r': std::memcpy(&v, n.text.data(), 8), out.real(v); break;
      case 's': out.text(n.text); break;
      case 'T':
        out.op(Op::Mark);
        for (uint32_t part : n.parts) {
          if (part >= i) return false;
          out.get(part);
        }
        out.op(Op::Tuple);
        break;
      default: return false;
    }
    out.put(i);
    out.op(Op::Pop);
  }
  out.get(result);
  out.op(Op::Stop);
  return true;
}

}  // namespace

void fuzz::pickle(std::string_view bytes) {
  Builder builder;
  uint32_t result = 0;
  try {
    files::PickleReader reader(bytes, builder);
    result = reader.read();
    require(reader.position() <= bytes.size() && result < builder.nodes.size());
  } catch (const Error&) { return; }
  require(builder.nodes.size() <= bytes.size() && builder.parts <= 3 * bytes.size());
  files::PickleWriter out;
  if (!write(out, builder, result)) return;
  const std::string text = out.take();
  Builder again;
  files::PickleReader reader(text, again);
  require(reader.read() == result && reader.position() == text.size());
  require(again.nodes.size() == builder.nodes.size());
  for (size_t i = 0; i < again.nodes.size(); ++i) {
    const Node &a = again.nodes[i], &b = builder.nodes[i];
    require(a == b || a.kind == 'l');  // a number of more than 32 bits
  }
}

}  // namespace fc
