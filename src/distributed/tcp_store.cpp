// SPDX-License-Identifier: Apache-2.0
#include "distributed/tcp_store.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>

#include "distributed/tcp_message.h"
#include "distributed/tcp_server.h"

namespace fc::distributed {
namespace {

constexpr Duration kSlice = std::chrono::milliseconds(100);  // between looks for an interrupt
constexpr Duration kSlack = std::chrono::seconds(10);        // that the server's answer may take beyond a time-out
constexpr Duration kAnswer = std::chrono::seconds(60);       // at most, to what does not wait

}  // namespace

// One request is under way at a time. What breaks one off closes the socket; the next opens another.
struct TcpStore::Connection {
  explicit Connection(const TcpOptions& o) : options(o), pid(getpid()) {}
  ~Connection() { close(); }
  void close() {
    if (fd >= 0) ::close(std::exchange(fd, -1));
  }

  // Waits for the socket; throws at `end`, or what an interrupt throws.
  void wait_ready(int socket, short events, Clock::time_point end, const char* what) {
    for (;;) {
      pollfd p{socket, events, 0};
      const auto left = std::chrono::ceil<Duration>(end - Clock::now());
      FC_CHECK_AS(distributed::NetworkError, left.count() > 0, name(), " did not ", what, " in time");
      const int n = ::poll(&p, 1, static_cast<int>(std::min(left, kSlice).count()));
      if (n > 0) return;
      check_interrupt();
    }
  }

  std::optional<std::string> try_connect(const addrinfo* a, Clock::time_point end) {  // why not
    const int socket = ::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return std::strerror(errno);
    try {
      if (::connect(socket, a->ai_addr, a->ai_addrlen) != 0) {
        if (errno != EINPROGRESS) throw NetworkError(std::strerror(errno));
        wait_ready(socket, POLLOUT, std::min(end, Clock::now() + std::chrono::seconds(10)), "accept");
      }
      int error = 0;
      socklen_t length = sizeof error;
      ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
      if (error) throw NetworkError(std::strerror(error));
    } catch (const NetworkError& e) {
      ::close(socket);
      return e.message();
    } catch (...) {
      ::close(socket);
      throw;
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fd = socket;
    return {};
  }

  void connect(Clock::time_point end) {  // until there is a server, which may come later than its clients
    std::string why;
    for (int tries = 0;; ++tries) {
      AddressList addresses(options.host, options.port, false);
      for (auto* a = addresses.first; a && fd < 0; a = a->ai_next)
        if (auto no = try_connect(a, end)) why = *no;
      if (fd >= 0) break;
      FC_CHECK_AS(distributed::NetworkError, Clock::now() < end, "no answer from ", name(), " within ",
                  seconds(options.timeout), ": ", why,
                  ". Is the process of rank 0 (or the launcher) running, and is this its address?");
      check_interrupt();
      std::this_thread::sleep_for(tries < 20 ? std::chrono::milliseconds(10) : kSlice);
    }
    std::string hello(kMagic);
    hello += static_cast<char>(options.token.size());
    hello += options.token;
    write(hello, end);
    char welcome = 0;
    read(&welcome, 1, end,
         ": the token of this run is wrong or missing (launchers hand it out in TORCH_DISTRIBUTED_TOKEN), or the "
         "address is not a store's");
    FC_CHECK_AS(distributed::NetworkError, welcome == kWelcome, name(), " is no store of this version");
  }

  void write(std::string_view bytes, Clock::time_point end) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
      else if (n < 0 && errno == EAGAIN) wait_ready(fd, POLLOUT, end, "read the request");
      else if (n < 0 && errno != EINTR) lost(std::strerror(errno));
    }
  }
  void read(char* into, size_t bytes, Clock::time_point end, std::string_view hint = {}) {
    while (bytes) {
      const ssize_t n = ::recv(fd, into, bytes, 0);
      if (n > 0) into += n, bytes -= static_cast<size_t>(n);
      else if (n < 0 && errno == EAGAIN) wait_ready(fd, POLLIN, end, "answer");
      else if (n == 0) lost(str("it closed the connection", hint));
      else if (errno != EINTR) lost(str(std::strerror(errno), hint));
    }
  }
  [[noreturn]] void lost(std::string_view why) { raise<NetworkError>("the connection to ", name(), " is lost: ", why); }
  std::string name() const { return str("the store at ", options.host, ":", options.port); }

  const TcpOptions& options;
  const pid_t pid;
  std::mutex mutex;
  int fd = -1;
};

struct TcpStore::Reply {
  Answer code;
  int64_t number;
  Strings strings;
};

TcpStore::TcpStore(const TcpOptions& options) : options_(options) {
  FC_CHECK_AS(ValueError, options.port >= 0 && options.port <= 65535, "TCPStore: ", options.port, " is no port");
  FC_CHECK_AS(ValueError, options.server || options.port > 0, "TCPStore: a client needs the server's port");
  FC_CHECK_AS(ValueError, options.token.size() <= kMaxToken, "TCPStore: a token has at most 255 bytes");
  set_timeout(options.timeout);
  if (options.server) server_ = std::make_shared<TcpServer>(options_);
  options_.server = false;  // clones are clients
  connection_ = std::make_unique<Connection>(options_);
  check({});  // connects
}
TcpStore::~TcpStore() = default;

TcpStore::Reply TcpStore::ask(uint8_t request, int64_t number, Strings strings, Duration timeout) {
  const std::string bytes = Message{request, number, std::move(strings)}.encode();
  FC_CHECK_AS(ValueError, !bytes.empty(), "TCPStore: keys and values of one call are smaller than 1 GiB");
  Connection& c = *connection_;
  FC_CHECK_AS(distributed::StoreError, getpid() == c.pid, describe(),
              " was opened before a fork: open it in the child");
  std::lock_guard lock(c.mutex);
  const auto now = Clock::now();
  try {
    if (c.fd < 0) c.connect(now + options_.timeout);
    const auto end = Clock::now() + timeout;
    c.write(bytes, end);
    uint32_t length = 0;
    c.read(reinterpret_cast<char*>(&length), 4, end);
    if (length > kMaxMessage) c.lost("its answer is none");
    std::string body(length, 0);
    c.read(body.data(), length, end);
    auto m = Message::decode(body);
    if (!m) c.lost("its answer is none");
    return {static_cast<Answer>(m->code), m->number, std::move(m->strings)};
  } catch (...) {  // an answer that comes later would be taken for the next one's
    c.close();
    throw;
  }
}

Duration TcpStore::answer_time() const { return std::min(kAnswer, timeout()); }

void TcpStore::set(const std::string& key, const std::string& value) {
  ask(static_cast<uint8_t>(Request::Set), 0, {key, value}, answer_time());
}
std::string TcpStore::get(const std::string& key) {
  Reply r = ask(static_cast<uint8_t>(Request::Get), timeout().count(), {key}, timeout() + kSlack);
  FC_CHECK_AS(distributed::StoreError, r.code == Answer::Done && r.strings.size() == 1, describe(), ": after ",
              seconds(timeout()), " there is still no '", key, "'");
  return std::move(r.strings[0]);
}
int64_t TcpStore::add(const std::string& key, int64_t amount) {
  Reply r = ask(static_cast<uint8_t>(Request::Add), amount, {key}, answer_time());
  FC_CHECK_AS(ValueError, r.code == Answer::Done, r.strings.empty() ? "store.add: refused" : r.strings[0]);
  return r.number;
}
std::string TcpStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  Reply r = ask(static_cast<uint8_t>(Request::CompareSet), 0, {key, expected, desired}, answer_time());
  FC_CHECK_AS(distributed::StoreError, r.strings.size() == 1, describe(), ": no answer to compare_set");
  return std::move(r.strings[0]);
}
bool TcpStore::remove(const std::string& key) {
  return ask(static_cast<uint8_t>(Request::Remove), 0, {key}, answer_time()).number != 0;
}
bool TcpStore::check(const Strings& keys) {
  return ask(static_cast<uint8_t>(Request::Check), 0, keys, answer_time()).number != 0;
}
void TcpStore::wait(const Strings& keys, Duration timeout) {
  Reply r = ask(static_cast<uint8_t>(Request::Wait), timeout.count(), keys, timeout + kSlack);
  FC_CHECK_AS(distributed::StoreError, r.code == Answer::Done, describe(), ": after ", seconds(timeout),
              " there is still no ", r.strings.empty() ? std::string("answer") : r.strings[0]);
}
int64_t TcpStore::count() { return ask(static_cast<uint8_t>(Request::Count), 0, {}, answer_time()).number; }
void TcpStore::append(const std::string& key, const std::string& value) {
  ask(static_cast<uint8_t>(Request::Append), 0, {key, value}, answer_time());
}
Strings TcpStore::keys() { return ask(static_cast<uint8_t>(Request::Keys), 0, {}, answer_time()).strings; }
void TcpStore::queue_push(const std::string& key, const std::string& value) {
  ask(static_cast<uint8_t>(Request::Push), 0, {key, value}, answer_time());
}
std::string TcpStore::queue_pop(const std::string& key, bool block) {
  Reply r = ask(static_cast<uint8_t>(Request::Pop), block ? timeout().count() : -1, {key}, timeout() + kSlack);
  FC_CHECK_AS(distributed::QueueEmptyError, r.code != Answer::Empty, "queue '", key, "' is empty");
  FC_CHECK_AS(distributed::StoreError, r.code == Answer::Done && r.strings.size() == 1, describe(), ": after ",
              seconds(timeout()), " queue '", key, "' is still empty");
  return std::move(r.strings[0]);
}
int64_t TcpStore::queue_length(const std::string& key) {
  return ask(static_cast<uint8_t>(Request::Length), 0, {key}, answer_time()).number;
}
int64_t TcpStore::clock() { return ask(static_cast<uint8_t>(Request::Clock), 0, {}, answer_time()).number; }
Ref<Store> TcpStore::clone() {
  TcpOptions o = options_;
  o.timeout = timeout();
  Ref<TcpStore> other = make_ref<TcpStore>(o);
  other->server_ = server_;
  return other;
}
std::string TcpStore::describe() const { return connection_->name(); }

std::string TcpStore::own_address() const {
  std::lock_guard lock(connection_->mutex);
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(connection_->fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "127.0.0.1";
  std::string text = address_text(reinterpret_cast<sockaddr*>(&address));
  text.resize(text.rfind(':'));
  return text.starts_with('[') ? text.substr(1, text.size() - 2) : text;
}

}  // namespace fc::distributed
