// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/gdb.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/simulator/interrupt.h"

namespace fc::hb::sim {

namespace {

constexpr uint32_t most_bytes = 0x4000, register_pc = 32, register_f = 33, register_csr = 65, register_count = 68;
constexpr const char* trap = "05";

std::string hex(const void* data, size_t n) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < n; ++i) {
    const uint8_t byte = static_cast<const uint8_t*>(data)[i];
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

int digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

// Pairs of digits; false: it is something else.
bool bytes_of_hex(const std::string& text, std::vector<uint8_t>* out) {
  if (text.size() % 2) return false;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    out->push_back(static_cast<uint8_t>(high << 4 | low));
  }
  return true;
}

// A number in hexadecimal at the front of `text`, taken off together with what separates it from the rest.
bool take(std::string* text, uint64_t* value) {
  size_t n = 0;
  *value = 0;
  while (n < text->size() && n < 16 && digit((*text)[n]) >= 0)
    *value = *value << 4 | static_cast<uint64_t>(digit((*text)[n++]));
  if (!n) return false;
  text->erase(0, n + (n < text->size()));
  return true;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

std::string target_description() {
  static constexpr const char* names[] = {"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "fp", "s1", "a0",
                                          "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                          "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
  static constexpr const char* floats[] = {"ft0", "ft1", "ft2",  "ft3",  "ft4", "ft5", "ft6",  "ft7",
                                           "fs0", "fs1", "fa0",  "fa1",  "fa2", "fa3", "fa4",  "fa5",
                                           "fa6", "fa7", "fs2",  "fs3",  "fs4", "fs5", "fs6",  "fs7",
                                           "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"};
  std::string text =
      "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM "
      "\"gdb-target.dtd\"><target><architecture>riscv:rv32</architecture>"
      "<feature name=\"org.gnu.gdb.riscv.cpu\">";
  for (uint32_t i = 0; i < 32; ++i)
    text += format("<reg name=\"%s\" bitsize=\"32\" type=\"%s\" regnum=\"%u\"/>", names[i],
                   i == 2 || i == 8 ? "data_ptr"
                   : i == 1         ? "code_ptr"
                                    : "int",
                   i);
  text +=
      "<reg name=\"pc\" bitsize=\"32\" type=\"code_ptr\" regnum=\"32\"/></feature><feature "
      "name=\"org.gnu.gdb.riscv.fpu\">";
  for (uint32_t i = 0; i < 32; ++i)
    text += format("<reg name=\"%s\" bitsize=\"32\" type=\"ieee_single\" regnum=\"%u\"/>", floats[i], register_f + i);
  for (const auto& [name, number] :
       {std::pair{"fflags", register_csr}, {"frm", register_csr + 1}, {"fcsr", register_csr + 2}})
    text += format("<reg name=\"%s\" bitsize=\"32\" type=\"int\" regnum=\"%u\"/>", name, number);
  return text + "</feature></target>";
}

Gdb* serving = nullptr;  // told when the process exits

}  // namespace

Gdb::Gdb(const std::string& where) : process_(getpid()) {
  const auto fails = [&](const char* what) {
    const int why = errno;
    if (listener_ >= 0) close(listener_);
    throw Error(HB_MC_FAIL, format("gdb=%s: %s: %s", where.c_str(), what, strerror(why)));
  };
  std::string how;
  if (where.find('/') != std::string::npos) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (where.size() >= sizeof name.sun_path)
      throw Error(HB_MC_INVALID, format("gdb=%s: a socket's name has at most %zu characters", where.c_str(),
                                        sizeof name.sun_path - 1));
    memcpy(name.sun_path, where.c_str(), where.size() + 1);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&name), sizeof name)) fails("cannot be made");
    path_ = where;
    how = where;
  } else {
    char* end = nullptr;
    const long port = strtol(where.c_str(), &end, 10);
    if (where.empty() || *end || port < 0 || port > 65535)
      throw Error(HB_MC_INVALID, format("gdb=%s: it is a port from 0 (any) to 65535, or the path of a socket, or none",
                                        where.c_str()));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name.sin_port = htons(static_cast<uint16_t>(port));
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (listener_ >= 0) setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&name), sizeof name)) fails("cannot be bound");
    socklen_t size = sizeof name;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size);
    how = format("localhost:%u", ntohs(name.sin_port));
  }
  if (listen(listener_, 1)) fails("cannot be listened at");
  fprintf(stderr, "hammerblade: launches wait for a debugger: gdb-multiarch -ex 'target remote %s'\n", how.c_str());
  if (!serving)
    atexit([] {
      if (serving) serving->exits();
    });
  serving = this;
}

Gdb::~Gdb() {
  if (serving == this) serving = nullptr;
  if (peer_ >= 0) close(peer_);
  if (listener_ >= 0) close(listener_);
  if (!path_.empty() && own_process()) unlink(path_.c_str());
}

bool Gdb::own_process() const { return getpid() == process_; }

void Gdb::exits() {
  if (!own_process()) return;
  if (peer_ >= 0) {
    running_ = true;
    send("W00");
    close(std::exchange(peer_, -1));
  }
  if (!path_.empty()) unlink(path_.c_str());
}

// ---- the connection -------------------------------------------------------------------------------------------------

bool Gdb::connect(bool wait) {
  for (;;) {
    pollfd look{listener_, POLLIN, 0};
    const int ready = poll(&look, 1, wait ? 200 : 0);
    if (ready > 0) break;
    if (!wait) return false;
    if (take_interrupt()) {
      mesh_->cancel("interrupted while it waited for a debugger");
      return false;
    }
  }
  peer_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (peer_ < 0) return false;
  const int on = 1;
  setsockopt(peer_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // no TCP: it does not matter
  have_ = next_ = 0;
  acknowledges_ = true;
  general_ = 1;
  shown_ = nullptr;
  return true;
}

void Gdb::leave(const char* how) {
  for (uint32_t address : breakpoints_) mark(address, false);
  breakpoints_.clear();
  stepping_ = nullptr;
  close(std::exchange(peer_, -1));
  fprintf(stderr, "hammerblade: the debugger %s; the program runs on without it\n", how);
}

int Gdb::byte() {
  while (next_ == have_) {
    const ssize_t n = recv(peer_, buffer_, sizeof buffer_, 0);
    if (n < 0 && errno == EINTR) {
      if (!take_interrupt()) continue;
      mesh_->cancel("interrupted while a debugger looked at it");
      return -1;
    }
    if (n <= 0) return -1;
    have_ = static_cast<size_t>(n);
    next_ = 0;
  }
  return static_cast<uint8_t>(buffer_[next_++]);
}

void Gdb::send(const std::string& payload) {
  uint8_t sum = 0;
  std::string packet = "$";
  for (char c : payload) {
    if (c == '$' || c == '#' || c == '}' || c == '*') {
      packet += '}';
      sum = static_cast<uint8_t>(sum + '}');
      c = static_cast<char>(c ^ 0x20);
    }
    packet += c;
    sum = static_cast<uint8_t>(sum + static_cast<uint8_t>(c));
  }
  packet += "#" + hex(&sum, 1);
  for (size_t at = 0; at < packet.size();) {
    const ssize_t n = ::send(peer_, packet.data() + at, packet.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the next read says so
    at += static_cast<size_t>(n);
  }
}

bool Gdb::receive(std::string* payload) {
  for (;;) {
    int c = byte();
    while (c >= 0 && c != '$') c = byte();  // acknowledgements, and ^C while nothing runs
    payload->clear();
    uint8_t sum = 0;
    for (c = c < 0 ? c : byte(); c >= 0 && c != '#'; c = byte()) {
      if (payload->size() >= 2 * most_bytes) return false;
      sum = static_cast<uint8_t>(sum + c);
      *payload += static_cast<char>(c);
    }
    if (c < 0) return false;
    const int high = byte(), low = byte();
    if (low < 0) return false;
    const bool good = digit(static_cast<char>(high)) * 16 + digit(static_cast<char>(low)) == sum;
    if (acknowledges_ && ::send(peer_, good ? "+" : "-", 1, MSG_NOSIGNAL) != 1) return false;
    if (good) return true;
  }
}

void Gdb::say(const std::string& text) { send("O" + hex(text.data(), text.size())); }

bool Gdb::interrupted() {
  if (++polls_ % 1024) return false;
  pollfd look{peer_, POLLIN, 0};
  if (poll(&look, 1, 0) <= 0) return false;
  const ssize_t n = recv(peer_, buffer_, sizeof buffer_, MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
    leave("has gone");
    return false;
  }
  return n > 0 && memchr(buffer_, 3, static_cast<size_t>(n));
}

// ---- what the engine tells ------------------------------------------------------------------------------------------

void Gdb::begins(Mesh& mesh, const char* kernel) {
  mesh_ = &mesh;
  kernel_ = kernel;
  stopped_at_ = nullptr;
  if (killed_ || !own_process()) return;
  const bool first = peer_ < 0;
  if (first && !connect(!std::exchange(waited_, true))) return;
  if (first) {
    last_stop_ = format("T%sthread:1;", trap);
    stop(nullptr, "");
  }
  if (peer_ >= 0 && !mesh.stopped() && shown_ != mesh.program()) {  // GDB reads its symbols, and sets breakpoints in it
    shown_ = mesh.program();
    breakpoints_.clear();
    last_stop_ = format("T%slibrary:;thread:1;", trap);
    return stop(nullptr, last_stop_.c_str());
  }
  for (uint32_t address : breakpoints_) mark(address, true);
  if (stepping_) last_stop_ = format("T%sthread:1;", trap), stop(nullptr, last_stop_.c_str());
}

void Gdb::ends() {
  for (uint32_t address : breakpoints_) mark(address, false);
  mesh_ = nullptr;
}

bool Gdb::before(Tile& tile, uint64_t done) {
  if (peer_ < 0 || !own_process()) return true;
  if (interrupted()) {
    stopped_at_ = &tile, stopped_after_ = done;
    stop(&tile, "02");
    return may_go(tile);
  }
  if (peer_ < 0) return true;
  if (stepping_) {
    if (stepping_ == &tile) {
      if (stopped_at_ == &tile && stopped_after_ == done) return true;
      stopped_at_ = &tile, stopped_after_ = done;
      stop(&tile, trap);
      return may_go(tile);
    }
    if (alone_ && stepping_->doing == Doing::Runs) return false;
  }
  const Instruction* const i = mesh_->program()->at(tile.s.pc);
  if (!i || !(i->marks & at_breakpoint) || (stopped_at_ == &tile && stopped_after_ == done)) return true;
  stopped_at_ = &tile, stopped_after_ = done;
  stop(&tile, trap);
  return may_go(tile);
}

bool Gdb::may_go(const Tile& tile) const {
  return !mesh_->stopped() && !(stepping_ && stepping_ != &tile && alone_ && stepping_->doing == Doing::Runs);
}

void Gdb::fault(const Tile& tile, const std::string& sentence) {
  if (peer_ < 0 || !mesh_ || !own_process()) return;
  say(sentence + "\n");
  stop(&tile, sentence.find("[illegal") != std::string::npos     ? "04"
              : sentence.find("[assertion") != std::string::npos ? "06"
                                                                 : "0b");
}

void Gdb::stop(const Tile* tile, const char* reason) {
  stepping_ = nullptr;
  if (tile) {
    general_ = tile->index + 1;
    last_stop_ = format("T%sthread:%x;", reason, general_);
  }
  running_ = false;
  if (*reason) send(last_stop_);
  for (std::string packet; peer_ >= 0;) {
    if (!receive(&packet)) return mesh_->stopped() && !killed_ ? leave("was sent away") : leave("has gone");
    if (answer(packet)) break;
  }
  running_ = true;
}

// ---- what GDB asks --------------------------------------------------------------------------------------------------

Tile* Gdb::selected(uint32_t thread) {
  return thread >= 1 && thread <= mesh_->tiles.size() ? &mesh_->tiles[thread - 1] : nullptr;
}

bool Gdb::answer(const std::string& packet) {
  const std::string rest = packet.size() > 1 ? packet.substr(1) : "";
  const auto starts = [&](const char* text) { return packet.starts_with(text); };
  Tile* const tile = selected(general_);
  uint64_t number = 0;
  switch (packet.empty() ? 0 : packet[0]) {
    case '?': send(last_stop_); return false;
    case 'g': send(tile ? registers(*tile) : "E01"); return false;
    case 'G': {
      std::vector<uint8_t> bytes;
      const bool good = tile && bytes_of_hex(rest, &bytes) && bytes.size() == size_t{register_count} * 4;
      for (uint32_t i = 0; good && i < register_count; ++i) {
        uint32_t value;
        memcpy(&value, bytes.data() + size_t{i} * 4, 4);
        write_register(*tile, i, value);
      }
      send(good ? "OK" : "E01");
      return false;
    }
    case 'p': {
      std::string text = rest;
      send(tile && take(&text, &number) && number < register_count ? one_register(*tile, static_cast<uint32_t>(number))
                                                                   : "E01");
      return false;
    }
    case 'P': {
      std::string text = rest;
      std::vector<uint8_t> bytes;
      uint32_t value = 0;
      const bool good = tile && take(&text, &number) && bytes_of_hex(text, &bytes) && bytes.size() == 4;
      if (good) memcpy(&value, bytes.data(), 4);
      send(good && number < register_count && write_register(*tile, static_cast<uint32_t>(number), value) ? "OK"
                                                                                                          : "E01");
      return false;
    }
    case 'm': send(read_memory(rest)); return false;
    case 'M': send(write_memory(rest)); return false;
    case 'H': {
      std::string text = rest.empty() ? rest : rest.substr(1);
      const bool any = text == "-1" || text == "0";
      if (!any && (!take(&text, &number) || !selected(static_cast<uint32_t>(number)))) {
        send("E01");
        return false;
      }
      if (rest[0] == 'g' && !any) general_ = static_cast<uint32_t>(number);
      send("OK");
      return false;
    }
    case 'T': {
      std::string text = rest;
      send(take(&text, &number) && selected(static_cast<uint32_t>(number)) ? "OK" : "E01");
      return false;
    }
    case 'Z':
    case 'z': {
      std::string text = rest.size() > 2 ? rest.substr(2) : "";
      if (rest.empty() || rest[0] > '1') break;  // the debugger watches words by steps
      const bool good = take(&text, &number) && mesh_->program()->at(static_cast<uint32_t>(number));
      if (good) {
        mark(static_cast<uint32_t>(number), packet[0] == 'Z');
        if (packet[0] == 'Z') breakpoints_.insert(static_cast<uint32_t>(number));
        else breakpoints_.erase(static_cast<uint32_t>(number));
      }
      send(good || packet[0] == 'z' ? "OK" : "E01");
      return false;
    }
    case 'c': return resume("c");
    case 's': return resume("s");
    case 'D':
      send("OK");
      leave("has let go");
      return true;
    case 'k':
      killed_ = true;
      mesh_->cancel("ended by the debugger");
      leave("has ended the launch");
      return true;
    default: break;
  }
  if (starts("vCont;")) return resume(packet.substr(6));
  if (starts("vKill")) {
    send("OK");
    killed_ = true;
    mesh_->cancel("ended by the debugger");
    leave("has ended the launch");
    return true;
  }
  if (starts("vCont?")) send("vCont;c;C;s;S");
  else if (starts("qSupported"))
    send(
        format("PacketSize=%x;QStartNoAckMode+;vContSupported+;qXfer:features:read+;qXfer:threads:read+;"
               "qXfer:libraries:read+",
               most_bytes));
  else if (starts("QStartNoAckMode")) {
    send("OK");
    acknowledges_ = false;
  } else if (starts("qXfer:")) send(document(packet));
  else if (starts("qC")) send(format("QC%x", general_));
  else if (starts("qAttached")) send("1");
  else if (starts("qfThreadInfo")) {
    std::string list = "m";
    for (const Tile& t : mesh_->tiles) list += format("%s%x", t.index ? "," : "", t.index + 1);
    send(list);
  } else if (starts("qsThreadInfo")) send("l");
  else if (starts("qThreadExtraInfo,")) {
    std::string text = packet.substr(17);
    const Tile* const of = take(&text, &number) ? selected(static_cast<uint32_t>(number)) : nullptr;
    const std::string what = of ? describe(*of) : "";
    send(of ? hex(what.data(), what.size()) : "E01");
  } else send("");  // not known
  return false;
}

bool Gdb::resume(const std::string& actions) {
  stepping_ = nullptr;
  alone_ = true;
  for (size_t from = 0; from < actions.size();) {
    const size_t end = std::min(actions.find(';', from), actions.size());
    const std::string one = actions.substr(from, end - from);
    from = end + 1;
    const size_t colon = one.find(':');
    uint64_t thread = general_;
    if (colon != std::string::npos) {
      std::string text = one.substr(colon + 1);
      if (text != "-1" && !take(&text, &thread)) thread = 0;
    }
    const bool steps = one[0] == 's' || one[0] == 'S';
    if (steps && !stepping_) stepping_ = selected(static_cast<uint32_t>(thread));
    if (!steps && (colon == std::string::npos || thread == ~uint64_t{0})) alone_ = false;
  }
  if (actions.size() == 1) alone_ = false;
  if (stepping_ && stopped_at_ != stepping_) {  // one instruction of a tile that did not stop by itself
    stopped_at_ = nullptr;
  }
  return true;
}

void Gdb::mark(uint32_t address, bool set) {
  if (!mesh_ || !mesh_->program()) return;
  Program& program = *mesh_->program();
  if (!program.at(address)) return;
  uint32_t& marks = program.code[(address - program.text()) / 4].marks;
  marks = set ? marks | at_breakpoint : marks & ~static_cast<uint32_t>(at_breakpoint);
}

std::string Gdb::registers(const Tile& tile) const {
  std::string all;
  for (uint32_t i = 0; i < register_count; ++i) all += one_register(tile, i);
  return all;
}

std::string Gdb::one_register(const Tile& tile, uint32_t number) const {
  const State& s = tile.s;
  uint32_t value = 0;
  if (number < register_pc) value = s.x[number];
  else if (number == register_pc) value = s.pc;
  else if (number < register_csr) value = s.f[number - register_f];
  else if (number == register_csr) value = s.flags;
  else value = number == register_csr + 1 ? s.rounding : static_cast<uint32_t>(s.rounding << 5 | s.flags);
  return hex(&value, 4);
}

bool Gdb::write_register(Tile& tile, uint32_t number, uint32_t value) {
  State& s = tile.s;
  if (number == 0) return true;
  if (number < register_pc) s.x[number] = value;
  else if (number == register_pc) s.pc = value;
  else if (number < register_csr) s.f[number - register_f] = value;
  else if (number != register_csr + 1) s.flags = value & 0x1f;
  if (number == register_csr + 1) s.rounding = value & 7;
  if (number == register_csr + 2) s.rounding = value >> 5 & 7;
  return true;
}

std::string Gdb::read_memory(const std::string& arguments) {
  std::string text = arguments, out;
  uint64_t address, bytes;
  const Tile* const tile = selected(general_);
  if (!tile || !take(&text, &address) || !take(&text, &bytes)) return "E01";
  for (uint64_t i = 0; i < std::min<uint64_t>(bytes, most_bytes / 2 - 8); ++i) {
    const auto here = static_cast<uint32_t>(address + i);
    const Place at = mesh_->resolve(*tile, here);
    if (at.target == Target::Nowhere || at.target == Target::Host || at.target == Target::Config ||
        (at.target == Target::Dram && !mesh_->touchable(here, 1, false)))
      break;
    const uint32_t value = mesh_->read(at, 1);
    out += hex(&value, 1);
  }
  return out.empty() && bytes ? "E14" : out;
}

std::string Gdb::write_memory(const std::string& arguments) {
  std::string text = arguments;
  uint64_t address, count;
  std::vector<uint8_t> bytes;
  const Tile* const tile = selected(general_);
  if (!tile || !take(&text, &address) || !take(&text, &count) || !bytes_of_hex(text, &bytes) || bytes.size() != count)
    return "E01";
  for (int pass = 0; pass < 2; ++pass) {  // all of it, or nothing
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto here = static_cast<uint32_t>(address + i);
      const Place at = mesh_->resolve(*tile, here);
      if (at.target != Target::Own && at.target != Target::Tile && at.target != Target::Dram) return "E14";
      if (at.target == Target::Dram && !mesh_->touchable(here, 1, true)) return "E14";
      if (pass) mesh_->write(at, bytes[i], 1);
    }
  }
  return "OK";
}

std::string Gdb::describe(const Tile& tile) const {
  const uint32_t x = tile.x - tile.origin_x, y = tile.y - tile.origin_y;
  const char* what = tile.slot < 0                    ? "has no part in the launch"
                     : !tile.in_kernel                ? "has ended"
                     : tile.doing == Doing::AtBarrier ? "at a barrier"
                     : tile.doing == Doing::Sleeps    ? "asleep until a word is written"
                                                      : "in the kernel";
  return format("tile (%u,%u) %s", x, y, what);
}

std::string Gdb::threads() const {
  std::string text = "<?xml version=\"1.0\"?><threads>";
  for (const Tile& tile : mesh_->tiles)
    text += format("<thread id=\"%x\" name=\"(%u,%u)\">%s</thread>", tile.index + 1, tile.x, tile.y,
                   describe(tile).c_str());
  return text + "</threads>";
}

// qXfer:object:read:annex:offset,length
std::string Gdb::document(const std::string& query) {
  std::string text;
  if (query.starts_with("qXfer:features:read:target.xml:")) text = target_description();
  else if (query.starts_with("qXfer:threads:read:")) text = threads();
  else if (query.starts_with("qXfer:libraries:read:")) {
    text = "<library-list>";
    if (const Program* p = mesh_->program()) {  // sections lie where the file says: each is moved by nothing
      text += "<library name=\"" + escaped(p->path()) + "\">";
      for (uint32_t i = 0; i < p->loaded_sections; ++i) text += "<section address=\"0\"/>";
      text += "</library>";
    }
    text += "</library-list>";
  } else return "E00";
  std::string range = query.substr(query.rfind(':') + 1);
  uint64_t offset, length;
  if (!take(&range, &offset) || !take(&range, &length)) return "E01";
  if (offset >= text.size()) return "l";
  length = std::min<uint64_t>(length, most_bytes - 8);
  return (offset + length >= text.size() ? "l" : "m") + text.substr(offset, length);
}

}  // namespace fc::hb::sim
