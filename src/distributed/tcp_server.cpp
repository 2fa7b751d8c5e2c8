// SPDX-License-Identifier: Apache-2.0
#include "distributed/tcp_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <list>

#include "core/signals.h"
#include "distributed/key_table.h"
#include "distributed/tcp_message.h"

namespace fc::distributed {

namespace {

constexpr Duration kPatience = std::chrono::seconds(5);  // for the greeting
constexpr int kComplaints = 100;                         // that standard error gets at most
constexpr size_t kMaxOut = size_t{1} << 30;              // that wait for one who does not read

bool same_token(std::string_view a, std::string_view b) {  // in a time that tells nothing
  unsigned char differs = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return !differs;
}

struct Peer {
  int fd;
  std::string name;
  Clock::time_point greeting_ends;
  bool greeted = false, closing = false;
  std::string in, out;
  std::optional<Message> parked;  // a Get, Wait or Pop that waits
  Clock::time_point parked_until{};
};

}  // namespace

AddressList::AddressList(const std::string& host, int port, bool passive) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  const int error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &first);
  FC_CHECK_AS(distributed::NetworkError, error == 0, "host '", host, "' has no address: ", ::gai_strerror(error));
}
AddressList::~AddressList() { ::freeaddrinfo(first); }

std::string address_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address->sa_family == AF_INET) {
    auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    return str(text, ":", ntohs(v4->sin_port));
  }
  if (address->sa_family == AF_INET6) {
    auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    return str("[", text, "]:", ntohs(v6->sin6_port));
  }
  return text;
}

class TcpServer::Loop {
 public:
  explicit Loop(TcpOptions& options) : token_(options.token) {
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    try {
      FC_CHECK_AS(distributed::NetworkError, wake_ >= 0, "TCPStore: no file descriptors left");
      if (options.listen_fd >= 0) listen_ = options.listen_fd;
      else listen(options);
      take_port(options);
      ::fcntl(listen_, F_SETFL, ::fcntl(listen_, F_GETFL) | O_NONBLOCK);
    } catch (...) {
      close_all();
      throw;
    }
  }
  ~Loop() { close_all(); }
  void stop() {
    const uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
  }
  void abandon() noexcept {  // in a child after a fork: the parent serves
    for (auto& p : peers_) ::close(p.fd);
    peers_.clear();
  }

  void run() {
    hold_signals_on_worker();
    std::vector<pollfd> fds;
    for (;;) {
      fds.assign({{wake_, POLLIN, 0}, {listen_, POLLIN, 0}});
      for (auto& p : peers_) fds.push_back({p.fd, static_cast<short>(POLLIN | (p.out.empty() ? 0 : POLLOUT)), 0});
      if (::poll(fds.data(), fds.size(), next_deadline()) < 0 && errno != EINTR) return;
      if (fds[0].revents) return;
      const auto now = Clock::now();
      size_t i = 2;
      for (auto& p : peers_) {  // in the order of fds; new ones come after
        const short events = fds[i++].revents;
        if (events & (POLLIN | POLLHUP | POLLERR)) read(p);
        if (events & POLLOUT) write(p);
      }
      answer_parked(now);
      for (auto& p : peers_)
        if (!p.greeted && !p.closing && now >= p.greeting_ends)
          refuse(p, p.in.empty() ? "said nothing for 5 s" : "did not finish its greeting within 5 s");
      std::erase_if(peers_, [](Peer& p) {
        if (p.closing) ::close(p.fd);
        return p.closing;
      });
      if (fds[1].revents) accept();
    }
  }

 private:
  void listen(const TcpOptions& options) {
    AddressList addresses(options.host, options.port, true);
    int error = 0;
    auto try_address = [&](const sockaddr* address, socklen_t length) {
      const int fd = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (fd < 0) {
        error = errno;
        return false;
      }
      const int on = 1;
      ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (::bind(fd, address, length) == 0 && ::listen(fd, 1024) == 0) {
        listen_ = fd;
        return true;
      }
      error = errno;
      ::close(fd);
      return false;
    };
    bool elsewhere = false;  // the name means an address that this machine has only from outside
    for (auto* a = addresses.first; a; a = a->ai_next) {
      if (try_address(a->ai_addr, a->ai_addrlen)) return;
      elsewhere |= error == EADDRNOTAVAIL;
    }
    if (elsewhere) {
      sockaddr_in any{};
      any.sin_family = AF_INET;
      any.sin_port = htons(static_cast<uint16_t>(options.port));
      if (try_address(reinterpret_cast<sockaddr*>(&any), sizeof any)) return;
    }
    FC_CHECK_AS(distributed::NetworkError, error != EADDRINUSE, "TCPStore: port ", options.port, " of ", options.host,
                " is in use: another program, or an earlier run that has not ended. MASTER_PORT, or the port of "
                "tcp://, names another one");
    raise<NetworkError>("TCPStore: cannot listen on ", options.host, ":", options.port, ": ", std::strerror(error));
  }
  void take_port(TcpOptions& options) const {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    FC_CHECK_AS(distributed::NetworkError, ::getsockname(listen_, reinterpret_cast<sockaddr*>(&address), &length) == 0,
                "TCPStore: descriptor ", listen_, " is no socket");
    options.port = ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                                       : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  }
  void close_all() noexcept {
    abandon();
    if (listen_ >= 0) ::close(listen_);
    if (wake_ >= 0) ::close(wake_);
  }

  int next_deadline() const {  // milliseconds that poll may sleep
    auto first = Clock::time_point::max();
    for (auto& p : peers_) {
      if (!p.greeted) first = std::min(first, p.greeting_ends);
      if (p.parked) first = std::min(first, p.parked_until);
    }
    if (first == Clock::time_point::max()) return -1;
    return static_cast<int>(std::clamp<int64_t>(std::chrono::ceil<Duration>(first - Clock::now()).count(), 0, 60'000));
  }

  void accept() {
    for (;;) {
      sockaddr_storage address{};
      socklen_t length = sizeof address;
      const int fd = ::accept4(listen_, reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) return;
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      peers_.push_back({fd,
                        address_text(reinterpret_cast<sockaddr*>(&address)),
                        Clock::now() + kPatience,
                        false,
                        false,
                        {},
                        {},
                        {},
                        {}});
    }
  }

  void refuse(Peer& p, std::string_view why) {
    if (++complaints_ <= kComplaints)
      std::fprintf(stderr, "torch.distributed: the store refused %s, which %.*s\n", p.name.c_str(),
                   static_cast<int>(why.size()), why.data());
    p.closing = true;
  }

  void read(Peer& p) {
    char buffer[65536];
    while (!p.closing) {
      const ssize_t n = ::recv(p.fd, buffer, sizeof buffer, 0);
      if (n > 0) {
        p.in.append(buffer, static_cast<size_t>(n));
        parse(p);
      } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        if (!p.greeted && !p.in.empty()) refuse(p, "left in the middle of its greeting");
        p.closing = true;
      } else if (errno == EAGAIN) {
        return;
      }
    }
  }

  void parse(Peer& p) {
    if (!p.greeted) {
      const size_t n = std::min(p.in.size(), kMagic.size());
      if (p.in.compare(0, n, kMagic.substr(0, n)) != 0) return refuse(p, "does not speak the store's protocol");
      if (p.in.size() <= kMagic.size()) return;
      const size_t token = static_cast<unsigned char>(p.in[kMagic.size()]);
      if (p.in.size() < kMagic.size() + 1 + token) return;
      if (!same_token(std::string_view(p.in).substr(kMagic.size() + 1, token), token_))
        return refuse(p, "does not know the token of this run");
      p.in.erase(0, kMagic.size() + 1 + token);
      p.greeted = true;
      send(p, std::string(1, kWelcome));
    }
    size_t at = 0;
    while (!p.closing && !p.parked && p.in.size() - at >= 4) {
      uint32_t length = 0;
      std::memcpy(&length, p.in.data() + at, 4);
      if (length > kMaxMessage) return refuse(p, "sent a message of more than 1 GiB");
      if (p.in.size() - at - 4 < length) break;
      auto message = Message::decode(std::string_view(p.in).substr(at + 4, length));
      if (!message || !serve(p, *message)) return refuse(p, "sent what is no message");
      at += 4 + length;
    }
    p.in.erase(0, at);
  }

  void send(Peer& p, std::string bytes) {
    p.out += bytes;
    write(p);
    if (p.out.size() > kMaxOut) refuse(p, "does not read its answers");
  }
  void write(Peer& p) {
    size_t done = 0;
    while (done < p.out.size()) {
      const ssize_t n = ::send(p.fd, p.out.data() + done, p.out.size() - done, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno != EAGAIN) p.closing = true;
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    p.out.erase(0, done);
  }
  void reply(Peer& p, Answer code, int64_t number = 0, Strings strings = {}) {
    send(p, Message{static_cast<uint8_t>(code), number, std::move(strings)}.encode());
  }

  bool serve(Peer& p, Message& m) {  // false: it is none
    if (m.code > static_cast<uint8_t>(Request::Last)) return false;
    const auto request = static_cast<Request>(m.code);
    Strings& s = m.strings;
    auto has = [&](size_t n) { return s.size() == n; };
    try {
      switch (request) {
        case Request::Set:
          if (!has(2)) return false;
          table_.set(s[0], s[1]);
          changed_ = true;
          return reply(p, Answer::Done), true;
        case Request::Add: {
          if (!has(1)) return false;
          const int64_t sum = table_.add(s[0], m.number);
          changed_ = true;
          return reply(p, Answer::Done, sum), true;
        }
        case Request::CompareSet: {
          if (!has(3)) return false;
          std::string now = table_.compare_set(s[0], s[1], s[2]);
          changed_ = true;
          return reply(p, Answer::Done, 0, {std::move(now)}), true;
        }
        case Request::Remove:
          if (!has(1)) return false;
          return reply(p, Answer::Done, table_.remove(s[0])), true;
        case Request::Check: return reply(p, Answer::Done, table_.has(s)), true;
        case Request::Clock: return reply(p, Answer::Done, static_cast<int64_t>(monotonic_ns())), true;
        case Request::Count: return reply(p, Answer::Done, table_.count()), true;
        case Request::Append:
          if (!has(2)) return false;
          table_.append(s[0], s[1]);
          changed_ = true;
          return reply(p, Answer::Done), true;
        case Request::Keys: return reply(p, Answer::Done, 0, table_.keys()), true;
        case Request::Push:
          if (!has(2)) return false;
          table_.push(s[0], s[1]);
          changed_ = true;
          return reply(p, Answer::Done), true;
        case Request::Length:
          if (!has(1)) return false;
          return reply(p, Answer::Done, table_.length(s[0])), true;
        case Request::Get:
        case Request::Pop:
          if (!has(1)) return false;
          [[fallthrough]];
        case Request::Wait:
          if (!answer_now(p, m)) {
            const auto wait = std::clamp<int64_t>(m.number, 0, int64_t{1} << 40);
            p.parked_until = Clock::now() + Duration(wait);
            p.parked = std::move(m);
          }
          return true;
      }
    } catch (const Error& e) { reply(p, Answer::BadValue, 0, {e.message()}); }
    return true;
  }

  bool answer_now(Peer& p, const Message& m) {  // what may wait; false: it must
    switch (static_cast<Request>(m.code)) {
      case Request::Get: {
        const std::string* value = table_.find(m.strings[0]);
        if (value) reply(p, Answer::Done, 0, {*value});
        return value;
      }
      case Request::Pop: {
        auto value = table_.pop(m.strings[0]);
        if (value) reply(p, Answer::Done, 0, {std::move(*value)});
        else if (m.number < 0) reply(p, Answer::Empty);  // does not want to wait
        return value || m.number < 0;
      }
      default: {
        const bool all = table_.has(m.strings);
        if (all) reply(p, Answer::Done);
        return all;
      }
    }
  }

  void answer_parked(Clock::time_point now) {
    while (std::exchange(changed_, false)) {
      for (auto& p : peers_) {
        if (!p.parked || p.closing || !answer_now(p, *p.parked)) continue;
        p.parked.reset();
        parse(p);  // what it sent meanwhile
      }
    }
    for (auto& p : peers_) {
      if (!p.parked || p.closing || now < p.parked_until) continue;
      reply(p, Answer::TimedOut, 0, {key_list(table_.missing(p.parked->strings))});
      p.parked.reset();
      parse(p);
    }
  }

  std::string token_;
  int listen_ = -1, wake_ = -1;
  std::list<Peer> peers_;
  KeyTable table_;
  bool changed_ = false;
  int complaints_ = 0;
};

TcpServer::TcpServer(TcpOptions& options)
    : loop_(std::make_unique<Loop>(options)), thread_([this] { loop_->run(); }), pid_(getpid()) {}

TcpServer::~TcpServer() {
  if (getpid() != pid_) {  // a child has no thread to join
    thread_.detach();
    return;
  }
  loop_->stop();
  thread_.join();
}

}  // namespace fc::distributed
