// SPDX-License-Identifier: Apache-2.0
// A node of autograd's graph as Python sees it: y.grad_fn. All of it runs under the interpreter's lock.
#pragma once
#include <vector>

#include "autograd/node.h"
#include "bind.h"

namespace fc::py {

// The face of a node: the context of a custom function, else the one object that stands for the node while it lives,
// of a type of the node's name. It keeps alive whatever owns the node.
nanobind::object face_of(const autograd::Edge& e);
// What the context of a custom function hands calls on to, beside being the face itself.
nanobind::object second_face_of(const Ref<autograd::Node>& node);
// A tensor's edge, or the one that a GradientEdge names: a node, or the context of a custom function, and a number.
autograd::Edge edge_of(nanobind::handle h);

std::vector<Tensor> tensors_of(nanobind::handle sequence);  // of Tensors and None
nanobind::tuple tuple_of(const std::vector<Tensor>& v);

}  // namespace fc::py
