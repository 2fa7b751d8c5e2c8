# SPDX-License-Identifier: Apache-2.0
"""torch.utils.model_zoo: the older place of torch.hub's functions."""

from facula import _missing, hub
from facula.hub import _download_url_to_file, load_state_dict_from_url  # noqa: F401

load_url = load_state_dict_from_url


def __getattr__(name):
    return getattr(hub, name) if name == "tqdm" else _missing.missing(__name__)(name)
