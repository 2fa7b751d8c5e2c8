// SPDX-License-Identifier: Apache-2.0
// What programs call by name (torch.hammerblade stands on it): launches, kernel files, the machine, the mode, prints.
#include <atomic>

#include "backends/hammerblade/runtime/watch.h"
#include "plugin.h"

namespace hammerblade {
namespace {

// Accesses of kernels, counted while somebody asks for it.
std::atomic<uint64_t> loads{0}, stores{0};
std::atomic<long> counting{0};

void count_accesses(void*, const facula_hb_access_t* all, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (all[i].kind != FACULA_HB_STORE) loads.fetch_add(1, std::memory_order_relaxed);
    if (all[i].kind != FACULA_HB_LOAD) stores.fetch_add(1, std::memory_order_relaxed);
  }
}

struct Arguments {
  const char* function;
  const fc_value* args;
  int n;
  [[noreturn]] void wrong(int i, const char* what) const {
    fb::fail(std::string(function) + ": argument " + std::to_string(i) + " must be " + what);
  }
  void count(int least, int most) const {
    if (n < least || n > most)
      fb::fail(std::string(function) + " takes " + std::to_string(least) + " to " + std::to_string(most) +
               " arguments, but was given " + std::to_string(n));
  }
  std::string text(int i) const {
    if (args[i].tag != FC_TAG_STRING) wrong(i, "a text");
    return {args[i].u.text, static_cast<size_t>(args[i].n)};
  }
  int64_t integer(int i) const {
    if (args[i].tag != FC_TAG_INT && args[i].tag != FC_TAG_BOOL) wrong(i, "an integer");
    return args[i].u.i;
  }
  double number(int i) const {
    if (args[i].tag == FC_TAG_DOUBLE) return args[i].u.d;
    return static_cast<double>(integer(i));
  }
};

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += one + "\n";
  return text;
}

std::string parameters_of(const Kernel& k) {
  static const char* const kinds[] = {"out", "in", "maybe", "changed", "list", "ints", "numbers", "number", "ignored"};
  if (!k.row) return k.signature;
  std::string text;
  for (int i = 0; i < k.row->n_parameters; ++i) {
    const hb::Parameter& p = k.row->parameters[i];
    if (p.kind == hb::kFault) continue;
    text += (text.empty() ? "" : ", ") + std::string(kinds[p.kind]);
    if (p.kind != hb::kInts && p.kind != hb::kIgnored) text += " " + type_name(p.dtype);
  }
  return text;
}

uint32_t dimension(const Arguments& a, int i) {
  const int64_t value = a.integer(i);
  if (value < 1 || value > 64) a.wrong(i, "a number of tiles from 1 to 64");
  return static_cast<uint32_t>(value);
}

}  // namespace

const char* const* HammerBlade::functions() {
  static const char* const all[] = {
      "launch(kernel, *arguments): runs a kernel on all tiles; results are its first arguments",
      "load(path): brings the kernels of a .cpp file, which is compiled, or of a library; returns their names, a line "
      "each",
      "reload([unseen]): compiles the kernel files that have changed, or include one that has, and uses their kernels "
      "from now on; returns their names; unseen 1: not those that have failed already",
      "bind(operator, kernel): has a kernel do an operator; an empty kernel takes that back",
      "kernels(): all kernels, a line each: name, the operator that it does, file, parameters, separated by tabs",
      "machine([name or file]): chooses the machine; returns its name",
      "tiles([x, y]): chooses another mesh than the machine's; returns 'x y'",
      "mode(['fast', 'check' or 'sim', seed]): chooses the mode; returns mode and seed",
      "engine(['emul' or 'sim', (setting, value)...]): chooses what runs kernels, with settings of its own; returns "
      "its "
      "name and its settings, a line each",
      "cycle(): the simulated clock, and what the last kernel took by it",
      "estimates(): of each kernel that was timed a line: name, launches, timed ones, cycles of all, half of the "
      "interval",
      "printed(): what the tiles of the last launch printed, '(x,y) text' a line",
      "echo(on): whether device prints go to standard error",
      "accesses(on): counts what kernels load and store (modes check and sim) from now on, or no longer; returns "
      "'loads "
      "stores'",
      "watchdog(seconds): how long a launch may stand still; 0: for ever",
      nullptr};
  return all;
}

void HammerBlade::call(fc_context& c, const char* function, const fc_value* args, int n_args, fc_value& result) {
  const Arguments a{function, args, n_args};
  const std::string f = function;
  if (f == "launch") return launch_by_name(c, args, n_args);
  if (f == "load") {
    a.count(1, 1);
    give_text(result, lines(library().load(a.text(0))));
    return host.claims_changed("hammerblade");
  }
  if (f == "reload") {
    a.count(0, 1);
    std::vector<std::string> names;
    try {
      names = library().reload(n_args && a.integer(0));
    } catch (...) {
      host.claims_changed("hammerblade");  // others may have been replaced
      throw;
    }
    give_text(result, lines(names));
    if (!names.empty()) host.claims_changed("hammerblade");
    return;
  }
  if (f == "bind") {
    a.count(2, 2);
    library().bind(a.text(0), a.text(1));
    return host.claims_changed("hammerblade");
  }
  if (f == "kernels") {
    a.count(0, 0);
    std::vector<std::string> all;
    for (const Kernel* k : library().kernels())
      all.push_back(k->name + "\t" + (k->row ? k->row->op : "") + "\t" + k->file + "\t" + parameters_of(*k));
    return give_text(result, lines(all));
  }
  if (f == "machine") {
    a.count(0, 1);
    if (n_args) device().select_machine(a.text(0));
    return give_text(result, device().machine().name);
  }
  if (f == "tiles") {
    a.count(0, 2);
    if (n_args == 1) fb::fail("tiles takes x and y, or nothing");
    if (n_args) device().set_tiles({dimension(a, 0), dimension(a, 1)});
    const fc::hb::Dimension t = device().tiles();
    return give_text(result, std::to_string(t.x) + " " + std::to_string(t.y));
  }
  if (f == "mode") {
    a.count(0, 2);
    if (n_args) {
      const int64_t seed = n_args > 1 ? a.integer(1) : 1;
      if (seed < 0 || seed > UINT32_MAX) a.wrong(1, "a seed from 0 to 2^32 - 1");
      device().set_mode(fc::hb::mode_named(a.text(0)), static_cast<uint32_t>(seed));
    }
    return give_text(result, fc::hb::name_of(device().mode()) + (" " + std::to_string(device().seed())));
  }
  if (f == "engine") {
    if (n_args) {
      if (n_args % 2 == 0) fb::fail("engine takes a name, then pairs of a setting and its value");
      const std::string name = a.text(0);
      if (name != "emul" && name != "sim") a.wrong(0, "'emul' or 'sim'");
      device().set_mode(name == "sim" ? fc::hb::Mode::Sim : device().emulator_mode(), device().seed());
      for (int i = 1; i < n_args; i += 2) device().set_engine(a.text(i), a.text(i + 1));
    }
    std::string text = fc::hb::engine_name(device().mode());
    for (const auto& setting : device().engine_settings()) text += "\n" + setting.name + "\n" + setting.value;
    return give_text(result, text);
  }
  if (f == "cycle") {
    a.count(0, 0);
    return give_text(result, std::to_string(device().cycle()) + " " + std::to_string(device().last_time().cycles));
  }
  if (f == "estimates") {
    a.count(0, 0);
    std::string text;
    for (const auto& e : device().estimates())
      text += e.kernel + "\t" + std::to_string(e.launches) + "\t" + std::to_string(e.timed) + "\t" +
              std::to_string(e.cycles) + "\t" + std::to_string(e.interval) + "\n";
    return give_text(result, text);
  }
  if (f == "printed") {
    a.count(0, 0);
    std::string text;
    for (const auto& p : device().prints())
      text += "(" + std::to_string(p.tile.x) + "," + std::to_string(p.tile.y) + ") " + p.text +
              (p.text.ends_with('\n') ? "" : "\n");
    return give_text(result, text);
  }
  if (f == "echo") {
    a.count(1, 1);
    return device().set_echo(a.integer(0) != 0);
  }
  if (f == "accesses") {
    a.count(1, 1);
    const bool on = a.integer(0) != 0;
    if (const long before = counting.exchange(0)) facula_hb_unwatch(before);
    const std::string text = std::to_string(loads) + " " + std::to_string(stores);
    if (on) {
      loads = stores = 0;
      facula_hb_watcher_t watcher{};
      watcher.size = sizeof watcher;
      watcher.accesses = count_accesses;
      counting = facula_hb_watch(&watcher);
    }
    return give_text(result, text);
  }
  if (f == "watchdog") {
    a.count(1, 1);
    if (!(a.number(0) >= 0)) a.wrong(0, "a number of seconds, or 0");
    return device().set_watchdog(a.number(0));
  }
  fb::fail("the backend has no function " + f, FC_UNSUPPORTED);
}

}  // namespace hammerblade
