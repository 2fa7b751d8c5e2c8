// SPDX-License-Identifier: Apache-2.0
// Runs a module that torch.jit.save wrote, without Python: run_archive model.pt SIZE..., on a tensor of ones.
#include <facula/jit.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("run_archive model.pt SIZE...\n", stderr);
    return 2;
  }
  try {
    const facula::jit::Module module = facula::jit::load(argv[1]);
    module.eval();
    std::vector<int64_t> sizes;
    for (int i = 2; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
    const facula::NoGradGuard no_grad;
    std::ostringstream out;
    out << module.forward({facula::ones(sizes)}).toTensor();
    std::puts(out.str().c_str());
  } catch (const facula::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
