# SPDX-License-Identifier: Apache-2.0
"""Nodes of the backward graph have PyTorch's names."""
import json

import names
import pytest
from table import ROWS

WANT = json.loads(names.FILE.read_text())["names"]

# The results are the same, but another composition made them, so the last node is another.
COMPOSED = {
    "celu": "elu with a scale", "celu.args": "elu with a scale", "glu": "a product", "polar": "complex of a product",
    "binary_cross_entropy_with_logits": "of pointwise operators", "binary_cross_entropy_with_logits.weight": "of pointwise operators",
    "reshape": "a view wherever it is one", "flatten": "a view wherever it is one", "diag": "a copied diagonal",
    "getitem": "x[:] is an alias", "setitem": "one way of writing for all indices", "matmul": "views are plain views",
    "linear": "views are plain views", "einsum": "sums are left to the product", "batch_norm": "one operator in both modes",
    "nll_loss": "no view at the end", "cross_entropy": "no view at the end", "broadcast_tensors": "all are expanded",
    "fill": "a copy, filled", "msort": "a sort like any other", "conj_physical": "kept for real numbers too",
}  # fmt: skip
# Written in operators that have derivatives, where PyTorch has a rule for the whole, or the other way round.
COMPOSED |= dict.fromkeys([
    "affine_grid", "block_diag", "cdist", "cholesky_solve", "combinations", "conv_tbc", "cov", "cumulative_trapezoid", "fft.ifft",
    "fft.ihfft", "gru", "gru.plain", "interpolate.smooth", "linalg.cond", "linalg.eig", "linalg.householder_product", "linalg.lu",
    "linalg.matrix_norm", "linalg.svd.reduced", "linalg.tensorinv", "linalg.vecdot", "linear_cross_entropy", "lstm", "lstm.layers",
    "lstm.project", "lu_unpack", "max_unpool2d", "max_unpool3d", "multi_margin_loss", "multilabel_margin_loss", "mvlgamma",
    "nanquantile", "norm_except_dim", "ormqr", "pack_padded_sequence", "pairwise_distance", "quantile", "renorm", "rms_norm",
    "rnn_relu", "rnn_tanh", "rrelu.evaluation", "scaled_dot_product_attention", "scatter copies", "soft_margin_loss", "special.ndtr",
    "special.zeta", "stft", "trapezoid", "triangular_solve", "view copies",
], "composed otherwise")  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", [op for op in ROWS if op.grad and "f64" in op.dtypes and op.name not in COMPOSED], ids=lambda op: op.name)
def test_node_names(torch, op):
    try:
        got = names.names(torch, op)
    except AttributeError as error:
        pytest.skip(f"not here: {error}")  # test_ops tells what is missing
    wrong = {label: (found, WANT[f"{op.name}/{label}"]) for label, found in got.items()
             if f"{op.name}/{label}" in WANT and found != WANT[f"{op.name}/{label}"]}
    assert not wrong


def test_exceptions_are_rows():
    assert set(COMPOSED) <= {op.name for op in ROWS}
