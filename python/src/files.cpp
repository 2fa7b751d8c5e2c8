// SPDX-License-Identifier: Apache-2.0
// Archives over files, memory and Python's file objects; maps of files; safetensors.
#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "bind.h"
#include "casters.h"
#include "core/storage.h"
#include "core/watch.h"
#include "files/atomic_file.h"
#include "files/mapped_file.h"
#include "files/safetensors.h"
#include "files/zip.h"

namespace nb = nanobind;

namespace fc {
namespace {

// Something with read and seek. The interpreter's lock is held.
class ObjectSource final : public files::Source {
 public:
  ObjectSource(nb::object file, uint64_t begin, uint64_t size) : Source(size), file_(std::move(file)), begin_(begin) {}
  using Source::read;
  bool serves_threads() const override { return false; }
  void read(uint64_t offset, void* to, size_t bytes) override {
    file_.attr("seek")(begin_ + offset);
    for (auto p = static_cast<char*>(to); bytes > 0;) {
      nb::object part = file_.attr("read")(bytes);
      FC_CHECK_AS(TypeError, PyBytes_Check(part.ptr()), "read() of the file object must return bytes");
      const auto n = static_cast<size_t>(PyBytes_GET_SIZE(part.ptr()));
      FC_CHECK(n > 0 && n <= bytes, n > 0 ? "read() of the file object returned too much" : "the file ends early");
      std::memcpy(p, PyBytes_AS_STRING(part.ptr()), n);
      p += n;
      bytes -= n;
    }
  }

 private:
  nb::object file_;
  uint64_t begin_;
};

// Something with write.
class ObjectSink final : public files::Sink {
 public:
  explicit ObjectSink(nb::object file) : write_(file.attr("write")) {}
  void write(const void* data, size_t bytes) override {
    for (auto p = static_cast<const char*>(data); bytes > 0;) {
      nb::object written = write_(nb::bytes(p, bytes));
      size_t n = bytes;  // who writes less has to say so
      if (PyLong_Check(written.ptr()))
        n = std::min(bytes, static_cast<size_t>(std::max<int64_t>(0, py::to_int(written.ptr()))));
      FC_CHECK(n > 0, "write() of the file object wrote nothing");
      p += n;
      bytes -= n;
    }
  }

 private:
  nb::object write_;
};

Tensor bytes_tensor(Ref<Storage> storage) {
  const auto n = static_cast<int64_t>(storage->bytes());
  auto impl = make_ref<TensorImpl>(std::move(storage), DType::UInt8, Device{});
  impl->set_geometry(Dims{n}, Dims{1}, 0);
  return Tensor(std::move(impl));
}

// A descriptor of our own, so that nobody else closes it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fcntl(fd, F_DUPFD_CLOEXEC, 0)) {
    if (fd_ < 0) throw files::SystemError(errno, "file");
  }
  ~Descriptor() { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

class Archive {
 public:
  Archive(int fd, uint64_t begin)
      : descriptor_(std::make_unique<Descriptor>(fd)),
        begin_(begin),
        source_(std::make_unique<files::FileSource>(descriptor_->get(), begin)),
        zip_(*source_) {}
  Archive(nb::object file, uint64_t begin, uint64_t size)
      : begin_(begin), source_(std::make_unique<ObjectSource>(std::move(file), begin, size)), zip_(*source_) {}

  bool has(const std::string& name) const { return zip_.find(name); }
  uint64_t size_of(const std::string& name) const { return zip_.get(name).bytes; }
  uint64_t offset_of(const std::string& name) const { return begin_ + zip_.get(name).offset; }
  nb::bytes read(const std::string& name) const {
    const files::Record& record = zip_.get(name);
    nb::bytes out =
        nb::steal<nb::bytes>(py::check(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(record.bytes))));
    zip_.read(record, PyBytes_AS_STRING(out.ptr()));
    return out;
  }
  Tensor tensor(const std::string& name) const {  // the bytes of a record, in memory of their own
    const files::Record& record = zip_.get(name);
    Ref<Storage> storage = allocate_storage(record.bytes, Device{});
    py::ReleaseGil release(descriptor_ != nullptr);
    zip_.read(record, storage->data());
    tell_exposed(storage.get(), "filled");
    return bytes_tensor(std::move(storage));
  }
  // The same without reading it: as far as the processor can use the place it has in the file.
  Tensor mapped(const std::string& name, bool shared) {
    FC_CHECK(descriptor_ != nullptr, "only files of the system can be mapped");
    const files::Record& record = zip_.get(name);
    const uint64_t offset = begin_ + record.offset;
    if (record.bytes == 0 || record.deflated || offset % alignof(std::max_align_t) != 0) return tensor(name);
    if (!map_) map_ = make_ref<files::MappedFile>(descriptor_->get(), shared);
    return bytes_tensor(files::storage_of(map_, offset, record.bytes));
  }

 private:
  std::unique_ptr<Descriptor> descriptor_;
  uint64_t begin_;
  std::unique_ptr<files::Source> source_;
  files::ZipReader zip_;
  Ref<files::MappedFile> map_;
};

class Writer {  // what both kinds of file share: all of it appears at close(), or nothing of it
 public:
  explicit Writer(const nb::bytes& path) : file_(new files::AtomicFile(path.c_str())), sink_(file_) {}
  explicit Writer(nb::object file) : sink_(new ObjectSink(std::move(file))) {}
  files::Sink& sink() {
    FC_CHECK_AS(ValueError, sink_, "the file is closed");
    return *sink_;
  }
  bool is_file() const { return file_; }
  void write(nb::handle data) {
    Py_buffer view;
    py::check(PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE));
    std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> release(&view, &PyBuffer_Release);
    sink().write(view.buf, static_cast<size_t>(view.len));
  }
  void write_tensor(const Tensor& t) {
    check_bytes(t);
    py::ReleaseGil release(is_file());
    sink().write(t.data(), static_cast<size_t>(t.numel()));
  }
  static void check_bytes(const Tensor& t) {
    FC_CHECK(given(t).dtype() == DType::UInt8 && t.is_contiguous() && t.device().is_cpu(),
             "internal: contiguous bytes on the CPU expected");
    tell_exposed(t.impl().storage().get(), "read");
  }
  void close() {
    sink();
    if (file_) {
      py::ReleaseGil release;
      file_->commit();
    }
    abandon();
  }
  void abandon() {
    sink_.reset();
    file_ = nullptr;
  }

 private:
  files::AtomicFile* file_ = nullptr;
  std::unique_ptr<files::Sink> sink_;
};

class ArchiveWriter {
 public:
  ArchiveWriter(Writer& out, const std::string& folder) : out_(out), zip_(out.sink(), folder) {}
  void add(const std::string& name, const nb::bytes& data) {
    out_.sink();
    zip_.add(name, data.c_str(), data.size());
  }
  void add_tensor(const std::string& name, const Tensor& t) {
    Writer::check_bytes(t);
    out_.sink();
    py::ReleaseGil release(out_.is_file());
    zip_.add(name, t.data(), static_cast<uint64_t>(t.numel()));
  }
  void add_hole(const std::string& name, uint64_t bytes) {
    out_.sink();
    zip_.add_hole(name, bytes);
  }
  std::string id() const { return zip_.id(); }
  void finish() {
    out_.sink();
    zip_.finish();
  }

 private:
  Writer& out_;
  files::ZipWriter zip_;
};

// Reverses the bytes of every element, in place.
void swap_bytes(const Tensor& t, size_t item) {
  Writer::check_bytes(t);
  auto p = static_cast<char*>(t.data());
  const auto n = static_cast<size_t>(t.numel());
  FC_CHECK_AS(ValueError, item > 0 && n % item == 0, "bytes cannot be swapped in elements of ", item);
  for (size_t i = 0; i < n; i += item) std::reverse(p + i, p + i + item);
}

// A part of a storage, which it keeps, as a storage.
Tensor storage_part(const Tensor& t, uint64_t offset, uint64_t bytes) {
  const Ref<Storage>& whole = given(t).impl().storage();
  FC_CHECK(t.device().is_cpu() && offset <= whole->bytes() && bytes <= whole->bytes() - offset, "a part of ", bytes,
           " bytes from byte ", offset, " on lies outside of a storage of ", whole->bytes());
  auto kept = std::make_unique<Ref<Storage>>(whole);
  auto free = [](void*, size_t, void* context) { delete static_cast<Ref<Storage>*>(context); };
  whole->lend();
  auto part = make_ref<Storage>(Block{static_cast<char*>(whole->data()) + offset, free, kept.get()}, bytes, t.device(),
                                nullptr, whole->read_only());
  kept.release();
  return bytes_tensor(std::move(part));
}

// A part of a file in memory of its own.
Tensor read_part(int fd, uint64_t offset, uint64_t bytes) {
  files::FileSource source(fd);
  FC_CHECK(offset <= source.size() && bytes <= source.size() - offset, "the file ends early");
  Ref<Storage> storage = allocate_storage(bytes, Device{});
  py::ReleaseGil release;
  source.read(offset, storage->data(), bytes);
  tell_exposed(storage.get(), "filled");
  return bytes_tensor(std::move(storage));
}

// (name, dtype, sizes, offset, bytes) of every tensor, and the metadata.
nb::tuple safetensors_header(nb::handle file) {
  Py_buffer view;
  files::SafetensorsHeader header;
  if (PyLong_Check(file.ptr())) {
    files::FileSource source(static_cast<int>(py::to_int(file.ptr())));
    header = files::read_safetensors(source);
  } else {
    py::check(PyObject_GetBuffer(file.ptr(), &view, PyBUF_SIMPLE));
    std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> release(&view, &PyBuffer_Release);
    files::MemorySource source({static_cast<const char*>(view.buf), static_cast<size_t>(view.len)});
    header = files::read_safetensors(source);
  }
  nb::list tensors;
  for (const files::SafeTensor& t : header.tensors)
    tensors.append(nb::make_tuple(t.name, nb::steal(py::check(py::wrap(t.dtype))), t.sizes, t.offset, t.bytes));
  nb::dict metadata;
  for (const auto& [key, value] : header.metadata) metadata[nb::str(key.data(), key.size())] = value;
  return nb::make_tuple(tensors, metadata);
}

// From (name, dtype, sizes, bytes): the header, and the names in the order of their bytes.
nb::tuple write_safetensors_header(const nb::list& tensors, const nb::dict& metadata) {
  files::SafetensorsHeader header;
  for (nb::handle entry : tensors)
    header.tensors.push_back({nb::cast<std::string>(entry[0]), py::to_dtype(nb::object(entry[1]).ptr()),
                              nb::cast<std::vector<int64_t>>(entry[2]), 0, nb::cast<uint64_t>(entry[3])});
  for (auto [key, value] : metadata)
    header.metadata.emplace_back(nb::cast<std::string>(key), nb::cast<std::string>(value));
  const std::string head = files::write_safetensors(header);
  nb::list names;
  for (const files::SafeTensor& t : header.tensors) names.append(t.name);
  return nb::make_tuple(nb::bytes(head.data(), head.size()), names);
}

}  // namespace

void bind_files(nb::module_& m) {
  nb::class_<Archive>(m, "_Archive")
      .def(nb::init<int, uint64_t>())
      .def(nb::init<nb::object, uint64_t, uint64_t>())
      .def("__contains__", &Archive::has)
      .def("size_of", &Archive::size_of)
      .def("offset_of", &Archive::offset_of)
      .def("read", &Archive::read)
      .def("tensor", &Archive::tensor)
      .def("mapped", &Archive::mapped);
  nb::class_<Writer>(m, "_Writer")
      .def(nb::init<const nb::bytes&>())
      .def(nb::init<nb::object>())
      .def("write", &Writer::write)
      .def("write_tensor", &Writer::write_tensor)
      .def("close", &Writer::close)
      .def("abandon", &Writer::abandon);
  nb::class_<ArchiveWriter>(m, "_ArchiveWriter")
      .def(nb::init<Writer&, const std::string&>(), nb::keep_alive<1, 2>())
      .def("add", &ArchiveWriter::add)
      .def("add_tensor", &ArchiveWriter::add_tensor)
      .def("add_hole", &ArchiveWriter::add_hole)
      .def("id", &ArchiveWriter::id)
      .def("finish", &ArchiveWriter::finish);
  m.def("_swap_bytes", &swap_bytes);
  m.def("_read_part", &read_part);
  m.def("_storage_part", &storage_part);
  m.def("_safetensors_header", &safetensors_header);
  m.def("_write_safetensors_header", &write_safetensors_header);
}

}  // namespace fc
