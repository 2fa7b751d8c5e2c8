// SPDX-License-Identifier: Apache-2.0
// Modules of TorchScript from C++, without Python:
//   #include <facula/jit.h>
//   facula::jit::Module net = facula::jit::load("net.pt");
//   facula::Tensor y = net.forward({x}).toTensor();
// A Module and an IValue are handles: copies are the same object. Any threads may call one module at once; what its
// code changes in it is the program's business. Errors are facula::Error and say where in the module's source.
#pragma once
#include <facula/facula.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace facula::jit {

class Module;

// A value that TorchScript's functions take and give.
class IValue {
 public:
  IValue();  // None
  IValue(const Tensor& v);
  IValue(bool v);
  IValue(int64_t v);
  IValue(int v) : IValue(static_cast<int64_t>(v)) {}
  IValue(double v);
  IValue(const char* v) : IValue(std::string(v)) {}
  IValue(const std::string& v);
  IValue(const std::vector<Tensor>& v);
  IValue(const std::vector<int64_t>& v);
  IValue(const std::vector<double>& v);
  static IValue tuple(const std::vector<IValue>& items);

  bool isNone() const;
  bool isTensor() const;
  bool isBool() const;
  bool isInt() const;
  bool isDouble() const;
  bool isString() const;
  bool isList() const;
  bool isTuple() const;
  bool isDict() const;
  bool isModule() const;

  // Throw Error where the value is of another kind.
  Tensor toTensor() const;
  bool toBool() const;
  int64_t toInt() const;
  double toDouble() const;
  std::string toString() const;
  Module toModule() const;
  std::vector<Tensor> toTensorVector() const;              // of a list of tensors
  std::vector<IValue> elements() const;                    // of a list or tuple
  std::vector<std::pair<IValue, IValue>> entries() const;  // of a dict, in its order
  std::string kind() const;                                // "Tensor", "int", "List[str]" …

 private:
  friend class Module;
  friend struct Access;
  fc::Ref<fc::RefCounted> value_;  // null: None
};

class Module {
 public:
  IValue forward(const std::vector<IValue>& arguments) const { return run_method("forward", arguments); }
  IValue run_method(const std::string& name, const std::vector<IValue>& arguments = {}) const;
  bool has_method(const std::string& name) const;
  std::vector<std::string> method_names() const;

  IValue attr(const std::string& name) const;  // throws AttributeError
  bool hasattr(const std::string& name) const;
  void setattr(const std::string& name, const IValue& value) const;
  // By their dotted names, those of submodules included.
  std::vector<std::pair<std::string, Tensor>> named_parameters() const;
  std::vector<std::pair<std::string, Tensor>> named_buffers() const;
  std::vector<Tensor> parameters() const;
  void train(bool on = true) const;
  void eval() const { train(false); }
  bool is_training() const;

  void save(const std::string& path) const;

 private:
  friend class IValue;
  friend struct Access;
  Module() = default;
  fc::Ref<fc::RefCounted> object_;
};

// An archive that PyTorch or Facula wrote. `device`: where its tensors go; none: where they were. Throws Error whose
// sentence says what is wrong with the file.
Module load(const std::string& path, std::optional<Device> device = std::nullopt);

}  // namespace facula::jit
