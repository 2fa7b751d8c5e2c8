// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/random.h"
#include "backends/cpu/register.h"

namespace fc::cpu {

void register_cpu() {
  register_families();
  register_rearrange();
  register_edges();
  register_advanced_indexing();
  register_conv();
  register_pool();
  set_random_fill(random_fill);
  register_softmax();
  register_norm();
  register_sort();
  register_variates();
  register_loss();
  register_distance();
  register_resample();
  register_grid();
  register_linalg();
  register_optimizer();
  register_fft();
  register_attention();
  register_embedding_bag();
  register_ctc();
  register_rnn();
  register_sparse();
}

}  // namespace fc::cpu
