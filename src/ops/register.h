// SPDX-License-Identifier: Apache-2.0
// One function per file of operators, called once by ops/register.cpp. Registration is an ordinary call: nothing runs
// before main.
#pragma once

namespace fc {

void define_unary();
void define_binary();
void define_activation();
void define_unary_parameters();
void define_special();
void define_ternary();
void define_power();
void define_compare();
void define_random();
void define_variates();
void define_aliases();  // after all operators they name
void define_copy();
void define_creation();
void define_view();
void define_part();
void define_reduce();
void define_shape();
void define_index();
void define_advanced_index();
void define_linalg();
void define_scaled_mm();
void define_numeric();
void define_view_copies();  // after the views
void define_fft();
void define_factor();
void define_solve();
void define_matrix();
void define_einsum();
void define_conv();
void define_pool();
void define_statistics();
void define_softmax();
void define_norm();
void define_scan();
void define_sort();
void define_loss();
void define_upsample();
void define_shuffle();
void define_distance();
void define_grid();
void define_foreach();  // after all operators they name
void define_optimizer();
void define_attention();
void define_rnn();
void define_embedding_bag();
void define_segment();
void define_ctc();
void define_port();
// Sparse tensors, after all operators that know them.
void define_sparse_primitives();
void define_sparse();
void define_sparse_math();
void define_sparse_matrix();
void define_sparse_shape();
void define_sparse_softmax();
void define_sparse_port();

void define_all_operators();  // all of them, thread-safe, does its work once

}  // namespace fc
