// SPDX-License-Identifier: Apache-2.0
#include "observe/call_tree.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fc::observe {
namespace {

class Adder {
 public:
  explicit Adder(const Recorder& r) {
    TreeNode& root = out_.nodes.emplace_back();
    root.time = r.stopped() - r.started();
    root.count = 1;
    for (auto& log : r.logs()) add(*log);
    std::ranges::stable_sort(out_.calls, {}, &OwnCall::start);
  }
  CallTree take() { return std::move(out_); }

 private:
  struct Frame {
    const Row* row;
    size_t node;
    bool own;     // only composites and ranges around what is inside
    size_t call;  // the innermost of CallTree::calls, plus one; 0: none
  };

  void add(const Log& log) {
    // Rows lie in the order in which they ended; callers come first by their start.
    std::vector<const Row*> rows(log.rows.size());
    for (size_t i = 0; i < rows.size(); ++i) rows[rows.size() - 1 - i] = &log.rows[i];
    std::ranges::stable_sort(rows, {}, [](const Row* r) { return r->start; });
    std::vector<Frame> around;
    for (const Row* row : rows) {
      while (!around.empty() && (around.back().row->end < row->end || around.back().row->end <= row->start))
        around.pop_back();
      const Frame outer = around.empty() ? Frame{nullptr, 0, true, 0} : around.back();
      around.push_back(enter(*row, outer));
    }
  }

  Frame enter(const Row& row, const Frame& outer) {
    const bool is_call = row.kind == EventKind::Call;
    size_t call = outer.call;
    if (is_call && outer.own) {
      out_.calls.push_back({row.op, row.start, row.path, row.where});
      call = out_.calls.size();
    }
    if (row.kind == EventKind::Range && !row.name->starts_with('@')) return {&row, outer.node, outer.own, call};
    if (row.kind == EventKind::Launch && row.where.is_cpu() && call)
      out_.calls[call - 1].families |= family_bit(row.shown_name());
    const size_t at = child(outer.node, row);
    TreeNode& node = out_.nodes[at];
    const uint64_t took = row.end - row.start;
    node.time += took;
    node.device_ns += row.device_ns;
    ++node.count;
    node.told += row.device_ns > 0;
    out_.nodes[outer.node].inside += took;
    return {&row, at, outer.own && is_call && row.path == Path::Composite, call};
  }

  size_t child(size_t parent, const Row& row) {
    // Where it runs: a copy from a device is that device's.
    const Device where = row.kind == EventKind::Copy && row.where.is_cpu() ? row.from : row.where;
    const auto key = std::tuple(parent, row.op, row.op ? nullptr : row.name, row.kind, where.type, where.index);
    auto [it, fresh] = known_.try_emplace(key, out_.nodes.size());
    if (fresh) {
      TreeNode& node = out_.nodes.emplace_back();
      node.op = row.op;
      node.name = row.name;
      node.kind = row.kind;
      node.where = where;
      node.parent = parent;
    }
    return it->second;
  }

  uint32_t family_bit(std::string_view name) {  // "map add" is by map
    name = name.substr(0, name.find(' '));
    auto it = std::ranges::find(out_.families, name);
    if (it == out_.families.end()) {
      if (out_.families.size() == 32) return 0;
      it = out_.families.insert(it, std::string(name));
    }
    return uint32_t{1} << (it - out_.families.begin());
  }

  CallTree out_;
  std::map<std::tuple<size_t, const Operator*, const std::string*, EventKind, int, int>, size_t> known_;
};

}  // namespace

CallTree add_up(const Recorder& r) { return Adder(r).take(); }

}  // namespace fc::observe
