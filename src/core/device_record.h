// SPDX-License-Identifier: Apache-2.0
// A device type is one record: what it is called, where its memory comes from, how bytes travel, what it computes, its
// streams, events, statistics and random numbers. The CPU fills one, backends fill one each (backends/plugin);
// everything else asks the record and knows no device by name. Kernels for single operators stand in the operators, in
// the column of the record's number. Records live until the process ends and are read without a lock.
#pragma once
#include <mutex>
#include <vector>

#include <facula/families.h>

#include "core/allocator.h"
#include "core/device.h"
#include "core/generator.h"

namespace fc {

// What a device computes (dispatch/family_table.h calls it). Null where it has no such function.
struct Families {
  void* context = nullptr;
  bool flattens = false;  // map sees tensors of one shape without gaps as one row; otherwise their shape
  // Whether the device does this call; null: everything its function pointers offer. `call` is the family's struct.
  bool (*supports)(void* context, fc_family family, const void* call) = nullptr;
  void (*copy)(void* context, Device, const fc_copy&) = nullptr;
  void (*map)(void* context, Device, const fc_map&) = nullptr;
  void (*reduce)(void* context, Device, const fc_reduce&) = nullptr;
  void (*matmul)(void* context, Device, const fc_matmul&) = nullptr;
  void (*gather)(void* context, Device, const fc_gather&) = nullptr;
  void (*scatter)(void* context, Device, const fc_scatter&) = nullptr;
  void (*scan)(void* context, Device, const fc_scan&) = nullptr;
  void (*sort)(void* context, Device, const fc_sort&) = nullptr;
  void (*random)(void* context, Device, const fc_random&) = nullptr;
};

struct MemoryInfo {
  uint64_t free, total;
};
struct MemoryBlock {  // what the host holds of a device's memory
  const void* address;
  size_t bytes;
  size_t requested;  // by the storage that lives in it; 0: kept for reuse
  void* stream;
};

class DeviceRecord {
 public:
  std::string_view name;       // as long as the process
  int type = -1;               // its number
  int count = 0;               // devices; 0: nobody has brought one
  bool single = false;         // there is one, ever: it has no index
  bool int32_indices = false;  // what max_pool2d and sparse tensors give out; int64 otherwise
  Allocator* allocator = nullptr;
  Families families;

  // Between the host and a device, or two devices of this type. non_blocking: the host's side stays as it is until the
  // program has synchronised, so the call need not wait.
  virtual void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
                          bool non_blocking);
  // Waits for the current stream, without one for the device; throws what the device found out meanwhile.
  virtual void synchronise(Device device);

  virtual MemoryStats memory_stats(Device device);
  virtual void reset_peak(Device device);
  virtual void empty_cache(Device device);
  virtual MemoryInfo memory_info(Device device);
  virtual std::vector<MemoryBlock> memory_blocks(Device device);  // a snapshot
  virtual Block pinned(size_t bytes, Device device);              // of the host, which the device reaches fast

  // Null is the default stream. What acts on a stream acts on the thread's current one.
  virtual bool has_streams() const { return false; }
  virtual void* create_stream(Device device);
  virtual void destroy_stream(Device device, void* stream);
  virtual void* create_event(Device device);
  virtual void destroy_event(Device device, void* event);
  virtual void record_event(Device device, void* event);
  virtual void wait_event(Device device, void* event);  // the stream waits
  virtual bool event_done(Device device, void* event);
  virtual void synchronise_event(Device device, void* event);           // the host waits
  virtual double event_elapsed(Device device, void* start, void* end);  // milliseconds

  // Generators: Philox, whose numbers the device draws by the family `random`; the CPU has its own.
  virtual Ref<Generator> make_generator(Device device, uint64_t seed);
  Ref<Generator> default_generator(Device device);
  void seed_generators(uint64_t seed);  // the default ones

 protected:
  constexpr explicit DeviceRecord(std::string_view name) : name(name) {}
  ~DeviceRecord() = default;

 private:
  std::mutex mutex_;
  std::vector<Ref<Generator>>* generators_ = nullptr;  // by index; made when first asked for, never freed
};

extern DeviceRecord* device_table[kMaxDeviceTypes];
inline DeviceRecord& device_record(int type) {  // of a number that is taken
  return *__atomic_load_n(&device_table[type], __ATOMIC_ACQUIRE);
}
inline bool has_int32_indices(Device d) { return !d.is_cpu() && !d.is_meta() && device_record(d.type).int32_indices; }
inline DeviceRecord& cpu_record() { return device_record(Device::CPU); }
DeviceRecord& device_record(Device device);  // throws if there is no such device
// Takes the next number for a new type. Throws if the name is taken or is none; nothing has changed then.
void add_device_type(DeviceRecord& record);
std::vector<DeviceRecord*> device_records();

// --- the thread's choices
int current_device(int type);
void set_current_device(Device device);
void* current_stream(Device device);
void set_current_stream(Device device, void* stream);  // null: the default one
// All of them, for workers that take over a thread's state.
void* copy_device_choices();  // null: none were made
void enter_device_choices(void* copy);
void leave_device_choices();
void drop_device_choices(void* copy);

void seed_all_devices(uint64_t seed);  // their default generators, also those that come later

}  // namespace fc
