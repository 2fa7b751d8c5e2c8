// SPDX-License-Identifier: Apache-2.0
// Any bytes are an archive of TorchScript that becomes a module, or an Error. The text behind a line "====" is the
// code of an archive whose data.pkl stands before it, so that what is looked for reaches pickles and code.
#include "files/zip.h"
#include "fuzz.h"
#include "jit/files/read.h"
#include "runtime.h"

#include <new>

namespace fc {

void fuzz::archive(std::string_view bytes) {
  initialise();
  constexpr std::string_view line = "\n====\n";
  std::string made;
  if (const size_t at = bytes.find(line); at != bytes.npos) {
    files::MemorySink sink;
    files::ZipWriter zip(sink, "m");
    zip.add("data.pkl", bytes.substr(0, at));
    zip.add("code/__torch__.py", bytes.substr(at + line.size()));
    zip.add("constants.pkl", std::string_view("\x80\x02).", 4));
    zip.add("data/0", std::string_view("0123456789abcdef"));
    zip.add("version", "3\n");
    zip.finish();
    made = std::move(sink.text);
    bytes = made;
  }
  files::MemorySource source(bytes);
  try {
    jit::read_archive(source);
  } catch (const Error&) {
    // refused
  } catch (const std::bad_alloc&) {
    // __setstate__ asked for more memory than there is
  }
}

}  // namespace fc
