// SPDX-License-Identifier: Apache-2.0
// What an engine keeps per thread while calls run. Part of engine.cpp and versions.cpp.
#pragma once
#include "observe/values/engine.h"

namespace fc::observe::values {

// A write that is about to happen.
struct Engine::Pending {
  View view;
  Device device;
  bool selects = false;      // a mask says which elements
  bool some = false;         // other operands do
  bool over_known = false;   // something known lies there
  std::vector<char> before;  // what lay there, run after run; empty: not kept
};

struct Engine::Frame {
  EventKind kind{};
  bool outermost = false, masked = false;
  uint32_t node = 0;
  uint64_t id = 0, start = 0, version = 0, fresh_before = 0;
  uint64_t key = 0;            // of a call that may repeat another
  View source;                 // of a copy
  int copies = 0, others = 0;  // Lane's, when it began
  uint64_t own_ns = 0;
  size_t accumulated = 0;
  bool own = false;  // a kernel of one piece
  std::vector<Pending> pending;
};

struct Engine::Lane {
  std::vector<Frame> frames;
  std::vector<const std::string*> scopes;
  uint32_t stack = 0, forward = 0, native = 0;
  int calls = 0, leaves = 0, masked = 0, kernels = 0, own = 0;
  int copies = 0, others = 0;                                    // leaves, so far
  uint64_t own_ns = 0;                                           // what this engine took on this thread
  std::vector<std::pair<const char*, const char*>> accumulated;  // memory that kernels under way add to in place
  std::vector<std::pair<EdgeKey, Edge>>
      edges;  // not yet counted: of a kernel that may have leaves, which count instead

  void edge(const EdgeKey& key, uint64_t bytes, uint64_t object, uint64_t unchanged = 0) {
    if (!edges.empty() && edges.back().first == key) {  // another piece of the same
      edges.back().second.bytes += bytes;
      edges.back().second.unchanged += unchanged;
    } else {
      edges.push_back({key, {bytes, unchanged, object, 1}});
    }
  }
  void keep_edges(std::unordered_map<EdgeKey, Edge, EdgeHash>& all) {
    for (auto& [key, e] : edges) {
      Edge& sum = all[key];
      sum.bytes += e.bytes, sum.unchanged += e.unchanged, sum.object += e.object, sum.count += e.count;
    }
    edges.clear();
  }
  std::vector<Accesses::Piece> pieces;  // what a launch read and wrote by its accesses, until the event around it ends
  bool quiet(const StorageRecord& r) const { return r.inside && own > 0; }
  const std::string* scope() const {
    for (size_t i = scopes.size(); i-- > 0;)
      if (scopes[i]) return scopes[i];
    return nullptr;
  }
};

}  // namespace fc::observe::values
