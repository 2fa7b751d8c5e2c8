// SPDX-License-Identifier: Apache-2.0
// Any bytes are either an archive whose records lie apart in it, can be read or have a wrong checksum, and come out
// again from an archive that we write of them; or an Error.
#include "files/zip.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "fuzz.h"

namespace fc {
namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

void fuzz::zip(std::string_view bytes) {
  files::MemorySource source(bytes);
  try {
    files::ZipReader reader(source);
    files::MemorySink sink;
    files::ZipWriter writer(sink, "archive");
    std::vector<std::pair<uint64_t, uint64_t>> places;
    std::vector<std::pair<std::string, std::string>> contents;
    for (const std::string& name : reader.names()) {
      const files::Record& r = reader.get(name);
      require(r.offset <= bytes.size() && r.stored <= bytes.size() - r.offset);
      places.emplace_back(r.offset, r.offset + r.stored);
      try {
        std::string text = reader.read(name);
        require(r.deflated ? text.size() == r.bytes : text == bytes.substr(r.offset, r.bytes));
        contents.emplace_back(name, std::move(text));
      } catch (const Error&) {
        continue;  // the checksum, or what is deflated is damaged
      }
    }
    std::sort(places.begin(), places.end());
    for (size_t i = 1; i < places.size(); ++i) require(places[i - 1].second <= places[i].first);
    for (const auto& [name, text] : contents) writer.add(name, text);
    writer.finish();
    if (contents.empty()) return;
    files::MemorySource again(sink.text);
    files::ZipReader second(again);
    require(second.names().size() == contents.size());
    for (const auto& [name, text] : contents) {
      require(second.read(name) == text);
      require(second.get(name).offset % files::kAlignment == 0);
    }
  } catch (const Error&) {
    // refused
  }
}

}  // namespace fc
