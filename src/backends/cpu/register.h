// SPDX-License-Identifier: Apache-2.0
// What backends/cpu registers; called once by cpu::register_cpu.
#pragma once
#include "dispatch/operator.h"
#include "facula/families.h"

namespace fc::cpu {

void register_cpu();  // everything below
void register_families();
void register_rearrange();
void register_edges();
void register_advanced_indexing();
void register_conv();
void register_pool();
void register_softmax();
void register_norm();
void register_sort();
void register_variates();
void register_loss();
void register_distance();
void register_resample();
void register_grid();
void register_linalg();
void register_optimizer();
void register_fft();
void register_attention();
void register_embedding_bag();
void register_ctc();
void register_rnn();
void register_sparse();
inline void set_cpu_kernel(const char* op, Kernel k) { find_operator(op)->set_kernel(Device::CPU, k); }

// The families, one file each.
void reduce(void*, Device, const fc_reduce& call);
void gather(void*, Device, const fc_gather& call);
void scatter(void*, Device, const fc_scatter& call);
void scan(void*, Device, const fc_scan& call);
void sort(void*, Device, const fc_sort& call);

}  // namespace fc::cpu
