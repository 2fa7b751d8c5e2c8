// SPDX-License-Identifier: Apache-2.0
#include "jit/files/write.h"

#include <algorithm>
#include <map>
#include <memory>

#include "core/class_type.h"
#include "core/containers.h"
#include "core/device_record.h"
#include "files/zip.h"
#include "jit/files/pickler.h"
#include "jit/files/print_code.h"
#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

// Where the text of a code file comes from: (format, lines, ((offset, (source, begin, end), number) …)), a source being
// (numbers of its lines, number of its file, first line).
std::string pickle_ranges(const std::vector<CodePrinter::Mark>& marks) {
  std::vector<std::string> lines;
  std::map<std::string, int64_t, std::less<>> numbers;
  const auto number_of = [&](std::string_view line) {
    const auto known = numbers.find(line);
    if (known != numbers.end()) return known->second;
    lines.emplace_back(line);
    return numbers.emplace(line, static_cast<int64_t>(numbers.size())).first->second;
  };
  std::map<const Source*, fc::Value> sources;
  std::vector<fc::Value> rows;
  for (size_t i = 0; i < marks.size(); ++i) {
    const SourceRange& r = marks[i].range;
    fc::Value& source = sources[r.source.get()];
    if (source.is_none()) {
      Dims own;
      for (size_t k = 0; k < r.source->lines(); ++k) {
        std::string line(r.source->line(k));
        const bool last = k + 1 == r.source->lines();
        if (last && line.empty()) break;
        own.push_back(number_of(last ? line : line + "\n"));
      }
      source = make_tuple({fc::Value(IntSpan(own)), fc::Value(number_of(r.source->file())),
                           fc::Value(static_cast<int64_t>(r.source->first_line()))});
    }
    fc::Value range =
        make_tuple({source, fc::Value(static_cast<int64_t>(r.begin)), fc::Value(static_cast<int64_t>(r.end))});
    rows.push_back(make_tuple(
        {fc::Value(static_cast<int64_t>(marks[i].offset)), std::move(range), fc::Value(static_cast<int64_t>(i))}));
  }
  std::vector<fc::Value> texts;
  for (const std::string& line : lines) texts.emplace_back(std::string_view(line));
  ValuePickler out(nullptr);
  out.value(
      make_tuple({fc::Value("FORMAT_WITH_STRING_TABLE"), make_tuple(std::move(texts)), make_tuple(std::move(rows))}));
  return out.finish();
}

struct CodeFile {
  std::string name_space;
  std::unique_ptr<CodePrinter> printer;
};

// Code of all types that were met, and of those that their code names, a file for each name space.
std::vector<CodeFile> print_all(Dependencies& met, std::vector<fc::Value>& constants, int64_t& version) {
  std::vector<CodeFile> files;
  std::map<std::string, TypeRef, std::less<>> names;
  const auto version_of = [&](const Function& f) { version = std::max(version, format_version(f.graph())); };
  for (size_t i = 0; i < met.size(); ++i) {  // grows meanwhile
    const Dependencies::Item& item = met[i];
    const std::string name(item.type ? std::string(item.type->name()) : item.function->qualified_name());
    const auto [at, fresh] = names.emplace(name, item.type);
    FC_CHECK(fresh, "two of what the module uses are named '", name, "': an archive holds one of a name");
    const size_t dot = name.rfind('.');
    FC_CHECK(dot != name.npos, "'", name, "' has no qualified name: it cannot be saved");
    const std::string name_space = name.substr(0, dot);
    auto file = std::ranges::find(files, name_space, &CodeFile::name_space);
    if (file == files.end()) {
      files.push_back({name_space, std::make_unique<CodePrinter>(constants, met, true)});
      file = files.end() - 1;
    }
    if (item.function) {
      version_of(*item.function);
      file->printer->function(*item.function);
      continue;
    }
    if (const ClassInfo* info = item.type->class_info())
      for (const ClassInfo::Signature& m : info->methods)
        if (m.function) version_of(*static_cast<Function*>(m.function.get()));
    file->printer->type(item.type);
  }
  return files;
}

std::string bytes_of(const Storage& s) {
  std::string out(s.bytes(), '\0');
  if (s.bytes()) copy_bytes(out.data(), Device{}, s.data(), s.device(), s.bytes());
  return out;
}

void write_storages(files::ZipWriter& zip, const std::string& folder, const ValuePickler& pickler) {
  for (size_t i = 0; i < pickler.storages().size(); ++i) {
    const Storage& s = *pickler.storages()[i];
    const std::string name = str(folder, "/", i);
    if (s.device().is_cpu()) zip.add(name, s.data(), s.bytes());
    else zip.add(name, bytes_of(s));
  }
}

}  // namespace

int64_t format_version(const Graph& g) {
  constexpr std::pair<std::string_view, int64_t> since[] = {
      {"aten::div", 4},      {"aten::div_", 4},     {"aten::full", 5},
      {"aten::linspace", 8}, {"aten::logspace", 9}, {"aten::gelu", 10},
  };
  int64_t version = 3;
  const auto look = [&](const Graph& graph) {
    std::vector<const Graph*> inner;
    for_each_node(*graph.block(), [&](const Node* n) {
      for (const auto& [name, v] : since)
        if (n->kind().text() == name) version = std::max(version, v);
      if (const auto* sub = n->get<Ref<Graph>>(attr_Subgraph)) inner.push_back(sub->get());
    });
    return inner;
  };
  std::vector<const Graph*> open{&g};
  while (!open.empty()) {
    const Graph* next = open.back();
    open.pop_back();
    const std::vector<const Graph*> inner = look(*next);
    open.insert(open.end(), inner.begin(), inner.end());
  }
  return version;
}

void write_archive(files::Sink& sink, const std::string& folder, const fc::Value& module, const ExtraFiles& extra) {
  FC_CHECK(module.tag() == Tag::Instance, "an archive of TorchScript holds a module");
  files::ZipWriter zip(sink, folder);
  for (const auto& [name, text] : extra) zip.add("extra/" + name, text);
  Dependencies met;
  ValuePickler data(&met);
  data.value(module);
  write_storages(zip, "data", data);
  zip.add("data.pkl", data.finish());
  std::vector<fc::Value> constants;
  int64_t version = 3;
  for (const CodeFile& file : print_all(met, constants, version)) {
    std::string path = file.name_space;
    std::ranges::replace(path, '.', '/');
    zip.add("code/" + path + ".py", file.printer->text());
    zip.add("code/" + path + ".py.debug_pkl", pickle_ranges(file.printer->marks()));
  }
  ValuePickler table(nullptr);
  table.tuple(constants.size(), [&](size_t i) { table.value(constants[i]); });
  write_storages(zip, "constants", table);
  zip.add("constants.pkl", table.finish());
  zip.add("version", str(version, "\n"));
  zip.add("byteorder", "little");
  zip.add(".data/serialization_id", zip.id());
  zip.finish();
}

std::string archive_folder(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (const size_t dot = name.rfind('.'); dot != name.npos && dot > 0) name.resize(dot);
  return name.empty() ? "archive" : name;
}

fc::Value module_of_function(const Function& f) {
  TypeRef type = new_class_type("__torch__.PlaceholderModule", true);
  type->class_info()->add_attribute("training", simple_type(TypeKind::Bool));
  Ref<Graph> graph = f.graph().copy();
  graph->block()->insert_input(0, "self")->set_type(type);
  auto forward = make_ref<Function>("__torch__.PlaceholderModule.forward", std::move(graph));
  Schema schema = f.schema();
  Parameter self;
  self.name = "self";
  self.whole_type = type;
  schema.name = "forward";
  schema.parameters.insert(schema.parameters.begin(), std::move(self));
  forward->set_schema(std::move(schema));
  add_method(type, std::move(forward));
  auto object = make_ref<Instance>(type, 1);
  object->slots[0] = true;
  return {Tag::Instance, std::move(object)};
}

}  // namespace fc::jit
