// A host program over the port's own device functions.
#include <c10/hammerblade/HammerBladeFunctions.h>

#include <cstdio>

using namespace c10::hammerblade;

int main() {
  std::vector<int> host(240, 0);
  auto bytes = static_cast<uint32_t>(host.size() * sizeof(int));
  eva_t data = device_malloc(bytes);
  auto* on_device = reinterpret_cast<void*>(static_cast<uintptr_t>(data));
  DMA_host_to_device(on_device, host.data(), bytes);
  enable_hb_trace();
  offload_kernel("loops", {data, 240});
  disable_hb_trace();
  DMA_device_to_host(host.data(), on_device, bytes);
  device_free(data);
  for (int n : host)
    if (n != 111111) return 1;
  try {
    offload_kernel("loops", {data});
  } catch (const std::runtime_error& e) { std::printf("%s\n", e.what()); }
  return 0;
}
