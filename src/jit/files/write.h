// SPDX-License-Identifier: Apache-2.0
// Archives of TorchScript, as PyTorch reads them: the object in data.pkl, its tensors in data/, the code of its classes
// in code/ with the places it came from beside it (.debug_pkl), the constants that the code names in constants.pkl.
// Records are stored. Of one thread; what is written must not change meanwhile.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "files/source.h"
#include "jit/run/function.h"

namespace fc::jit {

using ExtraFiles = std::vector<std::pair<std::string, std::string>>;  // name, content

// `folder`: the archive's top folder, as a rule the file's name. Throws Error for what an archive cannot hold: calls of
// Python, functions without one result, objects that contain themselves.
void write_archive(files::Sink& sink, const std::string& folder, const fc::Value& module, const ExtraFiles& extra);
std::string archive_folder(const std::string& path);  // "net" of a/net.pt
// A module whose forward() is the function.
fc::Value module_of_function(const Function& f);

// The archive format that code with these operators needs at least: 3, and more where an operator changed its meaning.
int64_t format_version(const Graph& g);
inline constexpr int64_t kOldestFormat = 1, kNewestFormat = 10;

}  // namespace fc::jit
