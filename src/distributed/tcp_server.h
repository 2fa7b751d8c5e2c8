// SPDX-License-Identifier: Apache-2.0
// The server of TcpStore: one thread that serves all connections. Whoever does not begin with the magic and the token
// within kPatience, or sends what is no message, is cut off, and standard error says who.
#pragma once
#include <netdb.h>

#include <thread>

#include "distributed/tcp_store.h"

namespace fc::distributed {

class TcpServer {
 public:
  explicit TcpServer(TcpOptions& options);  // sets the port where it was 0
  ~TcpServer();
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
  int pid_;
};

// Addresses that a host's name has; throws NetworkError where it has none.
struct AddressList {
  AddressList(const std::string& host, int port, bool passive);
  ~AddressList();
  AddressList(const AddressList&) = delete;
  AddressList& operator=(const AddressList&) = delete;
  addrinfo* first = nullptr;
};
std::string address_text(const sockaddr* address);  // "127.0.0.1:29500"

}  // namespace fc::distributed
