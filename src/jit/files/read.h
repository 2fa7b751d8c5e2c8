// SPDX-License-Identifier: Apache-2.0
// Archives of TorchScript, of PyTorch and of ours, become a module. Classes and functions are looked for in code/
// when something names them, and compiled; nothing runs but a class's own __setstate__. An archive that is damaged or
// forged, or that needs what is not here, is an Error whose sentence names it. Of one thread; any number of archives at
// once.
#pragma once
#include <facula/device.h>

#include <optional>
#include <string>
#include <vector>

#include "files/zip.h"
#include "jit/files/write.h"
#include "jit/run/function.h"

namespace fc::jit {

struct Archive {
  fc::Value module;
  Ref<CompilationUnit> unit;  // its classes and functions
  ExtraFiles extra;           // those that were asked for and are there
};

// `target`: where tensors go; none: where they were.
Archive read_archive(files::Source& source, std::optional<Device> target = {},
                     const std::vector<std::string>& extra = {});

// The same of a file of the system; throws SystemError where it cannot be opened.
Archive read_archive_file(const std::string& path, std::optional<Device> target = {},
                          const std::vector<std::string>& extra = {});

}  // namespace fc::jit
