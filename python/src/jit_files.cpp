// SPDX-License-Identifier: Apache-2.0
// Archives of TorchScript, written and read for Python.
#include "bind.h"
#include "casters.h"
#include "files/atomic_file.h"
#include "jit.h"
#include "jit/files/read.h"
#include "jit/passes/freeze_module.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

ExtraFiles extra_files(const nb::dict& extra) {
  ExtraFiles out;
  for (auto [name, content] : extra) {
    const nb::bytes bytes = PyBytes_Check(content.ptr()) ? nb::borrow<nb::bytes>(content)
                                                         : nb::cast<nb::bytes>(nb::str(content).attr("encode")());
    out.emplace_back(nb::cast<std::string>(name), std::string(bytes.c_str(), bytes.size()));
  }
  return out;
}

void save(const fc::Value& module, const std::string& path, const nb::dict& extra) {
  const ExtraFiles files = extra_files(extra);
  files::AtomicFile file(path);
  write_archive(file, archive_folder(path), module, files);
  file.commit();
}

nb::bytes save_to_buffer(const fc::Value& module, const nb::dict& extra) {
  files::MemorySink sink;
  write_archive(sink, "archive", module, extra_files(extra));
  return nb::bytes(sink.text.data(), sink.text.size());
}

nb::tuple load(nb::handle path, nb::handle data, nb::handle device, const std::vector<std::string>& names) {
  std::optional<Device> target;
  if (!device.is_none()) target = py::to_device(device.ptr());
  Archive archive;
  if (!path.is_none()) {
    archive = read_archive_file(nb::cast<std::string>(path), target, names);
  } else {
    FC_CHECK_AS(TypeError, PyBytes_Check(data.ptr()), "the file object's read() gave no bytes");
    files::MemorySource source({PyBytes_AS_STRING(data.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(data.ptr()))});
    archive = read_archive(source, target, names);
  }
  nb::dict extra;
  for (const auto& [name, content] : archive.extra) extra[name.c_str()] = nb::bytes(content.data(), content.size());
  return nb::make_tuple(ObjectHandle{std::move(archive.module)}, extra);
}

}  // namespace

void bind_archives(nb::module_& m) {
  m.def("_jit_save",
        [](const ObjectHandle& o, const std::string& path, const nb::dict& extra) { save(o.object, path, extra); });
  m.def("_jit_save", [](const FunctionHandle& f, const std::string& path, const nb::dict& extra) {
    save(module_of_function(*f.function), path, extra);
  });
  m.def(
      "_freeze_module",
      [](const ObjectHandle& o, const std::vector<std::string>& kept, bool, bool) {
        return ObjectHandle{freeze_module(o.object, kept)};
      },
      nb::arg("module"), nb::arg("preserved_attrs") = std::vector<std::string>(), nb::arg("freeze_interfaces") = true,
      nb::arg("preserve_parameters") = false);
  m.def("_jit_load", &load, nb::arg("path").none(), nb::arg("data").none(), nb::arg("device").none(), nb::arg("names"));
  m.def("_jit_save_to_buffer",
        [](const ObjectHandle& o, const nb::dict& extra) { return save_to_buffer(o.object, extra); });
  m.def("_jit_save_to_buffer", [](const FunctionHandle& f, const nb::dict& extra) {
    return save_to_buffer(module_of_function(*f.function), extra);
  });
}

}  // namespace fc::jit
