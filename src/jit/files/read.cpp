// SPDX-License-Identifier: Apache-2.0
#include "jit/files/read.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "core/containers.h"
#include "jit/files/unpickler.h"

namespace fc::jit {
namespace {

int64_t read_version(const files::ZipReader& zip) {
  const char* const name = zip.find(".data/version") ? ".data/version" : "version";
  FC_CHECK(zip.find(name), "the archive has no record 'version'");
  const std::string text = zip.read(name);
  int64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  FC_CHECK(error == std::errc() && std::string_view(end, static_cast<size_t>(text.data() + text.size() - end)) <= "\n",
           "the archive's version is no number");
  FC_CHECK(version >= kOldestFormat, "the archive's version is ", version, "; the oldest is ", kOldestFormat);
  FC_CHECK(version <= kNewestFormat, "the archive is of version ", version,
           ", which a newer PyTorch wrote; versions up to ", kNewestFormat, " are read");
  return version;
}

void refuse_other_files(const files::ZipReader& zip) {
  FC_CHECK(zip.find("data.pkl"), zip.find("model.json")
                                     ? "the archive is of PyTorch before 1.2 (model.json), which is not read"
                                     : "the archive has no record 'data.pkl'");
  FC_CHECK(zip.find("constants.pkl"),
           "the archive is no module of TorchScript: it has no record 'constants.pkl'. torch.load "
           "reads what torch.save wrote");
  const bool code = std::ranges::any_of(zip.names(), [](const std::string& n) { return n.starts_with("code/"); });
  FC_CHECK(code || !zip.find("bytecode.pkl"),
           "the archive is for PyTorch's mobile runtime only (bytecode.pkl without code/), "
           "which is not read; save the module with torch.jit.save");
  if (zip.find("byteorder"))
    FC_CHECK(zip.read("byteorder") == "little", "the archive's numbers are not little-endian: it is not read here");
}

}  // namespace

Archive read_archive(files::Source& source, std::optional<Device> target, const std::vector<std::string>& extra) {
  const std::string head = source.read(0, std::min<uint64_t>(source.size(), 8));
  FC_CHECK(
      head.size() < 8 || head.substr(4, 4) != "PTMF",
      "the file is a flatbuffer of PyTorch's mobile runtime, which is not read; save the module with torch.jit.save");
  const files::ZipReader zip(source);
  refuse_other_files(zip);
  const int64_t version = read_version(zip);
  Archive out;
  out.unit = make_ref<CompilationUnit>();
  const auto importer = make_ref<Importer>(zip, out.unit, version);
  const fc::Value constants = ValueUnpickler(zip, "constants", *importer, target).read("constants.pkl");
  FC_CHECK(constants.tag() == Tag::Tuple, "the archive's constants are no tuple");
  importer->set_constants(tuple_of(constants).items);
  out.module = ValueUnpickler(zip, "data", *importer, target).read("data.pkl");
  FC_CHECK(out.module.tag() == Tag::Instance, "the archive holds no module");
  importer->compile_all();
  for (const std::string& name : extra)
    if (zip.find("extra/" + name)) out.extra.emplace_back(name, zip.read("extra/" + name));
  return out;
}

Archive read_archive_file(const std::string& path, std::optional<Device> target,
                          const std::vector<std::string>& extra) {
  struct File {
    int fd;
    ~File() {
      if (fd >= 0) close(fd);
    }
  } const file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) throw files::SystemError(errno, path);
  files::FileSource source(file.fd);
  return read_archive(source, target, extra);
}

}  // namespace fc::jit
