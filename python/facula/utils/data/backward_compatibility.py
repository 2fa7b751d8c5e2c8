# SPDX-License-Identifier: Apache-2.0
"""What older programs give to a DataLoader."""

import warnings


def worker_init_fn(worker_id):
    """Does nothing: a DataLoader shares the work of pipes among its workers by itself."""
    warnings.warn(
        "Usage of backward_compatibility.worker_init_fn is deprecated as DataLoader automatically applies sharding in every worker",
        stacklevel=2,
    )
