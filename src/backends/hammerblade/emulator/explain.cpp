// SPDX-License-Identifier: Apache-2.0
// Findings in words: kernel, tile, line, and who waits for what.
#include <map>
#include <tuple>

#include "backends/hammerblade/emulator/emulator.h"
#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/lines.h"

namespace fc::hb {

void Emulator::report(Wave& wave, Finding finding) {
  std::lock_guard lock(wave.mutex);
  if (!wave.finding) wave.finding = std::make_unique<Finding>(std::move(finding));
  wave.stop = true;
  wave.change.fetch_add(1);
  wave.change.notify_all();
}

namespace {

Finding of(const Tile& tile, Finding finding) {
  finding.x = tile.block->x;
  finding.y = tile.block->y;
  finding.group = tile.group->id;
  return finding;
}

}  // namespace

void Emulator::report_used_up(Tile& tile) {
  Finding finding;
  finding.kind = "scratchpad overflow";
  finding.text = "has used up its stack at %1";
  finding.pcs = {tile.pc};
  report(*tile.wave, of(tile, std::move(finding)));
}

void Emulator::fail(Tile& tile, Finding finding) {
  report(*tile.wave, of(tile, std::move(finding)));
  leave(tile, TileState::GivenUp);
  __builtin_unreachable();
}

std::string Emulator::who_waits(const Wave& wave) const {
  // Tiles in the same state at the same line are one row.
  std::map<std::tuple<TileState, uint32_t, uintptr_t, int, uintptr_t>, std::vector<const Tile*>> rows;
  for (const Tile* tile : wave.tiles) {
    bool waits = tile->state == TileState::Waiting;
    bool placed = waits || tile->state == TileState::AtBarrier || tile->state == TileState::Ready ||
                  tile->state == TileState::GivenUp;
    uintptr_t word = waits ? reinterpret_cast<uintptr_t>(tile->word) : 0;
    if (tile_at(word) == tile) word %= HB_EMUL_TILE_BYTES;  // the same variable of each
    rows[{tile->state, tile->state == TileState::AtBarrier ? tile->barrier : 0, word, waits ? tile->value : 0,
          placed ? tile->pc : 0}]
        .push_back(tile);
  }
  std::string out;
  for (const auto& [key, tiles] : rows) {
    const Tile& first = *tiles.front();
    std::string who;
    for (size_t i = 0; i < tiles.size() && i < 3; ++i)
      who += format("%s(%d,%d)", i ? ", " : "", tiles[i]->block->x, tiles[i]->block->y);
    if (tiles.size() > 3) who += format(" and %zu more", tiles.size() - 3);
    out += tiles.size() == 1 ? "\n  tile " + who + " " : "\n  tiles " + who + " ";
    bool one = tiles.size() == 1;
    std::string at = first.pc ? " at " + locate({first.pc}) : "";
    switch (first.state) {
      case TileState::AtBarrier:
        out += format("%s at barrier %u", one ? "waits" : "wait", first.barrier + 1) + at;
        break;
      case TileState::Waiting:
        out += first.word ? format("%s for the word at 0x%08llx to become %d (it is %d)", one ? "waits" : "wait",
                                   static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(first.word)),
                                   first.value, *first.word)
                          : std::string(one ? "polls" : "poll");
        out += at;
        break;
      case TileState::Ready:
      case TileState::Running: out += (one ? "runs" : "run") + (first.state == TileState::Ready ? at : ""); break;
      case TileState::Unstarted: out += one ? "has not started" : "have not started"; break;
      case TileState::Done: out += one ? "has ended" : "have ended"; break;
      case TileState::GivenUp:  // it ran until it heard that the launch has ended
        out += first.pc ? (one ? "runs" : "run") + at : one ? "was stopped" : "were stopped";
        break;
    }
  }
  return out;
}

std::string Emulator::explain(const Finding& finding, const Wave& wave) const {
  std::string out = wave.launch->kernel;
  out += ": ";
  if (finding.x >= 0) {
    out += format("tile (%d,%d) ", finding.x, finding.y);
    if (wave.launch->grid.area() > 1) out += format("of group (%u,%u) ", finding.group.x, finding.group.y);
  }
  std::string text = finding.text;
  auto insert = [&](const char* mark, const std::vector<uintptr_t>& pcs) {
    size_t at = text.find(mark);
    if (at != std::string::npos) text.replace(at, 2, locate(pcs));
  };
  insert("%1", finding.pcs);
  insert("%2", finding.others);
  out += text;
  if (finding.line) out += format(" at %s:%d", short_path(finding.file).c_str(), finding.line);
  out += " [" + finding.kind;
  if (options_.check) out += format("; check mode, seed %u", options_.seed);
  out += "]";
  if (finding.who_waits) out += who_waits(wave);
  return out;
}

}  // namespace fc::hb
