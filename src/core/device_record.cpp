// SPDX-License-Identifier: Apache-2.0
#include "core/device_record.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "core/error.h"

namespace fc {
namespace {

class Absent final : public DeviceRecord {  // a type that is known by name and has no devices
 public:
  constexpr explicit Absent(std::string_view name, int number) : DeviceRecord(name) { type = number; }
};
constinit Absent cuda("cuda", Device::CUDA), meta("meta", Device::Meta);
// Known as well, and given a number when a program first names them: torch.device("mps") is compared with others.
constinit Absent on_demand[] = {Absent("mps", 0), Absent("mtia", 0), Absent("xpu", 0)};

class Cpu final : public DeviceRecord {
 public:
  constexpr Cpu() : DeviceRecord("cpu") {
    type = Device::CPU;
    count = 1;
    single = true;
    allocator = &the_cpu_allocator;
  }
  void copy_bytes(void* dst, Device, const void* src, Device, size_t bytes, bool) override {
    std::memcpy(dst, src, bytes);
  }
  MemoryStats memory_stats(Device) override { return cpu_memory_stats(); }
  void reset_peak(Device) override { reset_cpu_peak(); }
  void empty_cache(Device) override { empty_cpu_cache(); }
  MemoryInfo memory_info(Device) override {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return {static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * page,
            static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * page};
  }
  Ref<Generator> make_generator(Device, uint64_t seed) override { return make_ref<CpuGenerator>(seed); }
};
constinit Cpu the_cpu;

struct Table {
  std::mutex mutex;
  int count = 3;
};
constinit Table table;

struct Choice {
  int type, index;
  void* stream;
};
struct Choices {
  int8_t device[kMaxDeviceTypes] = {};
  std::vector<Choice> streams;
  bool any = false;
};
thread_local Choices choices;

// What all devices were seeded with: a default generator that is made later starts from it, else from the system's.
struct {
  std::mutex mutex;
  std::optional<uint64_t> value;
  uint64_t for_new_generator() {
    std::lock_guard lock(mutex);
    return value ? *value : system_seed();
  }
  void set(uint64_t seed) {
    std::lock_guard lock(mutex);
    value = seed;
  }
} constinit process_seed;

struct AssertionError : Error {
  using Error::Error;
  const char* kind() const noexcept override { return "AssertionError"; }
};

int index_of(Device d) { return std::max<int>(d.index, 0); }

[[noreturn]] void has_no(const DeviceRecord& r, const char* what) {
  raise<NotImplementedError>("device '", r.name, "' has no ", what);
}

}  // namespace

constinit DeviceRecord* device_table[kMaxDeviceTypes] = {&the_cpu, &cuda, &meta};

DeviceRecord& device_record(Device device) {
  DeviceRecord& r = device_record(static_cast<int>(device.type));
  if (r.count > 0 && device.index < r.count) [[likely]]
    return r;
  // PyTorch's builds without CUDA say so with an AssertionError, and programs look for its words.
  if (r.count == 0 && r.type == Device::CUDA)
    raise<AssertionError>("Torch not compiled with CUDA enabled: no backend for device '", device, "' is loaded");
  FC_CHECK(r.count > 0, "no backend for device '", device, "' is loaded");
  raise<Error>("device '", device, "' does not exist: backend '", r.name, "' has ", r.count,
               r.count == 1 ? " device" : " devices");
}

void add_device_type(DeviceRecord& record) {
  std::lock_guard lock(table.mutex);
  FC_CHECK(!record.name.empty() &&
               record.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == record.name.npos,
           "backend name '", record.name, "' must be lower-case letters, digits and '_'");
  for (int i = 0; i < table.count; ++i) {
    if (device_record(i).name != record.name) continue;
    const auto absent = std::ranges::find(on_demand, &device_record(i), [](const Absent& a) { return &a; });
    FC_CHECK(absent != std::end(on_demand), "the device type '", record.name, "' exists already");
    record.type = i;  // it was only named until now
    __atomic_store_n(&device_table[i], &record, __ATOMIC_RELEASE);
    return;
  }
  FC_CHECK(table.count < kMaxDeviceTypes, "too many device types: at most ", kMaxDeviceTypes);
  record.type = table.count;
  __atomic_store_n(&device_table[table.count], &record, __ATOMIC_RELEASE);
  __atomic_store_n(&table.count, table.count + 1, __ATOMIC_RELEASE);
}

bool name_absent_device(std::string_view name) {
  const auto absent = std::ranges::find(on_demand, name, [](const Absent& a) { return a.name; });
  if (absent == std::end(on_demand)) return false;
  if (find_device_type(name) < 0) add_device_type(*absent);
  return true;
}

std::vector<DeviceRecord*> device_records() {
  std::vector<DeviceRecord*> out;
  for (int i = 0; i < __atomic_load_n(&table.count, __ATOMIC_ACQUIRE); ++i) out.push_back(&device_record(i));
  return out;
}

std::string_view device_type_name(int type) {
  return type >= 0 && type < __atomic_load_n(&table.count, __ATOMIC_ACQUIRE) ? device_record(type).name : "?";
}

int find_device_type(std::string_view name) {
  for (int i = 0; i < __atomic_load_n(&table.count, __ATOMIC_ACQUIRE); ++i)
    if (device_record(i).name == name) return i;
  return -1;
}

Device choose_index(Device d) {
  if (device_record(static_cast<int>(d.type)).single && d.index <= 0) d.index = -1;
  else if (d.index < 0) d.index = static_cast<int8_t>(current_device(d.type));
  return d;
}

// --- what a record does unless its device brings something else
void DeviceRecord::copy_bytes(void*, Device dst, const void*, Device src, size_t, bool) {
  raise<Error>("no backend can copy from ", src, " to ", dst);
}
void DeviceRecord::synchronise(Device) {}
MemoryStats DeviceRecord::memory_stats(Device) { return {}; }
void DeviceRecord::reset_peak(Device) {}
void DeviceRecord::empty_cache(Device) {}
MemoryInfo DeviceRecord::memory_info(Device) { has_no(*this, "record of its free memory"); }
std::vector<MemoryBlock> DeviceRecord::memory_blocks(Device) { return {}; }
Block DeviceRecord::pinned(size_t, Device) { has_no(*this, "pinned memory"); }
void* DeviceRecord::create_stream(Device) { has_no(*this, "streams"); }
void DeviceRecord::destroy_stream(Device, void*) { has_no(*this, "streams"); }
void* DeviceRecord::create_event(Device) { has_no(*this, "events"); }
void DeviceRecord::destroy_event(Device, void*) { has_no(*this, "events"); }
void DeviceRecord::record_event(Device, void*) { has_no(*this, "events"); }
void DeviceRecord::wait_event(Device, void*) { has_no(*this, "events"); }
bool DeviceRecord::event_done(Device, void*) { has_no(*this, "events"); }
void DeviceRecord::synchronise_event(Device, void*) { has_no(*this, "events"); }
double DeviceRecord::event_elapsed(Device, void*, void*) { has_no(*this, "events"); }

// --- generators
Ref<Generator> DeviceRecord::make_generator(Device device, uint64_t seed) {
  return make_ref<PhiloxGenerator>(device, seed);
}

Ref<Generator> DeviceRecord::default_generator(Device device) {
  const auto index = static_cast<size_t>(index_of(device));
  std::lock_guard lock(mutex_);
  if (!generators_) generators_ = new std::vector<Ref<Generator>>;
  if (generators_->size() <= index) generators_->resize(index + 1);
  Ref<Generator>& g = (*generators_)[index];
  if (!g) {
    const Device where{static_cast<int8_t>(type), single ? int8_t{-1} : static_cast<int8_t>(index)};
    g = make_generator(type == Device::CPU ? Device{} : where, process_seed.for_new_generator());
  }
  return g;
}

void DeviceRecord::seed_generators(uint64_t seed) {
  std::vector<Ref<Generator>> all;
  {
    std::lock_guard lock(mutex_);
    if (generators_) all = *generators_;
  }
  for (Ref<Generator>& g : all)
    if (g) {
      std::lock_guard lock(g->mutex);
      g->set_seed(seed);
    }
}

void seed_all_devices(uint64_t seed) {
  process_seed.set(seed);
  for (DeviceRecord* r : device_records()) r->seed_generators(seed);
}

// --- the thread's choices
int current_device(int type) { return choices.device[type]; }
void set_current_device(Device device) {
  device_record(device);
  choices.device[static_cast<int>(device.type)] = static_cast<int8_t>(index_of(device));
  choices.any = true;
}

void* current_stream(Device device) {
  for (const Choice& c : choices.streams)
    if (c.type == device.type && c.index == index_of(device)) return c.stream;
  return nullptr;
}

void set_current_stream(Device device, void* stream) {
  DeviceRecord& r = device_record(device);
  if (!r.has_streams() && stream) has_no(r, "streams");
  std::erase_if(choices.streams, [&](const Choice& c) { return c.type == device.type && c.index == index_of(device); });
  if (stream) choices.streams.push_back({device.type, index_of(device), stream});
  choices.any = true;
}

void* copy_device_choices() { return choices.any ? new Choices(choices) : nullptr; }
void enter_device_choices(void* copy) { choices = *static_cast<Choices*>(copy); }
void leave_device_choices() { choices = {}; }
void drop_device_choices(void* copy) { delete static_cast<Choices*>(copy); }

}  // namespace fc
