# SPDX-License-Identifier: Apache-2.0
"""Operators that PyTorch has in one place only. Programs look for a name to learn what they run on, so what torch does not
have is not in torch here, and what is no method there is none here. torch.ops.aten has all of them."""

METHODS = frozenset(  # and names of torch.nn.functional: not in torch itself
    """
    absolute_ adaptive_avg_pool2d add_ addbmm_ addcdiv_ addcmul_ addmm_ addr_ arctan2_ atan2_ avg_pool2d avg_pool3d
    baddbmm_ bernoulli_ bitwise_and_ bitwise_left_shift_ bitwise_not_ bitwise_or_ bitwise_right_shift_ bitwise_xor_
    cauchy_ ccol_indices coalesce col2im col_indices contiguous copy_ copysign_ crow_indices cumprod_ cumsum_
    dense_dim digamma_ div_ divide_ elu elu_ eq_ erfinv_ expand expand_as exponential_ fill_diagonal_ float_power_
    floor_divide_ fmod_ ge_ gelu gelu_ geometric_ glu greater_ greater_equal_ gt_ hardsigmoid hardsigmoid_ hardswish
    hardswish_ hardtanh hardtanh_ heaviside_ hypot_ igamma_ igammac_ im2col index_add_ index_copy_ index_fill_
    index_reduce_ indices is_coalesced le_ leaky_relu leaky_relu_ lerp_ less_ less_equal_ lgamma_ linear log_normal_
    log_sigmoid logical_and_ logical_not_ logical_or_ logical_xor_ lt_ mH mT masked_fill_ masked_scatter_ matrix_H
    max_pool2d_with_indices max_pool3d_with_indices mish mish_ mul_ multiply_ mvlgamma_ native_batch_norm_backward
    native_group_norm_backward native_layer_norm_backward ne_ new_empty new_empty_strided new_full new_ones
    new_zeros nextafter_ normal_ not_equal_ numpy_T one_hot pad polygamma_ pow_ put_ random_ reflection_pad1d
    reflection_pad2d reflection_pad3d relu6 relu6_ remainder_ renorm_ repeat replication_pad1d replication_pad2d
    replication_pad3d reshape_as resize_ row_indices scaled_dot_product_attention scatter_ scatter_add_
    scatter_reduce_ set_ sgn_ sign_ silu silu_ softplus softshrink sparse_dim sparse_mask sparse_resize_
    sparse_resize_and_clear_ squeeze_ sub_ subtract_ swapaxes_ swapdims_ t_ to to_dense to_sparse to_sparse_csc
    to_sparse_csr transpose_ tril_ triu_ true_divide_ unfold uniform_ unsqueeze_ upsample_bicubic2d
    upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
    upsample_trilinear3d values view view_as
    """.split()
)
FUNCTIONS = frozenset(  # no methods of Tensor
    """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d affine_grid_generator alias_copy alpha_dropout
    alpha_dropout_ as_strided_copy atleast_1d atleast_2d atleast_3d avg_pool1d avg_pool2d avg_pool3d batch_norm
    bilinear binary_cross_entropy_with_logits binomial bucketize cdist celu celu_ channel_shuffle col2im
    combinations complex constant_pad_nd conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
    conv_transpose3d convolution cosine_embedding_loss cosine_similarity ctc_loss cumulative_trapezoid detach_copy
    diagonal_copy dropout dropout_ elu elu_ embedding embedding_bag embedding_renorm_ empty_like expand_copy
    feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ fill frobenius_norm full_like gelu
    gelu_ glu grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru gru_cell hardsigmoid hardsigmoid_
    hardswish hardswish_ hardtanh hardtanh_ hinge_embedding_loss histogramdd hsmm hspmm im2col instance_norm isin
    kl_div layer_norm leaky_relu leaky_relu_ linear linspace log_sigmoid logspace lstm lstm_cell lu_unpack
    margin_ranking_loss matrix_H max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d
    max_pool3d_with_indices mish mish_ native_batch_norm native_batch_norm_backward native_channel_shuffle
    native_dropout native_group_norm native_group_norm_backward native_layer_norm native_layer_norm_backward
    norm_except_dim normal nuclear_norm numpy_T one_hot ones_like pad pairwise_distance pdist permute_copy
    pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar rand_like randint_like randn_like reflection_pad1d
    reflection_pad2d reflection_pad3d relu6 relu6_ replication_pad1d replication_pad2d replication_pad3d rms_norm
    rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell rrelu rrelu_ rsub scaled_dot_product_attention searchsorted
    select_copy selu selu_ silu silu_ slice_copy softplus softshrink split_copy split_with_sizes_copy squeeze_copy
    std_mean t_copy tensordot threshold threshold_ transpose_copy trapezoid trapz triplet_margin_loss unbind_copy
    unfold_copy unsqueeze_copy upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d
    upsample_nearest2d upsample_nearest3d upsample_trilinear3d vander var_mean view_as_complex view_as_complex_copy
    view_as_real view_as_real_copy view_copy zeros_like
    """.split()
)
