// SPDX-License-Identifier: Apache-2.0
#include "distributed/record.h"

#include <charconv>
#include <chrono>

namespace fc::distributed {
namespace {

int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string plain(std::string text) {  // a field of a line
  for (char& c : text)
    if (c == '\t' || c == '\n') c = ' ';
  return text;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == at) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

int64_t number(const std::string& text) {
  int64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += str(i ? i + 1 < ranks.size() ? ", " : " and " : "", ranks[i]);
  return text;
}

}  // namespace

uint32_t Header::tag() const {
  uint32_t h = 2166136261u;  // FNV-1a
  auto mix = [&](const void* p, size_t n) {
    for (size_t i = 0; i < n; ++i) h = (h ^ static_cast<const unsigned char*>(p)[i]) * 16777619u;
  };
  mix(&sequence, sizeof sequence), mix(op.data(), op.size()), mix(&dtype, sizeof dtype), mix(&count, sizeof count);
  mix(detail.data(), detail.size());
  return h;
}

std::string Header::text() const {
  std::string out = op + "(";
  std::string_view gap;
  auto part = [&](const std::string& s) { out += str(gap, s), gap = ", "; };
  if (dtype != DType::Undefined) part(info(dtype).name);
  if (count >= 0 && dtype != DType::Undefined) part(str(count, count == 1 ? " element" : " elements"));
  if (!detail.empty()) part(detail);
  out += ")";
  if (!where.empty()) out += " at " + where;
  return out;
}

void Recorder::add(const Record& record) {
  std::lock_guard lock(mutex_);
  if (records_.size() == kKept) records_.pop_front();
  records_.push_back(record);
  records_.back().begun_us = now_us();
}

void Recorder::update(uint64_t sequence, Record::State state) {
  std::lock_guard lock(mutex_);
  for (auto r = records_.rbegin(); r != records_.rend(); ++r) {
    if (r->header.sequence != sequence) continue;
    r->state = state;
    if (state == Record::Done || state == Record::Failed) r->ended_us = now_us();
    return;
  }
}

std::vector<Record> Recorder::last() const {
  std::lock_guard lock(mutex_);
  return {records_.begin(), records_.end()};
}

std::string Recorder::encode() const {
  std::string out;
  for (auto& r : last()) {
    const Header& h = r.header;
    out +=
        str(h.sequence, "\t", plain(h.op), "\t", static_cast<int>(h.dtype), "\t", h.count, "\t", plain(h.detail), "\t",
            plain(h.where), "\t", static_cast<char>(r.state), "\t", r.begun_us, "\t", r.ended_us, "\t", r.bytes, "\n");
  }
  return out;
}

std::vector<Record> Recorder::decode(const std::string& text) {
  std::vector<Record> out;
  for (auto& line : split(text, '\n')) {
    const auto f = split(line, '\t');
    if (f.size() != 10 || f[6].size() != 1) continue;
    const int64_t dtype = number(f[2]);
    Record r;
    r.header = {static_cast<uint64_t>(number(f[0])),
                f[1],
                dtype >= 0 && dtype < kDTypeSlots ? static_cast<DType>(dtype) : DType::Undefined,
                number(f[3]),
                f[4],
                f[5]};
    r.state = static_cast<Record::State>(f[6][0]);
    r.begun_us = number(f[7]), r.ended_us = number(f[8]), r.bytes = number(f[9]);
    out.push_back(std::move(r));
  }
  return out;
}

std::string explain(const Header& mine, int own_rank, const std::vector<std::optional<std::vector<Record>>>& ranks) {
  std::vector<int> silent, same;
  std::string text;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    if (rank == own_rank) continue;
    auto& records = ranks[static_cast<size_t>(rank)];
    if (!records) {
      silent.push_back(rank);
      continue;
    }
    const Record *there = nullptr, *last = nullptr;
    for (auto& r : *records) {
      if (r.header.sequence == mine.sequence) there = &r;
      last = &r;
    }
    if (there && there->header.agrees(mine)) same.push_back(rank);
    else if (there) text += str("\n  rank ", rank, " called ", there->header.text());
    else if (last && last->header.sequence < mine.sequence)
      text +=
          str("\n  rank ", rank, " has called nothing since number ", last->header.sequence, ", ", last->header.text());
    else if (last) text += str("\n  rank ", rank, " is far ahead, at number ", last->header.sequence);
    else text += str("\n  rank ", rank, " has called nothing yet");
  }
  if (!same.empty()) text += str("\n  ", rank_list(same), " made the same call");
  if (!silent.empty()) text += str("\n  ", rank_list(silent), silent.size() == 1 ? " does" : " do", " not answer");
  return str("number ", mine.sequence, " of rank ", own_rank, ", ", mine.text(), text);
}

}  // namespace fc::distributed
