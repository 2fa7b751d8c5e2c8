// SPDX-License-Identifier: Apache-2.0
// A store that a server in one process holds for all. The server listens on the address that the host's name means, so
// on loopback unless told otherwise, and serves those who know the token.
#pragma once
#include <memory>

#include "distributed/store.h"

namespace fc::distributed {

struct TcpOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0, of a server: one that is free
  bool server = false;
  Duration timeout = Store::kDefaultTimeout;
  std::string token;   // at most 255 bytes
  int listen_fd = -1;  // a socket that listens already, which the server takes
};

class TcpServer;

class TcpStore final : public Store {
 public:
  explicit TcpStore(const TcpOptions& options);
  ~TcpStore() override;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool remove(const std::string& key) override;
  bool check(const Strings& keys) override;
  using Store::wait;
  void wait(const Strings& keys, Duration timeout) override;
  int64_t count() override;
  void append(const std::string& key, const std::string& value) override;
  Strings keys() override;
  void queue_push(const std::string& key, const std::string& value) override;
  std::string queue_pop(const std::string& key, bool block) override;
  int64_t queue_length(const std::string& key) override;
  int64_t clock() override;
  Ref<Store> clone() override;  // with a connection of its own
  std::string own_address() const override;
  std::string describe() const override;

  const std::string& host() const { return options_.host; }
  int port() const { return options_.port; }

 private:
  struct Connection;
  struct Reply;
  Duration answer_time() const;
  Reply ask(uint8_t request, int64_t number, Strings strings, Duration timeout);

  TcpOptions options_;
  std::shared_ptr<TcpServer> server_;  // where this process holds it; clones hold it, too
  std::unique_ptr<Connection> connection_;
};

}  // namespace fc::distributed
