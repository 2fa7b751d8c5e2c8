// SPDX-License-Identifier: Apache-2.0
// The autograd layer: one function that records any operator, driven by its schema and rule; and the view/in-place
// layer below it, which bumps versions and remembers view bases (also under no_grad).
#include <bit>

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "autograd/saved.h"
#include "define/autocast.h"
#include "define/calls.h"
#include "define/rule.h"
#include "dispatch/checks.h"

namespace fc::autograd {
namespace {

std::string camel(std::string_view name) {
  std::string out;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
      if (out.empty()) out += '_', upper = true;
      continue;
    }
    out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    upper = c >= '0' && c <= '9';  // max_pool2d: MaxPool2D
  }
  return out[0] == '_' ? out.substr(1) : out;
}

// A recorded operator. Holds exactly what the rule asked for.
class OpNode final : public Node {
 public:
  explicit OpNode(const Operator& op) : op_(op), rule_(op.grad) {
    edges.reserve(op.tensor_args().size());
    inputs.reserve(op.num_results());
  }

  std::string name() const override {
    if (op_.node) return op_.node;
    std::string_view name = (op_.functional ? *op_.functional : op_).schema().name;
    if (name.ends_with("_forward")) name.remove_suffix(8);
    return str(camel(name), "Backward0");
  }
  const Operator& op() const { return op_; }

  // Edges of every tensor argument in schema order; a list contributes one per item.
  void connect(const Arg* args, uint64_t needs) {
    for (uint8_t i : op_.tensor_args()) {
      const size_t before = edges.size();
      if (args[i].is_tensor_list()) {
        item_sizes_.resize(edges.size());
        for (const Tensor& t : args[i].tensors()) {
          edges.push_back(gradient_edge(t));
          item_sizes_.emplace_back(t.defined() ? t.sizes() : IntSpan());
        }
      } else {
        if (needs >> i & 1) edges.push_back(gradient_edge(args[i].tensor()));
        else edges.emplace_back();
      }
      if (is_list(i)) list_sizes_.push_back(static_cast<int>(edges.size() - before));
    }
    needs_ = needs;
  }

  // A second derivative goes where the overwritten tensor came from.
  static Tensor copy_with_history(const Tensor& t) {
    GradMode off(false);
    Tensor copy = clone(t);
    if (Ref<Node> made_by = requires_grad(t) ? grad_fn(t) : nullptr) {
      make_meta(copy).set_fn(std::move(made_by), output_nr(t));
      copy.impl().set_layer(layer::Autograd, true);
    }
    return copy;
  }

  void save_args(const Arg* args, bool self_is_overwritten) {
    if (!rule_) return;
    saved_.resize(rule_->saves.size());
    for (size_t k = 0; k < saved_.size(); ++k) {
      const GradRule::Save& s = rule_->saves[k];
      if (s.arg < 0 || !(s.when & needs_)) continue;
      const Arg& a = args[s.arg];
      if (a.is_tensor()) {
        // An in-place operator destroys the value that its backward wants: keep a copy.
        if (s.arg == 0 && self_is_overwritten) {
          saved_[k].tensor = SavedTensor(copy_with_history(a.tensor()), false);
        } else {
          saved_[k].tensor = SavedTensor(a.tensor(), false, s.may_change);
        }
      } else if (a.is_tensor_list()) {
        for (const Tensor& t : a.tensors()) saved_[k].list.emplace_back(t, false);
      } else {
        saved_[k].value = Value(a);
      }
    }
  }

  void save_results(Value* results) {
    if (!rule_) return;
    for (size_t k = 0; k < saved_.size(); ++k) {
      const GradRule::Save& s = rule_->saves[k];
      if (s.result >= 0 && (s.when & needs_)) saved_[k].tensor = SavedTensor(results[s.result].tensor(), true);
    }
  }

  std::vector<Tensor> apply(std::vector<Tensor>&& grads) override {
    FC_CHECK(rule_, "derivative for ", op_.name(), " is not implemented");
    Run run(*this, std::move(grads));
    bool any = false;
    for (const Tensor& g : run.grads) any |= g.defined();
    if (any) rule_->formula(run);
    return std::move(run.gradients);
  }

  std::vector<std::string> saved_names() const override {
    std::vector<std::string> names;
    if (!rule_) return names;
    const Schema& schema = op_.schema();
    for (const GradRule::Save& s : rule_->saves) {
      const size_t r = static_cast<size_t>(s.result);
      names.push_back(s.arg >= 0                        ? schema.parameters[static_cast<size_t>(s.arg)].name
                      : !schema.returns[r].name.empty() ? schema.returns[r].name
                      : schema.returns.size() == 1      ? "result"
                                                        : str("result", r));
    }
    return names;
  }
  SavedItem saved(size_t name) override {
    Saved found;
    bool released;
    {
      std::lock_guard guard(lock_);
      released = released_;
      if (!released) found = saved_[name];
    }
    if (released) raise_released();
    const int arg = rule_->saves[name].arg;
    const Kind kind = arg < 0 ? Kind::Tensor : op_.schema().parameters[static_cast<size_t>(arg)].type.kind;
    if (kind != Kind::Tensor || found.value.tag() != Tag::None) return {{}, false, std::move(found.value)};
    if (arg >= 0 && is_list(arg)) return {std::move(found.list), true, Value()};
    return {{std::move(found.tensor)}, false, Value()};
  }
  void replace_saved(size_t name, size_t item, const SavedTensor& next) override {
    SavedTensor before;  // dropped after the lock
    bool released, busy;
    {
      std::lock_guard guard(lock_);
      released = released_;
      busy = runs_ != 0;  // who reads without the lock
      if (!released && !busy) {
        Saved& s = saved_[name];
        SavedTensor& place = s.list.empty() ? s.tensor : s.list.at(item);
        before = std::exchange(place, next);
      }
    }
    if (released) raise_released();
    FC_CHECK(!busy, "Calling register_hooks on a saved tensor of ", this->name(), " while its backward runs");
  }

  // What a run elsewhere still reads, that run drops when it ends. A node that saved numbers only keeps them, and may
  // run again, as in PyTorch.
  void release_saved() override {
    SmallVector<Saved> dropped;
    std::lock_guard guard(lock_);
    bool tensors = released_;
    for (const Saved& s : saved_) tensors |= !s.tensor.empty() || !s.list.empty();
    if (!tensors) return;
    released_ = true;
    if (runs_ == 0) dropped.swap(saved_);
  }

 private:
  struct Saved {
    SavedTensor tensor;
    std::vector<SavedTensor> list;
    Value value;
  };

  // One run of the formula.
  struct Run final : Grad {
    Run(OpNode& n, std::vector<Tensor>&& g) : node(n), grads(std::move(g)), gradients(n.edges.size()) { n.begin(); }
    ~Run() { node.end(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    const Tensor& out(int i) override { return grads[static_cast<size_t>(i)]; }
    bool needs(int arg) override { return node.needs_ >> arg & 1; }
    Tensor in(int arg) override {
      Saved& s = node.find(arg, -1);
      if (s.value.tag() != Tag::None) return wrapped_number(s.value.arg().scalar());
      return read(s.tensor);
    }
    TensorSpan list(int arg) override {
      Saved& s = node.find(arg, -1);
      unpacked.clear();
      for (SavedTensor& t : s.list) unpacked.push_back(t.unpack(Ref<Node>(&node)));
      return unpacked;
    }
    Tensor result(int i) override { return read(node.find(-1, i).tensor); }
    Arg arg(int arg) override { return node.find(arg, -1).value.arg(); }
    IntSpan sizes(int arg, int item) override {
      if (node.is_list(arg)) return node.item_sizes_[node.edge_of(arg, item)];
      return node.target(arg, item).sizes;
    }
    DType dtype(int arg, int item) override { return node.target(arg, item).dtype; }
    Device device(int arg, int item) override { return node.target(arg, item).device; }
    bool transposed(int arg) override { return node.target(arg, 0).transposed; }
    int list_size(int arg) override {
      size_t list = 0;
      for (uint8_t i : node.op_.tensor_args()) {
        if (i == arg) break;
        list += node.is_list(i);
      }
      return node.is_list(arg) ? node.list_sizes_[list] : 1;
    }
    void set(int arg, Tensor gradient, int item) override {
      const size_t e = node.edge_of(arg, item);
      if (node.edges[e]) gradients[e] = std::move(gradient);
    }

    // A hook runs once, however often the formula reads: it may be a whole forward pass (checkpoint).
    Tensor read(const SavedTensor& saved) {
      if (!saved.has_hooks()) return saved.unpack(Ref<Node>(&node));
      for (const auto& [from, t] : by_hooks)
        if (from == &saved) return t;
      return by_hooks.emplace_back(&saved, saved.unpack(Ref<Node>(&node))).second;
    }

    OpNode& node;
    std::vector<Tensor> grads, gradients, unpacked;
    std::vector<std::pair<const SavedTensor*, Tensor>> by_hooks;
  };

  void begin() {
    bool gone;
    {
      std::lock_guard guard(lock_);
      gone = released_;
      runs_ += !gone;
    }
    if (gone) raise_released();
  }
  void end() {
    SmallVector<Saved> dropped;
    std::lock_guard guard(lock_);
    if (--runs_ == 0 && released_) dropped.swap(saved_);
  }

  const InputMeta& target(int arg, int item) const {
    const Edge& e = edges[edge_of(arg, item)];
    FC_CHECK(e, op_.name(), ": its derivative asks about an input that needs no gradient");
    return e.node->inputs[e.nr];
  }
  bool is_list(int arg) const { return op_.schema().parameters[static_cast<size_t>(arg)].type.list; }
  size_t edge_of(int arg, int item) const {
    size_t edge = 0, list = 0;
    for (uint8_t i : op_.tensor_args()) {
      if (i == arg) break;
      edge += is_list(i) ? static_cast<size_t>(list_sizes_[list++]) : 1;
    }
    return edge + static_cast<size_t>(item);
  }
  Saved& find(int arg, int result) {
    for (size_t k = 0; k < saved_.size(); ++k)
      if (rule_->saves[k].arg == arg && rule_->saves[k].result == result) return saved_[k];
    raise<Error>(
        "the derivative of ", op_.name(), " reads ",
        arg >= 0 ? str("'", op_.schema().parameters[static_cast<size_t>(arg)].name, "'") : str("result ", result),
        ", which its rule does not save: name it in `saves`");
  }

  const Operator& op_;
  const GradRule* rule_;
  SmallVector<Saved> saved_;
  SmallVector<int> list_sizes_;   // of the arguments that are lists
  std::vector<Dims> item_sizes_;  // by edge, for tensors in lists: a join must know where each began
  uint64_t needs_ = 0;
  uint32_t runs_ = 0;  // under way
  bool released_ = false;
};

bool may_need(const Tensor& t) { return t.defined() && (t.impl().layers() & layer::Autograd) && requires_grad(t); }

// Which arguments need gradients, as bits.
uint64_t needed(const Operator& op, const Arg* args) {
  uint64_t bits = 0;
  for (uint8_t i : op.tensor_args()) {
    if (args[i].is_tensor()) {
      if (may_need(args[i].tensor())) bits |= uint64_t{1} << i;
    } else if (args[i].is_tensor_list()) {
      for (const Tensor& t : args[i].tensors())
        if (may_need(t)) bits |= uint64_t{1} << i;
    }
  }
  return bits;
}

// A kernel may give back what it was given. The result needs a history of its own: the argument's would lead to itself.
bool is_argument(const Operator& op, const Arg* args, const Tensor& result) {
  if (!result.defined()) return false;
  for (uint8_t i : op.tensor_args())
    if (args[i].is_tensor() && args[i].tensor().defined() && &args[i].tensor().impl() == &result.impl()) return true;
  return false;
}

void autograd_layer(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  if (op.autograd()) [[unlikely]] {
    op.autograd().fn(op.autograd().context, op, args, results);
    return;
  }
  uint64_t needs = grad_enabled() ? needed(op, args) : 0;
  if (needs == 0 || (!op.differentiable && !op.is_in_place)) {
    ExcludeLayers guard(layer::Autograd);
    redispatch(op, below, args, results);
    return;
  }
  if (const uint64_t wrong = needs & op.constants)
    raise<Error>("The function '", op.schema().name, "' is not differentiable with respect to argument '",
                 op.schema().parameters[static_cast<size_t>(std::countr_zero(wrong))].name,
                 "'. This input cannot have requires_grad True.");
  FC_CHECK(!op.is_out, op.schema().name,
           "(): functions with out=... arguments don't support automatic differentiation, "
           "but one of the arguments requires grad.");
  if (op.is_in_place) {
    for_each_tensor(args, op.written_args(), [&](const Tensor& t, size_t) {
      check_in_place(op.schema().name.c_str(), t);
      FC_CHECK(op.differentiable || !requires_grad(t), op.name(),
               " is not differentiable and would overwrite a tensor that requires grad");
    });
    if (!op.differentiable) {
      ExcludeLayers guard(layer::Autograd);
      redispatch(op, below, args, results);
      return;
    }
  }
  const Tensor* self = op.is_in_place && args[0].is_tensor() ? &args[0].tensor() : nullptr;
  auto node = make_ref<OpNode>(op);
  node->connect(args, needs);
  node->call_id = thread_state().call_id;
  if (thread_state().anomaly_mode && stack_trace_hook) node->forward_trace = stack_trace_hook();
  node->save_args(args, self != nullptr);
  Dims sizes,
      strides;  // of a view: transpose_ and its like change these and write nothing, so its base keeps its history
  if (self && is_view(*self)) {
    sizes = self->sizes();
    strides = self->strides();
  }
  {
    ExcludeLayers guard(layer::Autograd);
    redispatch(op, below, args, results);
  }
  if (self && is_view(*self) && !(Dims::same(sizes, self->sizes()) && Dims::same(strides, self->strides()))) {
    // The view's own history is made anew from its base, because its version moved.
  } else if (self) {
    rebase_history(*self, node);
  } else {
    for (size_t r = 0; r < std::min(op.num_results(), op.differentiable_results); ++r) {
      if (results[r].is_tensor()) {
        if (is_argument(op, args, results[r].tensor())) [[unlikely]]
          results[r] = Value(shallow_copy(results[r].tensor(), true));
        set_history(results[r].tensor(), node);
      } else if (results[r].tag() == Tag::TensorList) {
        for (const Tensor& t : results[r].arg().tensors()) set_history(t, node);
      }
    }
  }
  node->save_results(results);
}

// Below autograd, above the kernels; also when nothing needs a gradient.
void view_in_place_layer(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  if (op.is_view) {
    redispatch(op, below, args, results);
    const Tensor& base = args[op.viewed_arg()].tensor();
    for (size_t r = 0; r < op.num_results(); ++r) {
      if (results[r].is_tensor()) make_view_of(results[r].tensor(), base, op.num_results() > 1);
      else if (results[r].tag() == Tag::TensorList)
        for (const Tensor& t : results[r].arg().tensors()) make_view_of(t, base, true);
    }
    return;
  }
  check_writes(op, args);
  redispatch(op, below, args, results);
  for_each_tensor(args, op.written_args(), [](const Tensor& t, size_t) { t.impl().bump_version(); });
}

Tensor detach_kernel(const Tensor& self) {
  detach_in_place(self);
  return self;
}

}  // namespace

void install_layers() {
  define("detach_(Tensor(a!) self) -> Tensor(a!)").set_composite(kernel<&detach_kernel>());
  set_layer_handler(layer::Autograd, {autograd_layer, nullptr, "autograd"});
  set_layer_handler(layer::ViewInPlace, {view_in_place_layer, nullptr, "view/in-place"});
  is_weight = [](const Tensor& t) { return may_need(t) && is_leaf(t) && !is_view(t); };
  hand_saved_tensor_hooks_to_workers();
}

}  // namespace fc::autograd
