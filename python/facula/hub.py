# SPDX-License-Identifier: Apache-2.0
"""torch.hub: models from a folder with a hubconf.py, and weights from the network, kept in a cache."""

import hashlib
import importlib.util
import os
import re
import sys
from urllib.parse import urlparse

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # in a file's name: the first digits of its SHA-256
READ_DATA_CHUNK = 128 * 1024
MODULE_HUBCONF = "hubconf.py"
_dir = None


def _get_torch_home():
    """The folder for what is downloaded: $TORCH_HOME, or torch under $XDG_CACHE_HOME or ~/.cache."""
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")))


def get_dir():
    """The folder of the hub, in the cache unless set_dir chose another."""
    return _dir if _dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Choose the folder of the hub."""
    global _dir
    _dir = os.path.expanduser(d)


class _NoBar:
    """What stands for tqdm's bar where the package is not installed: it shows nothing."""

    def __init__(self, iterable=None, total=None, **kwargs):
        self.iterable, self.total = iterable, total

    def __iter__(self):
        return iter(self.iterable)

    def update(self, n=1):
        pass

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


def __getattr__(name):
    if name == "tqdm":
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return _NoBar
        return tqdm
    raise AttributeError(f"module 'facula.hub' has no attribute '{name}': this part of torch does not exist here (yet)")


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Fetch a file. It appears under its name when it is whole, and its SHA-256 begins with hash_prefix."""
    from urllib.request import Request, urlopen

    from facula._command_line import whole_file

    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
        with whole_file(dst, "wb") as f:
            while chunk := source.read(READ_DATA_CHUNK):
                f.write(chunk)
                digest.update(chunk)
            if hash_prefix is not None and digest.hexdigest()[: len(hash_prefix)] != hash_prefix:
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')


_download_url_to_file = download_url_to_file


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False):
    """The object saved at a URL, fetched once. check_hash: the file's name holds the first digits of its SHA-256."""
    import facula

    model_dir = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(model_dir, exist_ok=True)
    name = file_name if file_name is not None else os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir, name)
    if not os.path.exists(path):
        print(f'Downloading: "{url}" to {path}', file=sys.stderr)
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, match[1] if match else None, progress)
    return facula.load(path, map_location=map_location, weights_only=weights_only)


def _hubconf(repo_or_dir, source):
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(f'torch.hub: Facula takes repositories from a folder only; clone {repo_or_dir} and give its path with source="local"')
    folder = os.path.expanduser(repo_or_dir)
    path = os.path.join(folder, MODULE_HUBCONF)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"torch.hub: {path} does not exist")
    sys.path.insert(0, folder)  # hubconf imports what lies beside it
    try:
        spec = importlib.util.spec_from_file_location(MODULE_HUBCONF, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    absent = [p for p in getattr(module, "dependencies", ()) if importlib.util.find_spec(p) is None]
    if absent:
        raise RuntimeError(f"Missing dependencies: {', '.join(absent)}")
    return module


def _entry(module, name):
    entry = getattr(module, name, None)
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return entry


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True, *, source="local"):  # noqa: A001
    """The models of a folder's hubconf.py."""
    module = _hubconf(github, source)
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None, *, source="local"):  # noqa: A001
    """What a model's function says of itself."""
    return _entry(_hubconf(github, source), model).__doc__


def load(repo_or_dir, model, *args, source="github", trust_repo=None, force_reload=False, verbose=True, skip_validation=False, **kwargs):
    """What the function called model in a folder's hubconf.py returns for these arguments."""
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)
