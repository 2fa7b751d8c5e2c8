// SPDX-License-Identifier: Apache-2.0
#include "core/type.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/class_type.h"
#include "core/type_parse.h"

namespace fc {
namespace {

std::vector<std::vector<std::string>> golden() {
  std::ifstream file(FC_TEST_GOLDEN "/jit/types.txt");
  EXPECT_TRUE(file);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    auto& row = rows.emplace_back();
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
  }
  return rows;
}

// PyTorch loses or adds a comma where a Union holds all three numbers and one more: "Union(, str, Scalar)",
// "Union(TensorScalar)". Ours does not (docs/differences.md).
std::string with_its_commas(std::string text) {
  for (const char* blank : {"(, ", "[, "})
    if (const size_t at = text.find(blank); at != text.npos) text.erase(at + 1, 2);
  for (const char* joined : {"TensorScalar", "Tensornumber"})
    if (const size_t at = text.find(joined); at != text.npos) text.insert(at + 6, ", ");
  return text;
}

TEST(Type, SpellsAsPyTorchDoes) {
  size_t n = 0;
  for (const auto& row : golden()) {
    if (row[0] == "text") {
      const TypeRef t = parse_type(row[1]);
      EXPECT_EQ(graph_text(t), with_its_commas(row[2])) << row[1];
      EXPECT_EQ(annotation_text(t), with_its_commas(row[3])) << row[1];
      EXPECT_EQ(graph_text(parse_type(graph_text(t))), graph_text(t));  // what is printed reads back
      EXPECT_EQ(parse_type(schema_text(t))->unshaped(), t->unshaped()) << row[1];
      EXPECT_EQ(parse_type(annotation_text(t)), t->unshaped()) << row[1];
      ++n;
    }
  }
  EXPECT_GT(n, 90u);
}

TEST(Type, JoinsAsPyTorchDoes) {
  std::vector<TypeRef> types;
  std::vector<std::string> names;
  size_t n = 0;
  for (const auto& row : golden()) {
    if (row[0] == "text") types.push_back(parse_type(names.emplace_back(row[1])));
    if (row[0] != "pair") continue;
    const auto i = std::stoul(row[1]), j = std::stoul(row[2]);
    EXPECT_EQ(is_subtype(types[i], types[j]), row[3] == "1") << names[i] << " <: " << names[j];
    const TypeRef both = unify(types[i], types[j]);
    EXPECT_EQ(both ? graph_text(both) : "-", with_its_commas(row[4])) << names[i] << " with " << names[j];
    ++n;
  }
  EXPECT_EQ(n, types.size() * types.size());
}

TEST(Type, MarksOfSchemas) {
  auto print = [](std::string_view text) {
    AliasInfo alias;
    size_t at = 0;
    const TypeRef t = parse_type(text, at, {.schema = true}, &alias);
    EXPECT_EQ(at, text.size()) << text;
    return schema_text(t, &alias);
  };
  size_t n = 0;
  for (const auto& row : golden())
    if (row[0] == "schema") {
      EXPECT_EQ(print(row[1]), row[2]);
      ++n;
    }
  EXPECT_GT(n, 60u);
  EXPECT_EQ(print("Tensor(a|b -> *)"), "Tensor(a|b -> *)");
  EXPECT_EQ(print("(Tensor(a), int)[](b!)"), "(Tensor, int)[](b!)");
}

TEST(Type, EqualTypesAreOne) {
  const TypeRef i = simple_type(TypeKind::Int);
  EXPECT_EQ(list_type(i), list_type(i));
  EXPECT_NE(list_type(i), list_type(i, 2));
  EXPECT_EQ(list_type(i, 2)->in_graph(), list_type(i));
  EXPECT_EQ(parse_type("Dict(str, (int, Tensor?)[])"), parse_type("Dict[str, List[Tuple[int, Optional[Tensor]]]]"));
  EXPECT_NE(parse_type("Float(2, 3)"), parse_type("Float(3, 2)"));
  EXPECT_EQ(tensor_type(TensorFacts{}), tensor_type());
  const TypeRef a = make_class_type(TypeKind::Class, "__torch__.A", nullptr);
  EXPECT_NE(a, make_class_type(TypeKind::Class, "__torch__.A", nullptr));
  EXPECT_EQ(named_class_type("__torch__.A"), named_class_type("__torch__.A"));
  std::vector<TypeRef> made(8);
  {
    std::vector<std::jthread> threads;
    for (TypeRef& t : made)
      threads.emplace_back([&t] {
        for (int k = 0; k < 200; ++k) t = tuple_type({parse_type(str("Long(", k, ", 3)[]")), parse_type("str?")});
      });
  }
  EXPECT_EQ(std::count(made.begin(), made.end(), made[0]), 8);
}

TEST(Type, KnowsWhatItHolds) {
  const TypeRef t = parse_type("Dict(str, (int, Future(t))[])");
  EXPECT_TRUE(t->has_variables());
  EXPECT_TRUE(t->holds(TypeKind::Future));
  EXPECT_FALSE(t->holds(TypeKind::Tensor));
  EXPECT_TRUE(parse_type("(int, Tensor?)")->is_mutable());
  EXPECT_FALSE(parse_type("(int, str?)")->is_mutable());
  EXPECT_EQ(parse_type("(SymInt, Layout[])?")->in_graph(), parse_type("(int, int[])?"));
  EXPECT_EQ(parse_type("Dict(str, Float(2)[])")->unshaped(), parse_type("Dict(str, Tensor[])"));
}

TEST(Type, NamedTuplesAndClasses) {
  const TypeRef i = simple_type(TypeKind::Int), x = tensor_type();
  const TypeRef point = named_tuple_type("__torch__.Point", {"x", "n"}, {x, i});
  EXPECT_EQ(graph_text(point), "NamedTuple(x : Tensor, n : int)");
  EXPECT_EQ(annotation_text(point), "__torch__.Point");
  EXPECT_EQ(graph_text(list_type(point)), "NamedTuple(x : Tensor, n : int)[]");
  EXPECT_TRUE(is_subtype(point, tuple_type({x, i})));
  EXPECT_FALSE(is_subtype(tuple_type({x, i}), point));
  EXPECT_FALSE(is_subtype(point, named_tuple_type("__torch__.Other", {"x", "m"}, {x, i})));

  auto& shape = *new ClassInfo;
  shape.methods.push_back({"area", {{"scale", i}}, x});
  auto& square = *new ClassInfo;
  const TypeRef interface = make_class_type(TypeKind::Interface, "__torch__.Shape", &shape);
  const TypeRef cls = make_class_type(TypeKind::Class, "__torch__.Square", &square);
  EXPECT_EQ(graph_text(interface), "InterfaceType<Shape>");
  std::string why;
  EXPECT_FALSE(is_subtype(cls, interface, &why));
  EXPECT_EQ(why, "Class '__torch__.Square' does not have method 'area' but '__torch__.Shape' does.\n");
  square.methods.push_back({"area", {{"scale", optional_type(i)}}, x});
  EXPECT_TRUE(is_subtype(cls, interface));
  const TypeRef color = make_class_type(TypeKind::Enum, "__torch__.Color", nullptr, {i});
  EXPECT_EQ(graph_text(color), "Enum<__torch__.Color>");
  EXPECT_TRUE(is_subtype(color, simple_type(TypeKind::AnyEnum)));
  EXPECT_NO_THROW(dict_type(color, x));
}

TEST(Type, BindsVariables) {
  TypeBindings b;
  EXPECT_EQ(b.match(parse_type("Dict(str, t)"), parse_type("Dict(str, int[])")), "");
  EXPECT_EQ(b.find("t"), parse_type("int[]"));
  EXPECT_EQ(b.match(parse_type("t"), parse_type("str")),
            "Type variable 't' previously matched to type List[int] is matched to type str");
  EXPECT_EQ(b.match(parse_type("(t, u)"), parse_type("(int[], Tensor)")), "");
  EXPECT_EQ(b.substitute(parse_type("(u?, t)[]")), parse_type("(Tensor?, int[])[]"));
  EXPECT_EQ(b.substitute(parse_type("v[]")), nullptr);
  EXPECT_EQ(b.match(parse_type("v[]"), parse_type("(int, int?)")), "");
  EXPECT_EQ(b.find("v"), parse_type("int?"));
  EXPECT_EQ(b.match(parse_type("w?"), parse_type("NoneType")),
            "Cannot match an Optional[T] to None, because there is no way to determine T from None");
  EXPECT_EQ(b.match(parse_type("Future(w)"), parse_type("int")), "Cannot match a future to int");
}

TEST(Type, SaysWhereItFails) {
  const std::pair<const char*, size_t> cases[] = {{"", 0},
                                                  {"Foo", 0},
                                                  {"int[", 4},
                                                  {"(int, ", 6},
                                                  {"Dict(str)", 9},
                                                  {"Dict(int[], Tensor)", 19},
                                                  {"Float", 5},
                                                  {"Float(2, 3, strides=[1])", 24},
                                                  {"int[3]", 4},
                                                  {"Float(99999999999999999999)", 6},
                                                  {"Tensor x", 6},
                                                  {"int[Undefined]", 14},
                                                  {"Float(device=nowhere)", 13},
                                                  {"NamedTuple(x)", 12},
                                                  {"Float(SS(3))", 10}};
  for (const auto& [text, at] : cases) {
    try {
      parse_type(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const TypeSyntaxError& e) { EXPECT_EQ(e.at, at) << text << ": " << e.message(); }
  }
}

TEST(Type, DepthAndSizeAreBounded) {
  EXPECT_THROW(parse_type(std::string(100000, '(')), TypeSyntaxError);
  std::string lists = "int";
  for (int i = 0; i < 100000; ++i) lists += "[]";
  EXPECT_THROW(parse_type(lists), TypeSyntaxError);
  TypeRef t = simple_type(TypeKind::Int);
  EXPECT_THROW(for (int i = 0; i < 90; ++i) t = tuple_type({t, t}), TypeError);  // 2^90 items to print
  std::vector<TypeRef> many;
  TypeRef deep = simple_type(TypeKind::Int);
  for (int i = 0; i < 300; ++i) many.push_back(tuple_type(std::vector<TypeRef>(static_cast<size_t>(i), deep)));
  EXPECT_THROW(union_type(many), TypeError);
  EXPECT_THROW(union_type({}), TypeError);
  EXPECT_THROW(dict_type(list_type(deep), deep), TypeError);
}

}  // namespace
}  // namespace fc
