// SPDX-License-Identifier: Apache-2.0
// Prints the C++ front from the registered schemas: methods of facula::Tensor and functions of namespace facula, as
// declarations with defaults and as definitions that call the operator. Run by the build:
//   facula-schemas FOLDER
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <sstream>

#include "dispatch/operator.h"
#include "runtime.h"

using namespace fc;

namespace {

// Written by hand in the front's headers, or no C++ name.
constexpr std::string_view kByHand[] = {"to",         "size",  "stride", "item",        "is_floating_point",
                                        "is_complex", "numel", "dim",    "contiguous_", "backward"};
constexpr std::string_view kKeywords[] = {"and",    "or",    "xor",     "not",    "new",
                                          "delete", "union", "default", "switch", "this"};

bool listed(std::span<const std::string_view> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
bool is_factory(const Schema& s) {
  return s.find("dtype") >= 0 && s.find("layout") >= 0 && s.find("device") >= 0 && s.find("pin_memory") >= 0;
}
bool is_option(const std::string& name) {
  return name == "dtype" || name == "layout" || name == "device" || name == "pin_memory";
}

std::string type_of(const Parameter& p) {
  const Type& t = p.type;
  auto optional = [&](const std::string& inner) { return t.optional ? "std::optional<" + inner + ">" : inner; };
  if (t.list) {
    switch (t.kind) {
      case Kind::Int: return optional("IntArrayRef");
      case Kind::Tensor: return t.optional_item ? "OptionalTensorList" : "TensorList";
      case Kind::Float: return optional("std::vector<double>");
      case Kind::Bool: return optional("std::vector<bool>");
      case Kind::Scalar: return optional("std::vector<Scalar>");
      default: return "";
    }
  }
  switch (t.kind) {
    case Kind::Tensor: return t.optional ? "const std::optional<Tensor>&" : "const Tensor&";
    case Kind::Scalar: return t.optional ? "const std::optional<Scalar>&" : "const Scalar&";
    case Kind::Int: return optional("int64_t");
    case Kind::Float: return optional("double");
    case Kind::Bool: return optional("bool");
    case Kind::Str: return optional("std::string_view");
    case Kind::Device: return optional("Device");
    case Kind::DType: return optional("Dtype");
    case Kind::Layout: return optional("Layout");
    case Kind::MemoryFormat: return optional("MemoryFormat");
    case Kind::Generator: return "std::optional<Generator>";
    case Kind::Any: return "";
  }
  return "";
}

std::string default_of(const Parameter& p) {
  const Value& v = p.default_value;
  if (v.is_none()) return p.type.list && !p.type.optional ? "{}" : "std::nullopt";
  switch (v.tag()) {
    case Tag::Bool: return v.arg().boolean() ? "true" : "false";
    case Tag::Int: return p.type.kind == Kind::Scalar ? "Scalar(" + to_string(v) + ")" : to_string(v);
    case Tag::Double: {
      double d = v.arg().real();
      std::string text = d != d ? "NAN" : d > 1e308 ? "INFINITY" : d < -1e308 ? "-INFINITY" : to_string(v);
      return p.type.kind == Kind::Scalar ? "Scalar(" + text + ")" : text;
    }
    case Tag::String: return "\"" + std::string(v.arg().text()) + "\"";
    case Tag::IntList: {
      std::string out = "{";
      for (int64_t i : v.arg().ints()) out += (out.size() > 1 ? ", " : "") + std::to_string(i);
      return p.type.optional ? "IntArrayRef(" + out + "})" : out + "}";
    }
    case Tag::MemoryFormat: return "MemoryFormat::Contiguous";
    default: return "{}";
  }
}

std::string result_type(const Schema& s) {
  auto one = [](const Parameter& r) -> std::string {
    if (r.type.kind == Kind::Tensor) return r.type.list ? "std::vector<Tensor>" : "Tensor";
    switch (r.type.kind) {
      case Kind::Bool: return "bool";
      case Kind::Int: return r.type.list ? "" : "int64_t";
      case Kind::Float: return "double";
      case Kind::Scalar: return "Scalar";
      default: return "";
    }
  };
  if (s.returns.empty()) return "void";
  if (s.returns.size() == 1) return one(s.returns[0]);
  std::string out = "std::tuple<";
  for (size_t i = 0; i < s.returns.size(); ++i) out += (i ? ", " : "") + one(s.returns[i]);
  return out + ">";
}

struct Text {
  std::ostringstream declarations, definitions;
};

struct CppParameter {
  std::string type, name, by_default;
};

// One function or method; nothing if a type has no C++ form.
void print(const Operator& op, bool method, Text& text, std::set<std::string>& seen) {
  const Schema& s = op.schema();
  std::string result = result_type(s);
  if (result.empty() || listed(kKeywords, s.name) || listed(kByHand, s.name) || s.name.starts_with("__")) return;
  bool factory = is_factory(s);
  std::vector<CppParameter> outs, others;  // libtorch's order: add_out(out, self, other)
  std::string arguments;
  for (size_t i = 0; i < s.parameters.size(); ++i) {
    const Parameter& p = s.parameters[i];
    std::string name = listed(kKeywords, p.name) ? p.name + "_" : p.name;
    std::string type = type_of(p);
    if (type.empty()) return;
    if (!arguments.empty()) arguments += ", ";
    if (factory && is_option(p.name)) {
      arguments += p.name == "dtype"    ? "options.dtype_opt()"
                   : p.name == "layout" ? "std::optional<Layout>()"
                   : p.name == "device" ? "options.device_opt()"
                                        : "std::optional<bool>()";
      if (p.name == "dtype") others.push_back({"const TensorOptions&", "options", "{}"});
      continue;
    }
    if (method && i == 0) {
      arguments += "*this";
      continue;
    }
    bool repeated = p.type.kind == Kind::Int && p.type.list && p.type.length > 1;
    arguments +=
        repeated ? "front::repeat(" + name + ", " + std::to_string(p.type.length) + ")" : "front::boxed(" + name + ")";
    if (op.is_out && p.alias.write) outs.push_back({type, name, ""});
    else others.push_back({type, name, p.has_default ? default_of(p) : ""});
  }
  // Overloads that could be called alike are ambiguous in C++: a later one asks for one argument more.
  std::string name = op.is_out ? s.name + "_out" : s.name, key = name;
  for (const auto& p : outs) key += "," + p.type;
  size_t required = 0;
  auto key_of = [&] {
    std::string k = key;
    for (size_t i = 0; i < required; ++i) k += "," + others[i].type;
    return k;
  };
  while (required < others.size() && others[required].by_default.empty()) ++required;
  while (seen.count(key_of()) && required < others.size()) others[required++].by_default.clear();
  if (!seen.insert(key_of()).second) return;
  std::string declared, defined;
  for (const auto* list : {&outs, &others})
    for (const CppParameter& p : *list) {
      std::string separator = declared.empty() ? "" : ", ";
      declared += separator + p.type + " " + p.name + (p.by_default.empty() ? "" : " = " + p.by_default);
      defined += separator + p.type + " " + p.name;
    }
  std::string body = "front::call<" + result + ">(op" + (arguments.empty() ? "" : ", ") + arguments + ")";
  body = result == "void"                ? body + ";"
         : factory && result == "Tensor" ? "return front::with_options(" + body + ", options);"
                                         : "return " + body + ";";
  std::string where = method ? "Tensor::" : "", tail = method ? ") const" : ")";
  text.declarations << result << " " << name << "(" << declared << tail << ";\n";
  text.definitions << result << " " << where << name << "(" << defined << tail
                   << " {\n  static const fc::Operator& op = front::find(\"" << op.name() << "\");\n  " << body
                   << "\n}\n";
}

void write(const std::string& path, const std::string& content) {  // only if it changed: nothing is rebuilt for nothing
  std::ifstream in(path);
  std::stringstream before;
  before << in.rdbuf();
  if (in && before.str() == content) return;
  std::ofstream out(path + ".tmp");
  out << content;
  out.close();
  if (!out || std::rename((path + ".tmp").c_str(), path.c_str()) != 0) {
    std::perror(path.c_str());
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: facula-schemas FOLDER\n", stderr);
    return 2;
  }
  std::error_code failed;
  std::filesystem::create_directories(argv[1], failed);
  if (failed) {
    std::fprintf(stderr, "%s: %s\n", argv[1], failed.message().c_str());
    return 1;
  }
  initialise();
  Text methods, functions;
  std::set<std::string> seen_methods, seen_functions;
  for (Operator* op : all_operators()) {
    const Schema& s = op->schema();
    if (s.space != "aten") continue;
    bool has_self = !s.parameters.empty() && s.parameters[0].name == "self" && s.parameters[0].type == Type{};
    if (has_self && !op->is_out) print(*op, true, methods, seen_methods);
    if (!op->is_in_place) print(*op, false, functions, seen_functions);
  }
  std::string folder = argv[1], note = "// Written by facula-schemas from the operators' schemas. Do not edit.\n";
  write(folder + "/methods.h", note + "// Inside class facula::Tensor.\n" + methods.declarations.str());
  write(folder + "/functions.h", note + "#pragma once\n#include <facula/tensor.h>\n\nnamespace facula {\n\n" +
                                     functions.declarations.str() + "\n}  // namespace facula\n");
  std::string head = note + "#include \"front/call.h\"\n\nnamespace facula {\n\n";
  write(folder + "/methods.cpp", head + methods.definitions.str() + "\n}  // namespace facula\n");
  write(folder + "/functions.cpp",
        note + "#include <facula/functions.h>\n\n#include \"front/call.h\"\n\nnamespace facula {\n\n" +
            functions.definitions.str() + "\n}  // namespace facula\n");
}
