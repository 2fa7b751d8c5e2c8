// SPDX-License-Identifier: Apache-2.0
// What reads and writes do to versions, and what is learnt when one ends.
#include <algorithm>
#include <cstring>

#include "core/storage.h"
#include "observe/recorder.h"
#include "observe/values/lane.h"

namespace fc::observe::values {
namespace {

constexpr int64_t kMostRuns = 4096;       // of one write that are told apart
constexpr size_t kMostSegments = 16384;   // of one storage
constexpr uint64_t kWorthSharing = 4096;  // bytes: smaller tensors are no duplicates

uint64_t place(const StorageRecord& r, const char* address) { return reinterpret_cast<uintptr_t>(address) - r.address; }

// One past the last byte that a view reaches.
uint64_t reach(const Runs& runs) {
  int64_t last = 0;
  if (runs.count() > kMostRuns) last = runs.last();
  else runs.each([&](int64_t offset) { last = std::max(last, offset); });
  return static_cast<uint64_t>(last + runs.run_bytes());
}

// f(begin, end, where the run lies among all of the view's), in bytes of the storage.
template <class F>
void each_run(const StorageRecord& r, const Runs& runs, const F& f) {
  const uint64_t base = place(r, runs.begin());
  const auto n = static_cast<uint64_t>(runs.run_bytes());
  uint64_t at = 0;
  runs.each([&](int64_t offset) {
    const uint64_t begin = base + static_cast<uint64_t>(offset);
    f(begin, begin + n, at);
    at += n;
  });
}

// The bytes of a view as the host sees them: where they lie, or copied from another device with their gaps.
class OnHost {
 public:
  OnHost(const View& v, const Runs& runs, Device d, Totals& totals) : view_(v) {
    if (d.is_cpu()) return;
    const uint64_t bytes = reach(runs);
    copy_.resize(bytes);
    copy_bytes(copy_.data(), Device{}, runs.begin(), d, bytes);
    totals.copied_bytes += bytes;
    view_.data = copy_.data() + (v.data - runs.begin());
  }
  const View& view() const { return view_; }

 private:
  View view_;
  std::vector<char> copy_;
};

std::string describe(const View& v) {
  std::string out = std::string(info(v.dtype).name) + " [";
  bool first = true;
  for (size_t d = 0; d < v.sizes.size(); ++d) {
    if (v.strides[d] == 0 && v.sizes[d] > 1) continue;  // one element, as often as a reduction comes by
    out += (first ? "" : ", ") + std::to_string(v.sizes[d]);
    first = false;
  }
  return out + "]";
}

}  // namespace

Tally& Engine::found(uint32_t node, Pattern p) { return nodes_[node].found[static_cast<size_t>(p)]; }

bool Engine::sampled(Node& n) {
  if (options_.sample > 1 && n.looked > 0 && n.calls % options_.sample != 0) {
    ++totals_.skipped;
    return false;
  }
  if (options_.mode != Mode::Budget || n.looked < 3) return true;
  const uint64_t now = now_ns() - totals_.started;
  if (static_cast<double>(__atomic_load_n(&totals_.own_ns, __ATOMIC_RELAXED)) <
      options_.budget * static_cast<double>(now))
    return true;
  ++totals_.skipped;
  return false;
}

void Engine::mark_read(Lane& lane, uint32_t node, const View& v, Device d, bool accumulates) {
  const Runs runs(v);
  if (runs.bytes() == 0) return;
  StorageRecord* r = storages_.at(runs.begin(), d.type, d.index);
  if (!r) return;
  nodes_[node].read += static_cast<uint64_t>(runs.bytes());
  for (auto& [begin, end] : lane.accumulated)  // by a part of what adds to it
    accumulates |= runs.begin() >= begin && runs.begin() + runs.last() < end;
  auto one = [&](uint64_t begin, uint64_t end) {
    Storages::each(*r, begin, end, [&](Segment& s) {
      s.reads = std::max(s.reads, accumulates ? Reads::Accumulated : Reads::Some);
      const uint64_t bytes = std::min(s.end, end) - std::max(s.begin, begin);
      lane.edge({s.node, node, r->maker, false}, bytes, r->bytes);
    });
  };
  if (runs.count() > kMostRuns) one(place(*r, runs.begin()), place(*r, runs.begin()) + reach(runs));
  else each_run(*r, runs, [&](uint64_t begin, uint64_t end, uint64_t) { one(begin, end); });
}

Engine::Pending Engine::prepare(const View& v, Device d, bool selects) {
  Pending p;
  p.view = v;
  p.device = d;
  p.selects = selects;
  const Runs runs(v);
  if (runs.bytes() == 0) return p;
  StorageRecord* r = storages_.at(runs.begin(), d.type, d.index);
  if (!r || r->exposed || r->segments.empty() || runs.count() > kMostRuns) return p;
  bool constants = !selects;
  each_run(*r, runs, [&](uint64_t begin, uint64_t end, uint64_t) {
    Storages::each(*r, begin, end, [&](const Segment& s) {
      p.over_known |= s.known;
      constants &= !s.known || s.constant;
    });
  });
  const auto bytes = static_cast<uint64_t>(runs.bytes());
  const bool small = bytes <= options_.exact_below && options_.mode != Mode::Budget;
  if (!p.over_known || constants || !(selects || small || options_.mode == Mode::Exact)) return p;
  const OnHost host(v, runs, d, totals_);
  const Runs here(host.view());
  p.before.resize(bytes);
  each_run(*r, runs, [&](uint64_t begin, uint64_t end, uint64_t at) {
    std::memcpy(p.before.data() + at, here.begin() + (begin - place(*r, runs.begin())), end - begin);
  });
  totals_.copied_bytes += bytes;
  return p;
}

void Engine::write(Lane& lane, uint32_t node, Pending& p, const Event& e, const View* source) {
  const Runs runs(p.view);
  const auto bytes = static_cast<uint64_t>(runs.bytes());
  if (bytes == 0) return;
  StorageRecord* r = storages_.at(runs.begin(), p.device.type, p.device.index);
  if (!r) {  // memory of nobody's storage: a copy to the program
    if (e.kind == EventKind::Copy) lane.edge({node, 0, 0, true}, bytes, bytes);
    if (lane.kernels == 0 || lane.leaves) lane.keep_edges(edges_);
    return;
  }
  Node& n = nodes_[node];
  n.written += bytes;
  n.object += r->bytes;
  if (n.tensor.empty()) n.tensor = describe(p.view);
  const size_t item = item_size(p.view.dtype);
  if (runs.count() > kMostRuns || r->segments.size() > kMostSegments) {
    crowd(*r, node, runs);
    return;
  }
  const uint64_t base = place(*r, runs.begin());
  if (accesses_) {
    each_run(*r, runs, [&](uint64_t begin, uint64_t end, uint64_t) {
      accesses_->written(p.device.type, r->address + begin, end - begin, !r->exposed);
    });
    accesses_->typed(p.device.type, r->address, p.view.dtype);
  }
  const bool fill = e.kind == EventKind::Fill;
  std::shared_ptr<const Content> content;
  const bool moves = source && e.kind == EventKind::Copy && e.from != e.where;
  Tally changed{};  // of this call: bytes unchanged
  uint64_t known = 0;
  if (!r->ignored && sampled(n)) {
    ++n.looked;
    n.judged += bytes;
    // What is moved from the host is looked at there.
    const bool from_host = moves && e.from.is_cpu() && source->dtype == p.view.dtype &&
                           Runs(*source).bytes() == runs.bytes() && Runs(*source).count() == 1 && runs.count() == 1;
    const OnHost host(from_host ? *source : p.view, from_host ? Runs(*source) : runs, from_host ? Device{} : p.device,
                      totals_);
    const Runs here(host.view());
    bool tiles_there = false;
    if (fill && p.over_known && p.before.empty())
      each_run(*r, runs, [&](uint64_t begin, uint64_t end, uint64_t) {
        Storages::each(*r, begin, end, [&](const Segment& s) { tiles_there |= s.known && !s.constant; });
      });
    content = std::make_shared<const Content>(fill && !tiles_there
                                                  ? constant_content(p.view.dtype, bytes / item, here.begin(), options_)
                                                  : look(host.view(), here, options_));
    totals_.looked_bytes += fill && !tiles_there ? item : bytes;
    auto compare = [&](const Segment& s, uint64_t begin, uint64_t end, uint64_t at) {  // bytes of a known version
      const char* after = here.begin() + (begin - base);
      const uint64_t elements = (end - begin) / item;
      Equal equal;
      if (!p.before.empty()) {
        equal = count_equal(p.before.data() + at, after, elements, item);
      } else if (s.constant && s.item == item) {
        if (content->constant) {
          const bool same = s.value[0] == content->first[0] && s.value[1] == content->first[1];
          equal = same ? Equal{elements, end - begin} : count_equal_to(after, s.value, 1, item);
          if (!same) equal = {0, equal.bytes * elements};
        } else {
          equal = count_equal_to(after, s.value, elements, item);
        }
      } else if (s.content && runs.count() == 1 && s.first == base && s.content->elements == content->elements &&
                 item_size(s.content->dtype) == item && s.content->tiles.size() == content->tiles.size()) {
        const uint64_t tile = static_cast<uint64_t>(kTile) * item;
        for (uint64_t t = (begin - base) / tile; t * tile < end - base; ++t) {
          if (s.content->tiles[t] != content->tiles[t]) continue;
          const uint64_t part = std::min((t + 1) * tile, end - base) - std::max(t * tile, begin - base);
          equal.elements += part / item, equal.bytes += part;
        }
        nodes_[node].tiles += end - begin;
      } else {
        return;
      }
      known += end - begin;
      changed.bytes += equal.elements * item;
      nodes_[node].unchanged_bytes += equal.bytes;
    };
    if (p.over_known)
      each_run(*r, runs, [&](uint64_t begin, uint64_t end, uint64_t at) {
        Storages::each(*r, begin, end, [&](const Segment& s) {
          if (!s.known) return;
          const uint64_t from = std::max(s.begin, begin), to = std::min(s.end, end);
          if ((from - begin) % item == 0 && (to - from) % item == 0) compare(s, from, to, at + (from - begin));
        });
      });
    n.known += known;
    n.unchanged += changed.bytes;
    if (changed.bytes) {
      Tally& tally = found(node, Pattern::Redundant);
      tally.bytes += changed.bytes;
      ++tally.calls;
    }
    // The constant of a fill is what was asked for, unless it was there already.
    const uint32_t singles = bit(Pattern::SingleZero) | bit(Pattern::SingleValue);
    add_values(n, *content, bytes, !fill ? ~0u : changed.bytes * 3 < bytes ? 0u : singles);
  }
  // A content that goes to another device a second time.
  if (moves && content && runs.count() == 1 && !content->constant && bytes >= kWorthSharing) {
    const uint64_t key =
        content->hash ^ (static_cast<uint64_t>(e.where.type) << 56 | static_cast<uint64_t>(e.where.index + 1) << 48);
    if (moved_[key]++) {
      Tally& tally = found(node, Pattern::Duplicate);
      tally.bytes += bytes;
      ++tally.calls;
    }
  }
  Segment fresh;
  fresh.version = ++version_;
  fresh.node = node;
  fresh.known = !r->exposed;
  if (r->exposed) fresh.reads = Reads::Some;
  if (content) {
    fresh.item = static_cast<uint8_t>(item);
    fresh.constant = fill && content->constant;
    std::memcpy(fresh.value, content->first, sizeof fresh.value);
    if (runs.count() == 1) fresh.content = content, fresh.first = base;
    if (!moves && fresh.known && runs.count() == 1 && !content->constant && bytes >= kWorthSharing &&
        p.device.is_cpu() && wants(Pattern::Duplicate))
      fresh.twin = find_twin(*r, base, bytes, *content, fresh.version);
  }
  const auto written = [&](uint32_t from, uint64_t size) {
    lane.edge({from, node, r->maker, true}, size, r->bytes, changed.bytes * size / bytes);
  };
  const bool quiet = lane.quiet(*r);
  if (runs.count() == 1) {
    uint32_t from = 0;
    storages_.put(*r, base, base + bytes, &fresh, [&](const Segment& old, End how) {
      from = old.node;
      if (!r->ignored) retire(old, how, quiet);
    });
    written(from, bytes);
  } else {
    std::vector<std::pair<uint64_t, uint64_t>> pieces;
    pieces.reserve(static_cast<size_t>(runs.count()));
    each_run(*r, runs, [&](uint64_t begin, uint64_t end, uint64_t) { pieces.emplace_back(begin, end); });
    std::ranges::sort(pieces);
    std::vector<uint32_t> from(pieces.size());
    storages_.put_all(*r, pieces, fresh, [&](const Segment& old, End how, size_t piece) {
      from[piece] = old.node;
      if (!r->ignored) retire(old, how, quiet);
    });
    for (const uint32_t f : from) written(f, static_cast<uint64_t>(runs.run_bytes()));
  }
  if (lane.kernels == 0 || lane.leaves) lane.keep_edges(edges_);
}

// Another live tensor of the same content, whose version is returned.
uint64_t Engine::find_twin(StorageRecord& r, uint64_t base, uint64_t bytes, const Content& content, uint64_t version) {
  Place& last = by_hash_[content.hash];
  uint64_t twin = 0;
  if (last.storage) {
    StorageRecord* other = storages_.find(last.storage);
    const bool there = other && other != &r && !other->ignored && !other->exposed && other->device == 0;
    bool live = false;
    if (there)
      Storages::each(*other, last.base, last.base + bytes, [&](Segment& s) {
        live |= s.version == last.version && s.begin <= last.base && s.end >= last.base + bytes;
      });
    if (live && std::memcmp(reinterpret_cast<const void*>(other->address + last.base),
                            reinterpret_cast<const void*>(r.address + base), bytes) == 0) {
      twin = last.version;
      Storages::each(*other, last.base, last.base + bytes, [](Segment& s) { s.asked = true; });
      return twin;  // the older one stays what later ones are compared with
    }
  }
  last = {r.id, base, version};
  return twin;
}

void Engine::write_selected(Lane& lane, uint32_t node, Pending& p, const View& mask) {
  const Runs runs(p.view);
  StorageRecord* r = storages_.at(runs.begin(), p.device.type, p.device.index);
  if (!r) return;
  const size_t item = item_size(p.view.dtype);
  Node& n = nodes_[node];
  if (n.tensor.empty()) n.tensor = describe(p.view);
  if (runs.count() != 1 || mask.dtype != DType::Bool || r->exposed || r->ignored) {
    unknown_write(node, p.view, p.device);
    return;
  }
  const OnHost host(p.view, runs, p.device, totals_);
  const Runs mask_runs(mask);
  const OnHost chosen(mask, mask_runs, p.device, totals_);
  const char *begin = Runs(host.view()).begin(), *at = host.view().data, *m = chosen.view().data;
  uint64_t selected = 0, same = 0;
  bool zero = true;
  std::vector<int64_t> index(p.view.sizes.size());
  for (int64_t i = 0, total = p.view.numel(); i < total; ++i) {
    if (*m) {
      ++selected;
      const auto offset = static_cast<size_t>(at - begin);
      same += !p.before.empty() && std::memcmp(p.before.data() + offset, at, item) == 0;
      zero &= as_number(at, p.view.dtype) == 0;
    }
    for (size_t d = index.size(); d-- > 0;) {
      at += p.view.strides[d], m += mask.strides[d];
      if (++index[d] < p.view.sizes[d]) break;
      at -= p.view.strides[d] * p.view.sizes[d], m -= mask.strides[d] * p.view.sizes[d];
      index[d] = 0;
    }
  }
  const uint64_t bytes = selected * item;
  n.written += bytes;
  n.judged += bytes;
  n.object += r->bytes;
  ++n.looked;
  if (!p.before.empty() && selected) {
    n.known += bytes;
    n.unchanged += same * item;
    if (same) {
      found(node, Pattern::Redundant).bytes += same * item;
      ++found(node, Pattern::Redundant).calls;
    }
  }
  if (selected && zero) {
    found(node, Pattern::SingleZero).bytes += bytes;
    ++found(node, Pattern::SingleZero).calls;
  }
  if (same == selected && !p.before.empty()) return;  // nothing is different: the version is what it was
  unknown_write(node, p.view, p.device, false);
  (void)lane;
}

void Engine::unknown_write(uint32_t node, const View& v, Device d, bool counts) {
  const Runs runs(v);
  if (runs.bytes() == 0) return;
  StorageRecord* r = storages_.at(runs.begin(), d.type, d.index);
  if (!r) return;
  if (counts) nodes_[node].written += static_cast<uint64_t>(runs.bytes());
  if (accesses_) accesses_->written(d.type, reinterpret_cast<uintptr_t>(runs.begin()), reach(runs), !r->exposed);
  Segment fresh;
  fresh.version = ++version_;
  fresh.node = node;
  fresh.known = !r->exposed;
  fresh.reads = Reads::Some;
  const uint64_t base = place(*r, runs.begin());
  storages_.put(*r, base, base + reach(runs), &fresh, [&](const Segment& old, End how) { retire(old, how, true); });
}

// Too many pieces to tell apart: what is there has been written, and that is all that is known.
void Engine::crowd(StorageRecord& r, uint32_t node, const Runs& runs) {
  if (!r.crowded) ++totals_.crowded;
  r.crowded = true;
  Segment fresh;
  fresh.version = ++version_;
  fresh.node = node;
  fresh.reads = Reads::Some;
  const uint64_t base = place(r, runs.begin());
  storages_.put(r, base, base + reach(runs), &fresh, [&](const Segment& old, End how) { retire(old, how, true); });
}

void Engine::retire(const Segment& s, End how, bool quiet) {
  if (how == End::Overwritten && s.asked) changed_.insert(s.version);
  if (!s.known || !s.node) return;
  const uint64_t bytes = s.end - s.begin;
  if (how != End::Lost && !quiet) {
    const bool dead = s.reads == Reads::None;
    const bool filled = s.reads == Reads::Accumulated && s.constant && how == End::Overwritten;
    if (dead || filled) {
      Tally& tally = found(s.node, dead ? Pattern::Dead : Pattern::FillAccumulate);
      tally.bytes += bytes;
      if (ended_.size() > 1'000'000) ended_.clear();
      tally.calls += ended_.insert(s.version).second;  // its first part
    }
  }
  if (how == End::Overwritten) return;
  if (s.repeats) {
    found(s.node, Pattern::Repeated).bytes += s.repeats;
    ++found(s.node, Pattern::Repeated).calls;
  } else if (s.twin && !changed_.contains(s.twin)) {
    found(s.node, Pattern::Duplicate).bytes += bytes;
    ++found(s.node, Pattern::Duplicate).calls;
  }
}

void Engine::free_storage(uint64_t id, bool quiet) {
  StorageRecord* r = storages_.find(id);
  if (!r) return;
  for (const Segment& s : r->segments)
    if (!r->ignored && !r->exposed) retire(s, End::Freed, quiet);
  storages_.remove(id);
}

void Engine::add_values(Node& n, const Content& c, uint64_t bytes, uint32_t of) {
  for (int i = static_cast<int>(Pattern::SingleZero); i <= static_cast<int>(Pattern::Approximate); ++i) {
    if (!(c.patterns & of & options_.patterns & 1u << i)) continue;
    Tally& tally = n.found[static_cast<size_t>(i)];
    const bool narrows =
        i == static_cast<int>(Pattern::HeavyType) || i == static_cast<int>(Pattern::InappropriateFloat);
    const size_t item = item_size(c.dtype), less = narrows && c.narrow != DType::Undefined ? item_size(c.narrow) : 0;
    tally.bytes += narrows ? bytes / item * (item - std::min(item, less)) : bytes;
    ++tally.calls;
  }
  if (c.narrow != DType::Undefined) n.narrow = c.narrow;
  if (c.patterns & (bit(Pattern::SingleValue) | bit(Pattern::Frequent) | bit(Pattern::Approximate)))
    n.number = c.number, n.frequent = c.frequent_share;
  if (c.patterns & bit(Pattern::Structured)) n.slope = c.slope, n.base = c.base;
}

}  // namespace fc::observe::values
