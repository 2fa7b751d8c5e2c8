// SPDX-License-Identifier: Apache-2.0
// Values of TorchScript out of data.pkl and constants.pkl. Internal to read.cpp; of one thread.
#pragma once
#include <facula/device.h>

#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "files/zip.h"
#include "jit/files/importer.h"

namespace fc::jit {

class ValueUnpickler {
 public:
  // Records of tensors lie in `folder`.
  ValueUnpickler(const files::ZipReader& zip, std::string folder, Importer& importer, std::optional<Device> target)
      : zip_(zip), folder_(std::move(folder)), importer_(importer), target_(target) {}
  fc::Value read(const std::string& record);

  // --- what PickleReader asks for. What is no value, such as a name or a tensor's memory, is an Object of our own.
  using Object = fc::Value;
  Object none() { return {}; }
  Object boolean(bool b) { return b; }
  Object integer(int64_t v) { return v; }
  Object long_integer(std::string_view two_complement);
  Object real(double v) { return v; }
  Object text(std::string_view s) { return s; }
  Object old_string(std::string_view s) { return s; }
  Object bytes(std::string_view) { refuse("bytes"); }
  Object byte_array(std::string_view) { refuse("bytes"); }
  Object tuple(std::span<Object> items);
  Object list();
  Object dict();
  Object set() { refuse("sets"); }
  Object frozen_set(std::span<Object>) { refuse("sets"); }
  void append(Object& to, std::span<Object> items);
  void set_items(Object& to, std::span<Object> items);
  void add(Object&, std::span<Object>) { refuse("sets"); }
  Object global(std::string_view module, std::string_view name);
  Object global(const Object&, const Object&) { refuse("names made of strings"); }
  Object reduce(const Object& function, const Object& args);
  Object new_object(const Object& type, const Object& args);
  Object new_object(const Object&, const Object&, const Object&) { refuse("objects made with named arguments"); }
  void build(Object& object, const Object& state);
  Object persistent(const Object& id);

 private:
  [[noreturn]] static void refuse(const char* what);
  Tensor tensor(std::span<const fc::Value> args);
  fc::Value typed(const fc::Value& v, TypeRef t);

  const files::ZipReader& zip_;
  const std::string folder_;
  Importer& importer_;
  const std::optional<Device> target_;
  std::unordered_map<std::string, fc::Value> storages_;
};

}  // namespace fc::jit
