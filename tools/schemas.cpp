// SPDX-License-Identifier: Apache-2.0
// Prints the C++ front from the registered schemas: functions of namespace facula, which call the operators, and
// methods of facula::Tensor, which call the functions. Run by the build:
//   facula-schemas FOLDER
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
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
  const FlatType& t = p.type;
  auto optional = [&](const std::string& inner) { return t.optional ? "std::optional<" + inner + ">" : inner; };
  if (t.list) {
    switch (t.kind) {
      case Kind::Int: return t.optional ? "OptionalIntArrayRef" : "IntArrayRef";
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
    case Kind::Generator: return "const std::optional<Generator>&";
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
      return out + "}";
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

struct CppParameter {
  std::string type, name, by_default;
};

// An operator as a C++ function; nothing if a type has no C++ form.
struct Function {
  std::string name, result, arguments;
  std::vector<CppParameter> parameters;
  bool factory = false, method = false;

  // The parameters as declared (with defaults), as defined, or only their names.
  enum Form { Declared, Defined, Names };
  std::string list(Form form, size_t from = 0) const {
    std::string out;
    for (size_t i = from; i < parameters.size(); ++i) {
      const CppParameter& p = parameters[i];
      if (i > from) out += ", ";
      if (form != Names) out += p.type + " ";
      out += p.name;
      if (form == Declared && !p.by_default.empty()) out += " = " + p.by_default;
    }
    return out;
  }
};

// Does an operator of this name take a list of integers there? C++ would rather make a bool of a number.
bool takes_integers(const std::string& name, size_t at) {
  return std::ranges::any_of(all_operators(), [&](const Operator* op) {
    const Schema& s = op->schema();
    return s.name == name && at < s.parameters.size() && s.parameters[at].type.list &&
           s.parameters[at].type.kind == Kind::Int;
  });
}

// The parameters of a function that is declared already, and how many of them have to be given.
struct Declared {
  std::vector<CppParameter> parameters;
  size_t required;
};

// The most arguments with which both can be called, all of the same types; 0: there are none.
size_t called_alike(const Declared& a, const Declared& b) {
  size_t n = 0;
  const size_t most = std::min(a.parameters.size(), b.parameters.size());
  while (n < most && a.parameters[n].type == b.parameters[n].type) ++n;
  return n >= std::max(a.required, b.required) ? n : 0;
}

std::optional<Function> describe(const Operator& op, std::map<std::string, std::vector<Declared>>& seen) {
  const Schema& s = op.schema();
  Function f;
  f.result = result_type(s);
  if (f.result.empty() || listed(kKeywords, s.name) || listed(kByHand, s.name) || s.name.starts_with("__")) return {};
  f.name = op.is_out ? s.name + "_out" : s.name;
  f.factory = is_factory(s);
  f.method =
      !s.parameters.empty() && s.parameters[0].name == "self" && s.parameters[0].type == FlatType{} && !op.is_out;
  std::vector<CppParameter> others;
  for (const Parameter& p : s.parameters) {
    std::string name = listed(kKeywords, p.name) ? p.name + "_" : p.name;
    std::string type = type_of(p);
    if (type.empty()) return {};
    if (type == "bool" && takes_integers(s.name, static_cast<size_t>(&p - s.parameters.data()))) type = "Flag";
    if (!f.arguments.empty()) f.arguments += ", ";
    if (f.factory && is_option(p.name)) {
      bool given = p.name == "dtype" || p.name == "device";
      f.arguments += given ? "front::boxed(options." + p.name + "_opt())" : "fc::Arg()";
      if (p.name == "dtype") others.push_back({"const TensorOptions&", "options", "{}"});
      continue;
    }
    bool repeated = p.type.kind == Kind::Int && p.type.list && p.type.length > 1;
    f.arguments +=
        repeated ? "front::repeat(" + name + ", " + std::to_string(p.type.length) + ")" : "front::boxed(" + name + ")";
    if (op.is_out && p.alias.write)
      f.parameters.push_back({type, name, ""});  // libtorch's order: add_out(out, self, …)
    else others.push_back({type, name, p.has_default ? default_of(p) : ""});
  }
  size_t required = f.parameters.size();
  f.parameters.insert(f.parameters.end(), others.begin(), others.end());
  while (required < f.parameters.size() && f.parameters[required].by_default.empty()) ++required;
  // Overloads that could be called alike are ambiguous in C++: a later one asks for one argument more.
  std::vector<Declared>& before = seen[f.name];
  for (bool alike = true; alike;) {
    alike = false;
    for (const Declared& other : before)
      if (const size_t n = called_alike(other, {f.parameters, required})) {
        alike = true;
        if (n == f.parameters.size()) return {};
        while (required <= n) f.parameters[required++].by_default.clear();
      }
  }
  before.push_back({f.parameters, required});
  return f;
}

// A number fits a list of integers as well as an integer that may be absent. Where overloads differ in that, this is
// the one for which a number is meant: x.count_nonzero(1).
std::optional<Function> with_number(const Function& f, const std::vector<Declared>& overloads) {
  for (size_t i = 0; i < f.parameters.size(); ++i) {
    if (f.parameters[i].type != "std::optional<int64_t>") continue;
    const auto alike = [](const CppParameter& a, const CppParameter& b) { return a.type == b.type; };
    const bool competes = std::ranges::any_of(overloads, [&](const Declared& o) {
      return i < o.parameters.size() && o.parameters[i].type == "IntArrayRef" &&
             std::ranges::equal(std::span(o.parameters).first(i), std::span(f.parameters).first(i), alike);
    });
    if (!competes) continue;
    Function number = f;
    number.parameters[i].type = "int64_t";
    for (size_t k = 0; k <= i; ++k) number.parameters[k].by_default.clear();
    return number;
  }
  return {};
}

void print(const Function& f, const std::string& op, std::ostream& functions, std::ostream& methods,
           std::ostream& unit) {
  functions << f.result << " " << f.name << "(" << f.list(Function::Declared) << ");\n";
  std::string call = "front::call<" + f.result + ">(op, {" + f.arguments + "})";
  if (f.factory && f.result == "Tensor") call = "front::with_options(" + call + ", options)";
  unit << f.result << " " << f.name << "(" << f.list(Function::Defined) << ") {\n  static constinit front::Op op(\""
       << op << "\");\n  return " << call << ";\n}\n";
  if (!f.method) return;
  methods << f.result << " " << f.name << "(" << f.list(Function::Declared, 1) << ") const;\n";
  std::string rest = f.list(Function::Names, 1);
  unit << f.result << " Tensor::" << f.name << "(" << f.list(Function::Defined, 1)
       << ") const { return facula::" << f.name << "(*this" << (rest.empty() ? "" : ", ") << rest << "); }\n";
}

// The definitions are spread over this many sources (src/front/generated.cmake lists them), by name: a new operator
// changes one of them.
constexpr size_t kUnits = 2;
size_t unit_of(const std::string& name) {
  uint32_t h = 2166136261u;  // FNV-1a: the same everywhere
  for (unsigned char c : name) h = (h ^ c) * 16777619u;
  return h % kUnits;
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
  std::ostringstream methods, functions, definitions[kUnits];
  std::map<std::string, std::vector<Declared>> seen;
  for (Operator* op : all_operators()) {
    if (op->schema().space != "aten") continue;
    std::optional<Function> described = describe(*op, seen);
    if (!described) continue;
    std::vector<Function> forms = {std::move(*described)};
    if (auto number = with_number(forms[0], seen[forms[0].name])) forms.push_back(std::move(*number));
    for (const Function& f : forms) print(f, op->name(), functions, methods, definitions[unit_of(f.name)]);
  }
  std::string folder = argv[1], note = "// Written by facula-schemas from the operators' schemas. Do not edit.\n";
  std::string open = "\nnamespace facula {\n\n", close = "\n}  // namespace facula\n";
  write(folder + "/methods.h", note + "// Inside class facula::Tensor.\n" + methods.str());
  write(folder + "/functions.h", note + "#pragma once\n#include <facula/tensor.h>\n" + open + functions.str() + close);
  for (size_t i = 0; i < kUnits; ++i) {
    std::string path = folder + "/functions_" + std::to_string(i + 1) + ".cpp";
    write(path, note + "#include \"front/call.h\"\n" + open + definitions[i].str() + close);
  }
}
