// SPDX-License-Identifier: Apache-2.0
// Errors of the user's making are exceptions; each class becomes the Python exception of the same name.
#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace fc {

class Error : public std::exception {  // RuntimeError in Python
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& message() const noexcept { return message_; }
  // Puts a line before the text, for callers that know more about where it happened.
  void add_context(std::string_view where) { message_.insert(0, std::string(where) + ": "); }
  virtual const char* kind() const noexcept { return "RuntimeError"; }

 private:
  std::string message_;
};

struct IndexError : Error {
  using Error::Error;
  const char* kind() const noexcept override { return "IndexError"; }
};
struct ValueError : Error {
  using Error::Error;
  const char* kind() const noexcept override { return "ValueError"; }
};
struct TypeError : Error {
  using Error::Error;
  const char* kind() const noexcept override { return "TypeError"; }
};
struct AttributeError : Error {
  using Error::Error;
  const char* kind() const noexcept override { return "AttributeError"; }
};
struct BufferError : Error {
  using Error::Error;
  const char* kind() const noexcept override { return "BufferError"; }
};
struct NotImplementedError : Error {
  using Error::Error;
  const char* kind() const noexcept override { return "NotImplementedError"; }
};
struct OutOfMemoryError : Error {
  using Error::Error;
  const char* kind() const noexcept override { return "OutOfMemoryError"; }
};
struct LinAlgError : Error {  // a RuntimeError: the matrix is singular, not positive-definite, …
  using Error::Error;
  const char* kind() const noexcept override { return "LinAlgError"; }
};

}  // namespace fc
