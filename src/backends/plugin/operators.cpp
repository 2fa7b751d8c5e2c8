// SPDX-License-Identifier: Apache-2.0
// A backend's fast paths by operator name. The operator's own shape rule, run on the meta device, says what the
// results look like, and is remembered per thread for the shapes at hand; where it cannot tell, the backend does. A
// call that the backend declines goes the way it would have gone without it.
#include "backends/plugin/backend.h"
#include "backends/plugin/shape_rules.h"
#include "dispatch/family_table.h"
#include "dispatch/observe.h"

namespace fc::plugin {

// --- the C form of a call
void Arguments::Needs::add(const Tensor& t) {
  if (t.defined()) dims += t.sizes().size();
}
void Arguments::Needs::add(const Arg& a) {
  switch (a.tag()) {
    case Tag::Tensor:
      ++tensors;
      add(a.tensor());
      break;
    case Tag::TensorList:
      tensors += a.tensors().size();
      for (const Tensor& t : a.tensors()) add(t);
      break;
    case Tag::Scalar: ++numbers; break;
    case Tag::BoolList: dims += a.bools().size(); break;
    case Tag::String: letters += a.text().size() + 1; break;
    default: break;
  }
}

Arguments::Arguments(const Arg* args, size_t n, std::span<const Value> results) {
  Needs needs;
  for (size_t i = 0; i < n; ++i) needs.add(args[i]);
  for (const Value& v : results) needs.add(v.arg());
  values_ = value_room_.take(n + results.size());
  tensors_ = tensor_room_.take(needs.tensors);
  strides_ = stride_room_.take(needs.dims);
  numbers_ = number_room_.take(needs.numbers);
  letters_ = letter_room_.take(needs.letters);
  for (size_t i = 0; i < n; ++i) values_[i] = convert(args[i]);
  results_ = values_ + n;
  for (size_t r = 0; r < results.size(); ++r) results_[r] = convert(results[r].arg());
}

fc_tensor Arguments::tensor(const Tensor& t) {
  if (!t.defined()) return {nullptr, nullptr, nullptr, -1, 0};
  const int64_t item = static_cast<int64_t>(item_size(t.dtype()));
  int64_t* first = strides_;
  for (int64_t s : t.strides()) *strides_++ = s * item;
  return {t.data(), t.sizes().data(), first, static_cast<int32_t>(t.dtype()), static_cast<int32_t>(t.sizes().size())};
}

fc_value Arguments::convert(const Arg& a) {
  fc_value v{FC_TAG_OTHER, 0, {}};
  switch (a.tag()) {
    case Tag::None: v.tag = FC_TAG_NONE; break;
    case Tag::Tensor:
      v.tag = a.tensor().defined() ? FC_TAG_TENSOR : FC_TAG_NONE;
      v.u.tensor = tensors_;
      *tensors_++ = tensor(a.tensor());
      break;
    case Tag::Bool: v = {FC_TAG_BOOL, 0, {.i = a.boolean()}}; break;
    case Tag::Int: v = {FC_TAG_INT, 0, {.i = a.integer()}}; break;
    case Tag::Double: v = {FC_TAG_DOUBLE, 0, {.d = a.real()}}; break;
    case Tag::Scalar:
      v.tag = FC_TAG_NUMBER;
      v.u.number = numbers_;
      *numbers_++ = to_number(a.scalar());
      break;
    case Tag::String:
      v = {FC_TAG_STRING, static_cast<int32_t>(a.text().size()), {.text = letters_}};
      letters_ += a.text().copy(letters_, a.text().size());
      *letters_++ = 0;
      break;
    case Tag::DType: v = {FC_TAG_DTYPE, 0, {.i = static_cast<int64_t>(a.dtype())}}; break;
    case Tag::IntList: v = {FC_TAG_INTS, static_cast<int32_t>(a.ints().size()), {.ints = a.ints().data()}}; break;
    case Tag::BoolList:
      v = {FC_TAG_INTS, static_cast<int32_t>(a.bools().size()), {.ints = strides_}};
      for (bool b : a.bools()) *strides_++ = b;
      break;
    case Tag::DoubleList:
      v = {FC_TAG_DOUBLES, static_cast<int32_t>(a.doubles().size()), {.doubles = a.doubles().data()}};
      break;
    case Tag::TensorList: {
      v = {FC_TAG_TENSORS, static_cast<int32_t>(a.tensors().size()), {.tensor = tensors_}};
      for (const Tensor& t : a.tensors()) *tensors_++ = tensor(t);
      break;
    }
    default: break;
  }
  return v;
}

namespace {

// --- results that the backend sizes
class Results final : public ResultMaker {
 public:
  Results(const Operator& op, Device device, const Arg* args, Value* results)
      : op_(op), device_(device), args_(args), results_(results) {}

  int make_result(int32_t r, int32_t item, int32_t dtype, IntSpan sizes, fc_tensor* made) override {
    FC_CHECK(dtype >= 0 && dtype < kDTypeSlots && exists(static_cast<DType>(dtype)), "make_result: no element type ",
             dtype);
    const Tensor& t = put(r, item, empty_tensor(sizes, static_cast<DType>(dtype), device_));
    const Dims& strides = *strides_.emplace_back(std::make_unique<Dims>(ByteStrides(t).dims()));
    if (made) *made = {t.data(), t.sizes().data(), strides.data(), dtype, static_cast<int32_t>(t.dim())};
    return FC_OK;
  }
  int make_view(int32_t r, int32_t item, int32_t arg, int32_t arg_item, int64_t byte_offset, IntSpan sizes,
                const int64_t* byte_strides) override {
    FC_CHECK(arg >= 0 && static_cast<size_t>(arg) < op_.num_args(), "make_view: no argument ", arg);
    const Arg& a = args_[arg];
    const TensorSpan list = a.is_tensor_list() ? a.tensors()
                            : a.is_tensor()    ? TensorSpan(&a.tensor(), 1)
                                               : TensorSpan();
    FC_CHECK(
        arg_item >= 0 && static_cast<size_t>(arg_item) < list.size() && list[static_cast<size_t>(arg_item)].defined(),
        "make_view: argument ", arg, " has no tensor ", arg_item);
    const Tensor& base = list[static_cast<size_t>(arg_item)];
    const int64_t unit = static_cast<int64_t>(item_size(base.dtype()));
    Dims strides(sizes.size());
    bool whole = byte_offset % unit == 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      whole &= byte_strides[d] >= 0 && byte_strides[d] % unit == 0;
      strides[d] = byte_strides[d] / unit;
    }
    int64_t offset = 0;
    FC_CHECK(whole && !__builtin_add_overflow(base.offset(), byte_offset / unit, &offset) && offset >= 0,
             "make_view: offset and strides are not of whole elements forward");
    checked_numel(sizes);
    FC_CHECK(storage_bytes_needed(sizes, strides, offset, base.dtype()) <= base.impl().storage()->bytes(),
             "make_view: the view reaches beyond the memory of argument ", arg);
    put(r, item, fc::make_view(base, sizes, strides, offset));
    return FC_OK;
  }
  std::vector<Tensor> take_list(size_t r) { return std::move(lists_[r]); }
  bool made(size_t r) const { return made_ >> r & 1; }

 private:
  const Tensor& put(int32_t result, int32_t item, Tensor t) {
    FC_CHECK(result >= 0 && static_cast<size_t>(result) < op_.num_results(), op_.name(), " has no result ", result);
    const auto r = static_cast<size_t>(result);
    const FlatType& type = op_.schema().returns[r].type;
    FC_CHECK(type.kind == Kind::Tensor && unmade >> r & 1, "result ", r, " of ", op_.name(),
             " is none that the backend makes: it has its memory already, or is no tensor");
    if (!type.list) {
      FC_CHECK(item == 0 && !made(r), "result ", r, " of ", op_.name(), " is one tensor, and made once");
      made_ |= uint64_t{1} << r;
      results_[r] = Value(std::move(t));
      return results_[r].tensor();
    }
    if (lists_.empty()) lists_.resize(op_.num_results());
    FC_CHECK(item >= 0 && static_cast<size_t>(item) == lists_[r].size(), "result ", r, " of ", op_.name(),
             ": its tensors are made in order, next is ", lists_[r].size());
    made_ |= uint64_t{1} << r;
    return lists_[r].emplace_back(std::move(t));
  }

  const Operator& op_;
  Device device_;
  const Arg* args_;
  Value* results_;
  uint64_t made_ = 0;
  std::vector<std::vector<Tensor>> lists_;
  std::vector<std::unique_ptr<Dims>> strides_;

 public:
  uint64_t unmade = 0;  // results that are the backend's to make, as bits
};

Value number_of(const fc_value& v, const Operator& op, size_t r) {
  const Kind kind = op.schema().returns[r].type.kind;
  switch (v.tag) {
    case FC_TAG_BOOL:
      if (kind == Kind::Bool || kind == Kind::Scalar)
        return kind == Kind::Bool ? Value(v.u.i != 0) : Value(Scalar(v.u.i != 0));
      break;
    case FC_TAG_INT:
      if (kind == Kind::Int || kind == Kind::Scalar) return kind == Kind::Int ? Value(v.u.i) : Value(Scalar(v.u.i));
      break;
    case FC_TAG_DOUBLE:
      if (kind == Kind::Float || kind == Kind::Scalar) return kind == Kind::Float ? Value(v.u.d) : Value(Scalar(v.u.d));
      break;
    case FC_TAG_NUMBER:
      if (kind == Kind::Scalar && v.u.number) return Value(to_scalar(*v.u.number));
      break;
    default: break;
  }
  raise<Error>("result ", r, " is ", to_string(op.schema().returns[r].type), " by the schema of ", op.name(),
               "; the backend gave a value with tag ", v.tag);
}

uint64_t bytes_of(const Arg& a) {
  auto one = [](const Tensor& t) {
    return t.defined() ? static_cast<uint64_t>(t.numel()) * item_size(t.dtype()) : uint64_t{0};
  };
  uint64_t n = a.is_tensor() ? one(a.tensor()) : 0;
  if (a.is_tensor_list())
    for (const Tensor& t : a.tensors()) n += one(t);
  return n;
}

// False: the backend declined.
bool run_here(const FastPath& path, const char* name, Device device, const Arg* args, Value* results) {
  const Operator& op = path.op;
  Backend& b = path.backend;
  const size_t n = op.num_args(), n_results = op.num_results();
  Results maker(op, device, args, results);
  maker.unmade = prepare_results(op, device, args, results);
  Arguments c(args, n, {results, n_results});
  for (size_t r = 0; r < n_results; ++r)
    if (maker.unmade >> r & 1) c.results()[r].tag = FC_TAG_UNMADE;
  EventScope told(EventKind::Launch, [&](Event& e) {
    e.name = name;
    e.where = device;
    for (size_t i = 0; i < n; ++i) e.bytes += bytes_of(args[i]);
    for (size_t r = 0; r < n_results; ++r) e.bytes += bytes_of(results[r].arg());
  });
  CallScope s(b, index_of(device), &maker);
  const int status = b.c.run_operator(b.c.self, &s.context, name, c.data(), static_cast<int32_t>(n), c.results(),
                                      static_cast<int32_t>(n_results));
  if (status == FC_UNSUPPORTED) return false;
  s.check(status, name);
  for (size_t r = 0; r < n_results; ++r) {
    const FlatType& type = op.schema().returns[r].type;
    if (type.kind != Kind::Tensor) results[r] = number_of(c.results()[r], op, r);
    else if (maker.unmade >> r & 1) {
      FC_CHECK(maker.made(r) || type.optional, "backend '", b.name, "', ", name,
               ": it returned success without making result ", r, " (make_result or make_view)");
      if (type.list) results[r] = Value(maker.take_list(r));
    }
  }
  return true;
}

void run(void* context, const Operator& op, const Arg* args, Value* results) {
  const auto& path = *static_cast<const FastPath*>(context);
  Device device{static_cast<int8_t>(path.backend.type), 0};
  bool all_here = true;
  auto look = [&](const Tensor& t) {
    if (!t.defined()) return;
    if (t.device().type == device.type) device = t.device();
    else all_here = false;
  };
  for (uint8_t i : op.tensor_args()) {
    if (args[i].is_tensor()) look(args[i].tensor());
    else if (args[i].is_tensor_list())
      for (const Tensor& t : args[i].tensors()) look(t);
  }
  const char* name = path.offered();
  if (name && all_here && run_here(path, name, device, args, results)) return;
  for (size_t r = 0; r < op.num_results(); ++r) results[r] = Value();
  op.run_without_kernel(path.backend.type, args, results);
}

}  // namespace

std::vector<std::string> Backend::read_operators() {
  std::vector<std::string> unknown;
  std::vector<std::pair<Operator*, const char*>> offered;
  for (const char* const* list = c.operators ? c.operators(c.self) : nullptr; list && *list; ++list) {
    if (Operator* op = find_operator(*list)) offered.emplace_back(op, *list);
    else if (std::lock_guard lock(mutex_); told_unknown_.insert(*list).second) unknown.emplace_back(*list);
  }
  std::lock_guard lock(mutex_);
  for (auto& path : paths_) {
    const char* name = nullptr;
    for (auto& [op, now] : offered)
      if (op == &path->op) name = now;
    __atomic_store_n(&path->name, name, __ATOMIC_RELEASE);
  }
  for (auto& [op, name] : offered) {
    bool known = false;
    for (auto& path : paths_) known |= &path->op == op;
    if (!known) paths_.emplace_back(new FastPath{*this, *op, name});
  }
  return unknown;
}

void Backend::install_operators() {
  std::lock_guard lock(mutex_);
  for (; installed_ < paths_.size(); ++installed_)
    paths_[installed_]->op.set_kernel(type, {run, paths_[installed_].get()});
}

std::vector<std::string> Backend::operator_names() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (auto& path : paths_)
    if (const char* name = path->offered()) out.emplace_back(name);
  return out;
}

}  // namespace fc::plugin
