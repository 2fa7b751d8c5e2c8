// SPDX-License-Identifier: Apache-2.0
// Graph, Node, Value, Block, Use, AliasDb, under PyTorch's names.
#include <algorithm>

#include "casters.h"
#include "core/type_parse.h"
#include "dispatch/operator.h"
#include "jit.h"
#include "jit/ir/alias.h"
#include "jit/ir/check.h"
#include "jit/ir/parse.h"
#include "jit/ir/print.h"
#include "jit/ir/walk.h"
#include "jit/ops/script_ops.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

bool print_ranges = true;  // Graph.set_global_print_source_ranges

struct UseHandle {
  NodeHandle user;
  size_t offset;
};
nb::list schemas_of(const std::vector<Operator*>& operators) {
  nb::list out;
  for (const Operator* op : operators) out.append(nb::cast(&op->schema(), nb::rv_policy::reference));
  return out;
}

// The insertion point for a `with`.
struct InsertPointGuard {
  Ref<Graph> graph;
  Node *place, *before;
};

NodeHandle group_node(Graph& g, const char* kind) {
  Node* n = g.create(Symbol::of(kind), 0);
  n->set(attr_Subgraph, Graph::make());
  return NodeHandle(n);
}

// Keeps the graph; the graph may be changed by who asks, so an answer may be old.
struct AliasHandle {
  Ref<Graph> graph;
  std::unique_ptr<AliasDb> db;
};

nb::list list_of(std::span<Value* const> values) {
  nb::list out;
  for (Value* v : values) out.append(ValueHandle(v));
  return out;
}
nb::list nodes_of(const Block& b) {
  nb::list out;
  for (Node* n : b.nodes()) out.append(NodeHandle(n));
  return out;
}
nb::object iterator(const nb::list& l) { return nb::steal(PyObject_GetIter(l.ptr())); }

nb::list find_all(const Block& b, const std::string& kind, bool recurse) {
  nb::list out;
  const Symbol wanted = Symbol::of(kind);
  for (Node* n = walk_first(b); n; n = walk_next(n, b, recurse))
    if (n->kind() == wanted) out.append(NodeHandle(n));
  return out;
}
nb::object find_one(const Block& b, const std::string& kind, bool recurse) {
  const Symbol wanted = Symbol::of(kind);
  for (Node* n = walk_first(b); n; n = walk_next(n, b, recurse))
    if (n->kind() == wanted) return nb::cast(NodeHandle(n));
  return nb::none();
}

std::vector<Value*> values_of(const std::vector<ValueHandle>& handles) {
  std::vector<Value*> out;
  for (const ValueHandle& h : handles) out.push_back(h.get());
  return out;
}

size_t index_of(size_t i, size_t n, const char* what) {
  FC_CHECK_AS(IndexError, i < n, what, " ", i, " of ", n);
  return i;
}

template <class T>
const T& attribute(const NodeHandle& h, const std::string& name, const char* kind) {
  const Attribute* a = h.get()->find(Symbol::of(name));
  FC_CHECK_AS(AttributeError, a, "required keyword attribute '", name, "' is undefined");
  const T* v = std::get_if<T>(&a->content);
  FC_CHECK_AS(TypeError, v, "attribute '", name, "' is of kind ", to_string(a->kind()), ", not ", kind);
  return *v;
}

template <class T, class C>
void number_attribute(C& c, const char* get, const char* set) {
  c.def(get, [get](const NodeHandle& h, const std::string& name) { return attribute<T>(h, name, get); });
  c.def(set, [](const NodeHandle& h, const std::string& name, T v) {
    h.get()->set(Symbol::of(name), std::move(v));
    return h;
  });
}

void bind_block(nb::module_& m) {
  nb::class_<BlockHandle>(m, "Block")
      .def("nodes", [](const BlockHandle& b) { return iterator(nodes_of(*b.get())); })
      .def("inputs", [](const BlockHandle& b) { return iterator(list_of(b.get()->inputs())); })
      .def("outputs", [](const BlockHandle& b) { return iterator(list_of(b.get()->outputs())); })
      .def("returnNode", [](const BlockHandle& b) { return NodeHandle(b.get()->return_node()); })
      .def("paramNode", [](const BlockHandle& b) { return NodeHandle(b.get()->param_node()); })
      .def("owningNode",
           [](const BlockHandle& b) -> nb::object {
             Node* n = b.get()->owning_node();
             return n ? nb::cast(NodeHandle(n)) : nb::none();
           })
      .def("addInputToBlock", [](const BlockHandle& b) { return ValueHandle(b.get()->add_input()); })
      .def("registerOutput",
           [](const BlockHandle& b, const ValueHandle& v) { return b.get()->register_output(v.get()); })
      .def("addNode",
           [](const BlockHandle& b, const std::string& kind, const std::vector<ValueHandle>& inputs) {
             Graph& g = *b.graph;
             return NodeHandle(b.get()->append(g.create(Symbol::of(kind), values_of(inputs))));
           })
      .def(
          "findNode", [](const BlockHandle& b, const std::string& k, bool r) { return find_one(*b.get(), k, r); },
          nb::arg("kind"), nb::arg("recurse") = true)
      .def(
          "findAllNodes", [](const BlockHandle& b, const std::string& k, bool r) { return find_all(*b.get(), k, r); },
          nb::arg("kind"), nb::arg("recurse") = true)
      .def("__eq__", [](const BlockHandle& a, const BlockHandle& b) { return a == b; })
      .def("__hash__", [](const BlockHandle& b) { return b.serial; });
}

void bind_value(nb::module_& m) {
  nb::class_<UseHandle>(m, "Use")
      .def_prop_ro("user", [](const UseHandle& u) { return u.user; })
      .def_prop_ro("offset", [](const UseHandle& u) { return u.offset; })
      .def("isAfter", [](const UseHandle& a, const UseHandle& b) { return a.user.get()->is_after(b.user.get()); });
  nb::class_<ValueHandle>(m, "Value")
      .def("__repr__",
           [](const ValueHandle& h) {
             Value* v = h.get();
             return str(v->name(), " defined in (", node_text(*v->node()), ")");
           })
      .def("node", [](const ValueHandle& v) { return NodeHandle(v.get()->node()); })
      .def("offset", [](const ValueHandle& v) { return v.get()->offset(); })
      .def("unique", [](const ValueHandle& v) { return v.get()->unique(); })
      .def("debugName", [](const ValueHandle& v) { return v.get()->name(); })
      .def("setDebugName",
           [](const ValueHandle& v, const std::string& name) {
             v.get()->set_name(name);
             return v;
           })
      .def("uses",
           [](const ValueHandle& v) {
             nb::list out;
             for (const Use& u : v.get()->uses()) out.append(UseHandle{NodeHandle(u.user), u.offset});
             return out;
           })
      .def("type", [](const ValueHandle& v) { return type_object(v.get()->type()); })
      .def("setType",
           [](const ValueHandle& v, const TypeHandle& t) {
             v.get()->set_type(t.type);
             return v;
           })
      .def("setTypeAs",
           [](const ValueHandle& v, const ValueHandle& o) {
             v.get()->set_type(o.get()->type());
             return v;
           })
      .def("inferTypeFrom",
           [](const ValueHandle& v, const Tensor& t) { v.get()->set_type(type_of(fc::Value(given(t)))); })
      .def("isCompleteTensor",
           [](const ValueHandle& v) {
             const TensorFacts* f = v.get()->type()->facts();
             if (!f || !f->dtype || !f->device || !f->sizes || !f->strides) return false;
             auto known = [](const auto& l) { return std::ranges::all_of(l, [](const auto& x) { return bool(x); }); };
             return known(*f->sizes) && known(*f->strides);
           })
      .def("requiresGrad",
           [](const ValueHandle& v) -> nb::object {
             const TensorFacts* f = v.get()->type()->facts();
             return f && f->requires_grad ? nb::cast(*f->requires_grad) : nb::none();
           })
      .def("requires_grad",
           [](const ValueHandle& v) -> nb::object {
             const TensorFacts* f = v.get()->type()->facts();
             return f && f->requires_grad ? nb::cast(*f->requires_grad) : nb::none();
           })
      .def("replaceAllUsesWith",
           [](const ValueHandle& v, const ValueHandle& o) { v.get()->replace_uses_with(o.get()); })
      .def("replaceAllUsesAfterNodeWith",
           [](const ValueHandle& v, const NodeHandle& n, const ValueHandle& o) {
             v.get()->replace_uses_after_with(n.get(), o.get());
           })
      .def("copyMetadata",
           [](const ValueHandle& v, const ValueHandle& o) {
             v.get()->copy_metadata(*o.get());
             return v;
           })
      .def("toIValue",
           [](const ValueHandle& v) -> nb::object {
             auto c = constant_of(v.get());
             return c ? nb::steal(py::wrap(*c)) : nb::none();
           })
      .def("__eq__", [](const ValueHandle& a, const ValueHandle& b) { return a == b; })
      .def("__hash__", [](const ValueHandle& v) { return v.serial; });
}

void bind_node_attributes(nb::class_<NodeHandle>& c) {
  number_attribute<double>(c, "f", "f_");
  number_attribute<int64_t>(c, "i", "i_");
  number_attribute<std::string>(c, "s", "s_");
  number_attribute<std::vector<double>>(c, "fs", "fs_");
  number_attribute<std::vector<int64_t>>(c, "is", "is_");
  number_attribute<std::vector<std::string>>(c, "ss", "ss_");
  number_attribute<Tensor>(c, "t", "t_");
  number_attribute<Tensor>(c, "z", "z_");
  number_attribute<std::vector<Tensor>>(c, "ts", "ts_");
  number_attribute<std::vector<Tensor>>(c, "zs", "zs_");
  c.def("c", [](const NodeHandle& h, const std::string& name) {
    auto v = attribute<Attribute::Complex>(h, name, "c");
    return nb::steal(PyComplex_FromDoubles(v.real(), v.imag()));
  });
  c.def("c_", [](const NodeHandle& h, const std::string& name, nb::handle v) {
    Scalar s = py::to_scalar(v.ptr());
    h.get()->set(Symbol::of(name), Attribute::Complex(s.to_complex().re, s.to_complex().im));
    return h;
  });
  c.def("g",
        [](const NodeHandle& h, const std::string& name) { return GraphHandle{attribute<Ref<Graph>>(h, name, "g")}; });
  c.def("g_", [](const NodeHandle& h, const std::string& name, const GraphHandle& g) {
    for (const Graph* up : {h.graph.get()}) FC_CHECK(up != g.graph.get(), "a graph cannot be its own subgraph");
    h.get()->set(Symbol::of(name), g.graph);
    return h;
  });
  c.def("gs", [](const NodeHandle& h, const std::string& name) {
    nb::list out;
    for (const auto& g : attribute<std::vector<Ref<Graph>>>(h, name, "gs")) out.append(GraphHandle{g});
    return out;
  });
  c.def("gs_", [](const NodeHandle& h, const std::string& name, const std::vector<GraphHandle>& gs) {
    std::vector<Ref<Graph>> v;
    for (const auto& g : gs) v.push_back(g.graph);
    h.get()->set(Symbol::of(name), std::move(v));
    return h;
  });
  c.def("ty",
        [](const NodeHandle& h, const std::string& name) { return type_object(attribute<TypeRef>(h, name, "ty")); });
  c.def("ty_", [](const NodeHandle& h, const std::string& name, const TypeHandle& t) {
    h.get()->set(Symbol::of(name), t.type);
    return h;
  });
  c.def("tys", [](const NodeHandle& h, const std::string& name) {
    nb::list out;
    for (TypeRef t : attribute<std::vector<TypeRef>>(h, name, "tys")) out.append(type_object(t));
    return out;
  });
  c.def("tys_", [](const NodeHandle& h, const std::string& name, const std::vector<TypeHandle>& types) {
    std::vector<TypeRef> v;
    for (const auto& t : types) v.push_back(t.type);
    h.get()->set(Symbol::of(name), std::move(v));
    return h;
  });
  c.def("ival", [](const NodeHandle& h, const std::string& name) {
    return nb::steal(py::wrap(attribute<fc::Value>(h, name, "ival")));
  });
  c.def(
      "ival_",
      [](const NodeHandle& h, const std::string& name, nb::handle v) {
        h.get()->set(Symbol::of(name), to_value(v));
        return h;
      },
      nb::arg("name"), nb::arg("value").none());
}

void bind_node(nb::module_& m) {
  nb::class_<NodeHandle> c(m, "Node");
  c.def("__repr__", [](const NodeHandle& n) { return node_text(*n.get()); })
      .def("kind", [](const NodeHandle& n) { return std::string(n.get()->kind().text()); })
      .def("sourceRange", [](const NodeHandle& n) { return n.get()->range().highlight(); })
      .def("hasMultipleOutputs", [](const NodeHandle& n) { return n.get()->num_outputs() > 1; })
      .def("inputsSize", [](const NodeHandle& n) { return n.get()->num_inputs(); })
      .def("outputsSize", [](const NodeHandle& n) { return n.get()->num_outputs(); })
      .def("inputs", [](const NodeHandle& n) { return iterator(list_of(n.get()->inputs())); })
      .def("outputs", [](const NodeHandle& n) { return iterator(list_of(n.get()->outputs())); })
      .def("blocks",
           [](const NodeHandle& n) {
             nb::list out;
             for (Block* b : n.get()->blocks()) out.append(BlockHandle(b));
             return iterator(out);
           })
      .def("input", [](const NodeHandle& n) { return ValueHandle(n.get()->input()); })
      .def("output", [](const NodeHandle& n) { return ValueHandle(n.get()->output()); })
      .def("inputsAt",
           [](const NodeHandle& n, size_t i) {
             return ValueHandle(n.get()->input(index_of(i, n.get()->num_inputs(), "input")));
           })
      .def("outputsAt",
           [](const NodeHandle& n, size_t i) {
             return ValueHandle(n.get()->output(index_of(i, n.get()->num_outputs(), "output")));
           })
      .def("namedInput",
           [](const NodeHandle& n, const std::string& name) {
             const Schema& s = n.get()->get_operator().schema();
             const int i = s.find(name);
             FC_CHECK(i >= 0, n.get()->kind(), " has no argument '", name, "'");
             return ValueHandle(n.get()->input(static_cast<size_t>(i)));
           })
      .def("addInput",
           [](const NodeHandle& n, const ValueHandle& v) { return ValueHandle(n.get()->add_input(v.get())); })
      .def("addOutput", [](const NodeHandle& n) { return ValueHandle(n.get()->add_output()); })
      .def("addBlock", [](const NodeHandle& n) { return BlockHandle(n.get()->add_block()); })
      .def("eraseOutput", [](const NodeHandle& n, size_t i) { n.get()->erase_output(i); })
      .def("replaceInput", [](const NodeHandle& n, size_t i,
                              const ValueHandle& v) { return ValueHandle(n.get()->replace_input(i, v.get())); })
      .def("replaceInputWith", [](const NodeHandle& n, const ValueHandle& a,
                                  const ValueHandle& b) { n.get()->replace_input_with(a.get(), b.get()); })
      .def("removeInput", [](const NodeHandle& n, size_t i) { n.get()->remove_input(i); })
      .def("removeAllInputs", [](const NodeHandle& n) { n.get()->remove_all_inputs(); })
      .def("replaceAllUsesWith", [](const NodeHandle& a, const NodeHandle& b) { a.get()->replace_uses_with(b.get()); })
      .def("hasUses", [](const NodeHandle& n) { return n.get()->has_uses(); })
      .def("insertBefore",
           [](const NodeHandle& n, const NodeHandle& o) { return NodeHandle(n.get()->insert_before(o.get())); })
      .def("insertAfter",
           [](const NodeHandle& n, const NodeHandle& o) { return NodeHandle(n.get()->insert_after(o.get())); })
      .def("moveBefore", [](const NodeHandle& n, const NodeHandle& o) { n.get()->move_before(o.get()); })
      .def("moveAfter", [](const NodeHandle& n, const NodeHandle& o) { n.get()->move_after(o.get()); })
      .def("isBefore", [](const NodeHandle& n, const NodeHandle& o) { return n.get()->is_before(o.get()); })
      .def("isAfter", [](const NodeHandle& n, const NodeHandle& o) { return n.get()->is_after(o.get()); })
      .def("prev", [](const NodeHandle& n) { return NodeHandle(n.get()->prev()); })
      .def("next", [](const NodeHandle& n) { return NodeHandle(n.get()->next()); })
      .def("owningBlock", [](const NodeHandle& n) { return BlockHandle(n.get()->owning_block()); })
      .def("destroy", [](const NodeHandle& n) { n.get()->destroy(); })
      .def("copyMetadata", [](const NodeHandle& n, const NodeHandle& o) { n.get()->copy_metadata(*o.get()); })
      .def("copyAttributes",
           [](const NodeHandle& n, const NodeHandle& o) {
             n.get()->copy_attributes(*o.get());
             return n;
           })
      .def("scopeName", [](const NodeHandle& n) { return n.get()->scope(); })
      .def("hasAttributes", [](const NodeHandle& n) { return !n.get()->attributes().empty(); })
      .def("hasAttribute", [](const NodeHandle& n, const std::string& a) { return n.get()->has(Symbol::of(a)); })
      .def("attributeNames",
           [](const NodeHandle& n) {
             nb::list out;
             for (const Attribute& a : n.get()->attributes()) out.append(std::string(a.name.text()));
             return out;
           })
      .def("kindOf",
           [](const NodeHandle& n, const std::string& name) {
             const Attribute* a = n.get()->find(Symbol::of(name));
             FC_CHECK_AS(AttributeError, a, "required keyword attribute '", name, "' is undefined");
             return std::string(to_string(a->kind()));
           })
      .def("removeAttribute",
           [](const NodeHandle& n, const std::string& name) {
             n.get()->remove(Symbol::of(name));
             return n;
           })
      .def("mustBeNone", [](const NodeHandle& n) { return n.get()->must_be_none(); })
      .def("isNondeterministic", [](const NodeHandle& n) { return n.get()->is_nondeterministic(); })
      .def("matches", [](const NodeHandle& n,
                         const std::string& schema) { return n.get()->matches(parse_schema(schema).full_name()); })
      .def("schema",
           [](const NodeHandle& n) {
             const Operator* op = n.get()->find_operator();
             return op ? to_string(op->schema()) : std::string("(no schema)");
           })
      .def(
          "findNode",
          [](const NodeHandle& n, const std::string& k, bool r) -> nb::object {
            for (Block* b : n.get()->blocks())
              if (nb::object found = find_one(*b, k, r); !found.is_none()) return found;
            return nb::none();
          },
          nb::arg("kind"), nb::arg("recurse") = true)
      .def(
          "findAllNodes",
          [](const NodeHandle& n, const std::string& k, bool r) {
            nb::list out;
            for (Block* b : n.get()->blocks())
              for (nb::handle found : find_all(*b, k, r)) out.append(found);
            return out;
          },
          nb::arg("kind"), nb::arg("recurse") = true)
      .def("getModuleHierarchy", [](const NodeHandle& n) { return n.get()->scope(); })
      .def("pyname", [](const NodeHandle& n) { return attribute<std::string>(n, "python_name", "s"); })
      .def("__eq__", [](const NodeHandle& a, const NodeHandle& b) { return a == b; })
      .def("__hash__", [](const NodeHandle& n) { return n.serial; });
  bind_node_attributes(c);
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind_block(m);
  bind_value(m);
  bind_node(m);
  auto type_or = [](const Graph& g) { return g.text(print_ranges); };
  nb::class_<InsertPointGuard>(m, "_InsertPointGuard")
      .def("__enter__",
           [](InsertPointGuard& at) {
             at.before = at.graph->insert_point();
             at.graph->set_insert_point(at.place);
           })
      .def("__exit__", [](InsertPointGuard& at, const nb::args&) { at.graph->set_insert_point(at.before); });
  nb::class_<GraphHandle>(m, "Graph")
      .def("__init__", [](GraphHandle* self) { new (self) GraphHandle{Graph::make()}; })
      .def("__repr__", [type_or](const GraphHandle& g) { return type_or(*g.graph); })
      .def(
          "str", [](const GraphHandle& g, bool ranges) { return g.graph->text(ranges); },
          nb::arg("print_source_ranges") = true)
      .def("inputs", [](const GraphHandle& g) { return iterator(list_of(g.graph->inputs())); })
      .def("outputs", [](const GraphHandle& g) { return iterator(list_of(g.graph->outputs())); })
      .def("nodes", [](const GraphHandle& g) { return iterator(nodes_of(*g.graph->block())); })
      .def("block", [](const GraphHandle& g) { return BlockHandle(g.graph->block()); })
      .def("param_node", [](const GraphHandle& g) { return NodeHandle(g.graph->param_node()); })
      .def("return_node", [](const GraphHandle& g) { return NodeHandle(g.graph->return_node()); })
      .def(
          "addInput",
          [](const GraphHandle& g, const std::string& name) { return ValueHandle(g.graph->add_input(name)); },
          nb::arg("name") = "")
      .def("copy", [](const GraphHandle& g) { return GraphHandle{g.graph->copy()}; })
      .def("registerOutput",
           [](const GraphHandle& g, const ValueHandle& v) { return g.graph->register_output(v.get()); })
      .def("eraseInput", [](const GraphHandle& g, size_t i) { g.graph->block()->erase_input(i); })
      .def("eraseOutput", [](const GraphHandle& g, size_t i) { g.graph->block()->erase_output(i); })
      .def("permuteInputs",
           [](const GraphHandle& g, const std::vector<size_t>& order) { g.graph->block()->permute_inputs(order); })
      .def("create",
           [](const GraphHandle& g, const std::string& k) { return NodeHandle(g.graph->create(Symbol::of(k))); })
      .def("create",
           [](const GraphHandle& g, const std::string& k, size_t outputs) {
             FC_CHECK_AS(ValueError, outputs < 1'000'000, "create: ", outputs, " outputs");
             return NodeHandle(g.graph->create(Symbol::of(k), outputs));
           })
      .def("create",
           [](const GraphHandle& g, const std::string& k, const std::vector<ValueHandle>& inputs) {
             return NodeHandle(g.graph->create(Symbol::of(k), values_of(inputs)));
           })
      .def("create",
           [](const GraphHandle& g, const std::string& k, const std::vector<ValueHandle>& inputs, size_t outputs) {
             FC_CHECK_AS(ValueError, outputs < 1'000'000, "create: ", outputs, " outputs");
             return NodeHandle(g.graph->create(Symbol::of(k), values_of(inputs), outputs));
           })
      .def("createClone",
           [](const GraphHandle& g, const NodeHandle& n, nb::callable map) {
             Graph::ValueMap values;
             auto ask = [&](const Node* at) {
               for (Value* v : at->inputs())
                 if (!values.contains(v)) values[v] = nb::cast<ValueHandle>(map(ValueHandle(v))).get();
             };
             ask(n.get());
             return NodeHandle(g.graph->create_clone(n.get(), values));
           })
      .def("appendNode",
           [](const GraphHandle& g, const NodeHandle& n) { return NodeHandle(g.graph->block()->append(n.get())); })
      .def("prependNode",
           [](const GraphHandle& g, const NodeHandle& n) { return NodeHandle(g.graph->block()->prepend(n.get())); })
      .def("insertNode", [](const GraphHandle& g, const NodeHandle& n) { return NodeHandle(g.graph->insert(n.get())); })
      .def(
          "insertConstant",
          [](const GraphHandle& g, nb::handle v) { return ValueHandle(g.graph->insert_constant(to_value(v))); },
          nb::arg("value").none())
      .def("insert",
           [](const GraphHandle& g, const std::string& kind, const nb::list& inputs) -> nb::object {
             std::vector<Value*> in;
             for (nb::handle v : inputs)
               in.push_back(nb::isinstance<ValueHandle>(v) ? nb::cast<ValueHandle>(v).get()
                                                           : g.graph->insert_constant(to_value(v)));
             Value* out = g.graph->insert_call(Symbol::of(kind), in);
             return out ? nb::cast(ValueHandle(out)) : nb::none();
           })
      .def("insertGraph",
           [](const GraphHandle& g, const GraphHandle& callee, const std::vector<ValueHandle>& inputs) {
             FC_CHECK(g.graph.get() != callee.graph.get(), "insertGraph: a graph cannot be put into itself");
             return list_of(g.graph->insert_graph(*callee.graph, values_of(inputs)));
           })
      .def("insertPoint", [](const GraphHandle& g) { return NodeHandle(g.graph->insert_point()); })
      .def("setInsertPoint", [](const GraphHandle& g, const NodeHandle& n) { g.graph->set_insert_point(n.get()); })
      .def("setInsertPoint", [](const GraphHandle& g, const BlockHandle& b) { g.graph->set_insert_point(b.get()); })
      .def(
          "findNode",
          [](const GraphHandle& g, const std::string& k, bool r) { return find_one(*g.graph->block(), k, r); },
          nb::arg("kind"), nb::arg("recurse") = true)
      .def(
          "findAllNodes",
          [](const GraphHandle& g, const std::string& k, bool r) { return find_all(*g.graph->block(), k, r); },
          nb::arg("kind"), nb::arg("recurse") = true)
      .def("createFusionGroup", [](const GraphHandle& g) { return group_node(*g.graph, "prim::FusionGroup"); })
      .def("createCudaFusionGroup", [](const GraphHandle& g) { return group_node(*g.graph, "prim::CudaFusionGroup"); })
      .def("insert_point_guard",
           [](const GraphHandle& g, const NodeHandle& n) {
             return InsertPointGuard{g.graph, n.get(), nullptr};
           })
      .def("insert_point_guard",
           [](const GraphHandle& g, const BlockHandle& b) {
             return InsertPointGuard{g.graph, b.get()->return_node(), nullptr};
           })
      .def("makeMultiOutputIntoTuple",
           [](const GraphHandle& g) {
             std::vector<Value*> outputs = g.graph->outputs();
             if (outputs.size() < 2) return;
             g.graph->set_insert_point(g.graph->block());
             Value* t = g.graph->insert(g.graph->create_tuple(outputs))->output();
             g.graph->return_node()->remove_all_inputs();
             g.graph->register_output(t);
           })
      .def("lint", [](const GraphHandle& g) { check(*g.graph); })
      .def(
          "alias_db",
          [](const GraphHandle& g, bool, bool) {
            return AliasHandle{g.graph, std::make_unique<AliasDb>(*g.graph)};
          },
          nb::arg("isFrozen") = false, nb::arg("descend_function_calls") = false)
      .def("dump_alias_db", [](const GraphHandle& g) { nb::print(AliasDb(*g.graph).text().c_str()); })
      .def_prop_ro_static("global_print_source_ranges", [](nb::handle) { return print_ranges; })
      .def_static(
          "set_global_print_source_ranges", [](bool on) { print_ranges = on; }, nb::arg("enabled") = true)
      .def("__eq__", [](const GraphHandle& a, const GraphHandle& b) { return a.graph.get() == b.graph.get(); })
      .def("__hash__", [](const GraphHandle& g) { return reinterpret_cast<size_t>(g.graph.get()) >> 4; });
  nb::class_<AliasHandle>(m, "AliasDb")
      .def("dump", [](const AliasHandle& a) { nb::print(a.db->text().c_str()); })
      .def("__repr__", [](const AliasHandle& a) { return a.db->text(); })
      .def("to_graphviz_str", [](const AliasHandle& a) { return a.db->graphviz(); })
      .def("has_writers", [](const AliasHandle& a, const ValueHandle& v) { return a.db->has_writers(v.get()); })
      .def("has_writers", [](const AliasHandle& a, const NodeHandle& n) { return a.db->has_writers(n.get()); })
      .def("may_contain_alias", [](const AliasHandle& a, const ValueHandle& x,
                                   const ValueHandle& y) { return a.db->may_contain_alias(x.get(), y.get()); })
      .def("may_contain_alias",
           [](const AliasHandle& a, const std::vector<ValueHandle>& x, const std::vector<ValueHandle>& y) {
             return a.db->may_contain_alias(values_of(x), values_of(y));
           })
      .def("move_after_topologically_valid", [](const AliasHandle& a, const NodeHandle& n,
                                                const NodeHandle& p) { return a.db->move_after(n.get(), p.get()); })
      .def("move_before_topologically_valid", [](const AliasHandle& a, const NodeHandle& n, const NodeHandle& p) {
        return a.db->move_before(n.get(), p.get());
      });
  m.def("_jit_get_all_schemas", [] {
    define_script_operators();
    return schemas_of(all_operators(true));
  });
  m.def("_jit_get_schemas_for_operator", [](const std::string& name) {
    define_script_operators();
    return schemas_of(overloads(name, true));
  });
  m.def(
      "parse_ir",
      [](const std::string& text, bool tensor_constants) { return GraphHandle{parse_graph(text, tensor_constants)}; },
      nb::arg("input"), nb::arg("parse_tensor_constants") = false,
      "The graph of a text, as graphs print themselves and as PyTorch takes it.");
}

}  // namespace fc::jit
