// SPDX-License-Identifier: Apache-2.0
// Values of TorchScript as a pickle (data.pkl, constants.pkl, .debug_pkl). Internal to archives.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/value.h"
#include "files/pickle.h"
#include "jit/files/print_code.h"

namespace fc::jit {

class ValuePickler {
 public:
  // Types that the values name are added to `met`; null: they hold none. Tensors' memory is collected in storages().
  explicit ValuePickler(Dependencies* met) : met_(met) { out_.start(); }
  void value(const fc::Value& v, TypeRef declared = nullptr);
  void tuple(size_t items, const std::function<void(size_t)>& item);  // item(i) writes one
  std::string finish();
  const std::vector<Ref<Storage>>& storages() const { return storages_; }  // data/0, data/1 …

 private:
  void text(std::string_view s);
  void global(std::string_view module, std::string_view name);
  void class_name(TypeRef t);
  void put() { out_.put(next_++); }
  void tensor(const Tensor& t);
  void list(const fc::Value& v, TypeRef declared);
  void dict(const fc::Value& v, TypeRef declared);
  void object(const fc::Value& v);
  void integer(int64_t v);
  void mark() { out_.op(files::Op::Mark); }
  void tuple_end(size_t items);
  void reduce() { out_.op(files::Op::Reduce); }

  files::PickleWriter out_;
  Dependencies* met_;
  size_t next_ = 0;
  int depth_ = 0;
  std::unordered_map<std::string, size_t> texts_, globals_;
  std::unordered_map<const void*, size_t> known_;  // objects, by address
  std::vector<fc::Value> kept_;                    // the same, so that no other one gets the address
  std::unordered_map<const Storage*, size_t> storage_numbers_;
  std::unordered_map<const Storage*, DType> storage_types_;
  std::vector<Ref<Storage>> storages_;
};

}  // namespace fc::jit
