// SPDX-License-Identifier: Apache-2.0
// The kernels there are: what the records of the loaded kernel libraries say, the newest library first. The table is
// replaced,
// never changed, and libraries stay loaded, so rows may be used without a lock and by launches under way.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/hammerblade/include/device/facula_hb/table.h"
#include "backends/hammerblade/runtime/device.h"

namespace hammerblade {

struct Kernel {
  std::string name;
  const hb::Row* row;  // null: written for the port, packed by its signature; does an operator if it is bound to one
  std::string signature, file;
  uint32_t argc;
  fc::hb::Device::Program* program;  // that it is in
};

class Library {
 public:
  Library();

  // The kernel of a family's call; null: there is none.
  const Kernel* find(int family, int opcode, int compute) const {
    const Table* t = table_.load(std::memory_order_acquire);
    auto it = t->families.find(key(family, opcode, compute));
    return it == t->families.end() ? nullptr : it->second;
  }
  const Kernel* find(const std::string& kernel) const;
  // The variants that do an operator, by element type.
  const std::vector<const Kernel*>* find_operator(const std::string& name) const;
  // The kernel that was bound to an operator; empty: none.
  std::string bound(const std::string& op);
  const char* const* operators() const { return table_.load(std::memory_order_acquire)->operators.data(); }
  std::vector<const Kernel*> kernels() const;

  // Adds the kernels of a library (.so) or a file (.cpp), which is compiled; those of the same name are used no longer.
  // Returns the names of what is in it.
  std::vector<std::string> load(const std::string& path);
  // Loads again the files that have changed since, or include one that has; returns the names of their kernels. Throws
  // after all of them if one does not compile: its kernels stay. `unseen`: not what has failed already as it is now.
  std::vector<std::string> reload(bool unseen);
  // A kernel does an operator, whatever its own file says. An empty kernel: as the files say.
  void bind(const std::string& op, const std::string& kernel);

 private:
  struct Table {
    std::unordered_map<uint64_t, const Kernel*> families;
    std::map<std::string, const Kernel*> kernels;
    std::map<std::string, std::vector<const Kernel*>> by_operator;
    std::vector<const char*> operators;  // ends with null
  };
  static uint64_t key(int family, int opcode, int compute) {
    return static_cast<uint64_t>(family) << 40 | static_cast<uint64_t>(opcode) << 8 | static_cast<uint64_t>(compute);
  }
  std::vector<std::string> add(const std::string& path);
  struct Source {
    int64_t changed;  // the file, when it was loaded
    int64_t loaded;   // everything that is newer has changed since
    int64_t failed = 0;
    std::vector<std::string> headers = {};  // empty: nobody has looked yet
  };
  using Stamps = std::unordered_map<std::string, int64_t>;  // of headers: many files include the same
  static int64_t newest(const std::string& file, Source&, Stamps&);
  void watch(const std::string& file, Source);
  void rebuild();

  std::mutex mutex_;
  std::atomic<const Table*> table_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<std::unique_ptr<Kernel>> all_;
  std::map<std::string, const Kernel*> newest_;   // what a launch by name finds
  std::map<std::string, const Kernel*> serving_;  // the newest with a row: one of the port's waits until it is bound
  std::map<std::string, std::string> bound_;
  std::map<std::string, Source> sources_;
  std::set<std::string> names_;  // of operators, for good: the contract keeps pointers to them
};

}  // namespace hammerblade
