// SPDX-License-Identifier: Apache-2.0
// What the TCP store's client and server say to each other. After a greeting (kMagic, the token's length in one byte,
// the token; answered by kWelcome) the client sends requests and gets one answer to each, in order. A message is its
// length (4 bytes, little end first, without itself), a code, a number of 8 bytes, and strings, each after its length.
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fc::distributed {

inline constexpr std::string_view kMagic = "FCSTORE1";
inline constexpr char kWelcome = '+';
inline constexpr size_t kMaxToken = 255;
inline constexpr uint32_t kMaxMessage = 1u << 30;

enum class Request : uint8_t {
  Set,
  Get,
  Add,
  CompareSet,
  Remove,
  Check,
  Wait,
  Count,
  Append,
  Keys,
  Push,
  Pop,
  Length,
  Clock,
  Last = Clock
};
enum class Answer : uint8_t { Done, TimedOut, BadValue, Empty };

struct Message {
  uint8_t code = 0;
  int64_t number = 0;
  std::vector<std::string> strings;

  // Empty where it would be longer than kMaxMessage.
  std::string encode() const {
    uint64_t bytes = 9;
    for (auto& s : strings) bytes += 4 + s.size();
    if (bytes > kMaxMessage) return {};
    std::string out;
    out.reserve(bytes + 4);
    auto put = [&](const void* p, size_t n) { out.append(static_cast<const char*>(p), n); };
    const auto length = static_cast<uint32_t>(bytes);
    put(&length, 4), put(&code, 1), put(&number, 8);
    for (auto& s : strings) {
      const auto n = static_cast<uint32_t>(s.size());
      put(&n, 4), put(s.data(), n);
    }
    return out;
  }
  // Of the bytes after the length; nothing if they are no message.
  static std::optional<Message> decode(std::string_view body) {
    if (body.size() < 9) return {};
    Message m;
    m.code = static_cast<uint8_t>(body[0]);
    std::memcpy(&m.number, body.data() + 1, 8);
    body.remove_prefix(9);
    while (!body.empty()) {
      uint32_t n = 0;
      if (body.size() < 4) return {};
      std::memcpy(&n, body.data(), 4);
      body.remove_prefix(4);
      if (n > body.size()) return {};
      m.strings.emplace_back(body.substr(0, n));
      body.remove_prefix(n);
    }
    return m;
  }
};

}  // namespace fc::distributed
