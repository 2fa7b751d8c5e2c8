// SPDX-License-Identifier: Apache-2.0
// What names mean in an archive's code: classes and functions of its files, constants, operators as they were in the
// version that wrote it. Internal to read.cpp; of one thread.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "files/zip.h"
#include "jit/frontend/sugared.h"
#include "jit/frontend/tree.h"

namespace fc::jit {

class Importer final : public Resolver {
 public:
  Importer(const files::ZipReader& zip, Ref<CompilationUnit> unit, int64_t version)
      : zip_(&zip), unit_(std::move(unit)), version_(version) {}
  void set_constants(std::vector<fc::Value> constants) { constants_ = std::move(constants); }

  TypeRef find_class(const std::string& qualified_name);  // throws if there is none
  TypeRef type_of_text(const std::string& text);          // "Dict[str, __torch__.Point]"
  void compile_all();  // all that was named, and what that names; afterwards the files are not needed

  SugaredRef resolve_value(const std::string& name, Graph& g, const SourceRange& at) override;
  TypeRef resolve_type(const std::string& name, const SourceRange& at) override;

 private:
  struct Named {
    TreeRef tree;
    std::string name_space;
  };
  const Named* find(const std::string& qualified_name);
  void read_file(const std::string& name_space);

  const files::ZipReader* zip_;  // null: everything is compiled
  Ref<CompilationUnit> unit_;
  const int64_t version_;
  std::vector<fc::Value> constants_;
  std::set<std::string> files_;         // that were read, or are not there
  std::map<std::string, Named> known_;  // what stands in them
  std::vector<TypeRef> classes_;
  std::vector<Ref<Function>> functions_;
  int depth_ = 0;
};

// An operator of torch as it was in archives of that version; null: as it is today.
SugaredRef old_operator(const std::string& name, int64_t version);

}  // namespace fc::jit
