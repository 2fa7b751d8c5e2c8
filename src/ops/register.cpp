// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "ops/register.h"

namespace fc {

void define_all_operators() {
  static std::once_flag once;
  std::call_once(once, [] {
    define_unary();
    define_binary();
    define_special();
    define_ternary();
    define_power();
    define_activation();
    define_unary_parameters();
    define_compare();
    define_random();
    define_variates();
    define_aliases();
    define_copy();
    define_creation();
    define_view();
    define_part();
    define_reduce();
    define_shape();
    define_index();
    define_advanced_index();
    define_linalg();
    define_scaled_mm();
    define_numeric();
    define_view_copies();
    define_fft();
    define_factor();
    define_solve();
    define_matrix();
    define_einsum();
    define_conv();
    define_pool();
    define_statistics();
    define_softmax();
    define_norm();
    define_scan();
    define_sort();
    define_loss();
    define_upsample();
    define_shuffle();
    define_distance();
    define_grid();
    define_foreach();
    define_optimizer();
    define_attention();
    define_rnn();
    define_embedding_bag();
    define_segment();
    define_port();
    define_ctc();
    define_sparse_primitives();
    define_sparse();
    define_sparse_math();
    define_sparse_matrix();
    define_sparse_shape();
    define_sparse_softmax();
    define_sparse_port();
  });
}

}  // namespace fc
