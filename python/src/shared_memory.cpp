// SPDX-License-Identifier: Apache-2.0
// core/shared_memory.h for facula.multiprocessing. Storages cross as tensors of bytes.
#include "core/shared_memory.h"

#include <nanobind/nanobind.h>
#include <sys/prctl.h>

#include "bind.h"
#include "casters.h"

namespace nb = nanobind;

namespace fc {
namespace {

Tensor bytes_of(Ref<Storage> s) {
  const auto n = static_cast<int64_t>(s->bytes());
  auto impl = make_ref<TensorImpl>(std::move(s), DType::UInt8, Device{});
  impl->set_geometry(Dims{n}, Dims{1}, 0);
  return Tensor(std::move(impl));
}

size_t size_from(int64_t bytes) {
  FC_CHECK(bytes >= 0, "a storage cannot have ", bytes, " bytes");
  return static_cast<size_t>(bytes);
}

}  // namespace

void bind_shared_memory(nb::module_& m) {
  m.def("_new_shared", [](int64_t bytes) { return bytes_of(new_shared_storage(size_from(bytes))); });
  // place = t, for a part of shared memory that has not been used yet; False: copy it instead.
  m.def("_write_shared", [](const Tensor& place, const Tensor& t) {
    if (!given(place).is_contiguous() || !given(t).is_contiguous() || place.dtype() != t.dtype() ||
        place.numel() != t.numel() || !t.device().is_cpu() || !place.device().is_cpu())
      return false;
    const size_t item = item_size(t.dtype());
    return write_shared(*place.impl().storage(), static_cast<size_t>(place.offset()) * item, t.data(),
                        static_cast<size_t>(t.numel()) * item);
  });
  m.def("_is_shared", [](const Tensor& t) { return is_shared(*given(t).impl().storage()); });
  m.def("_share", [](const Tensor& t) {
    Storage& s = *given(t).impl().storage();
    if (is_shared(s)) return;
    py::ChangeAlone alone;
    share(s);
  });
  m.def("_shared_descriptor", [](const Tensor& t) {
    py::ChangeAlone alone;
    return shared_descriptor(*given(t).impl().storage());
  });
  m.def("_map_descriptor", [](int descriptor, int64_t bytes, bool keep) {
    return bytes_of(map_descriptor(descriptor, size_from(bytes), keep));
  });
  m.def("_share_by_name", [](const Tensor& t, int tracker) {
    py::ChangeAlone alone;
    return share_by_name(*given(t).impl().storage(), tracker);
  });
  m.def("_has_shared_name", [](const Tensor& t) { return has_name(*given(t).impl().storage()); });
  m.def("_map_name", [](const std::string& name, int64_t bytes, int tracker) {
    return bytes_of(map_name(name, size_from(bytes), tracker));
  });
  m.def("_map_file", [](const std::string& path, bool shared, int64_t bytes) {
    return bytes_of(map_file(path, shared, size_from(bytes)));
  });
  m.def("_die_with_parent", [](int signal) { ::prctl(PR_SET_PDEATHSIG, signal); });
  m.def("_mapped_path", [](const Tensor& t) { return mapped_path(*given(t).impl().storage()); });
}

}  // namespace fc
