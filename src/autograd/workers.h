// SPDX-License-Identifier: Apache-2.0
// One thread per accelerator for the backward pass, started when it is first needed.
#pragma once
#include <cstdint>

#include "core/device.h"

namespace fc::autograd {

struct WorkerJob {
  uint64_t priority;  // higher runs first
  void (*run)(void* task, void* node) noexcept;
  void *task, *node;
};
void submit(Device device, const WorkerJob& job);

}  // namespace fc::autograd
