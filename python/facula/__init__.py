# SPDX-License-Identifier: Apache-2.0
"""Facula: a deep-learning framework with PyTorch's shape. `import facula as torch` is the usual way to use it."""

from facula._waiting import short_spins

with short_spins():
    from facula import _C
del short_spins
from facula._C import *  # noqa: F403 -- dtype, device, Size, Generator and the element types
del Function, Method, Operator, TensorBase  # noqa: F821 -- what operators are made of
from facula import _only, version
from facula.version import __version__

for _name, _function in _C._functions.items():
    if not _name.startswith(("__", "linalg_", "fft_", "special_")) and _name not in _only.METHODS:
        globals()[_name] = _function
del _name, _function

from facula import _device_module, _missing  # noqa: E402
from facula._tensor import Tensor  # noqa: E402
from facula._tensor_str import get_printoptions, printoptions, set_printoptions  # noqa: E402
from facula.functional import *  # noqa: E402, F403
from facula._symbolic import *  # noqa: E402, F403
from facula import __config__, autograd, backends, cuda, dispatch, fft, library, linalg, nn, overrides, return_types, sparse, special, storage, utils  # noqa: E402
from facula._legacy import types as _legacy_types  # noqa: E402
from facula.backends import Event, Stream, load_backend  # noqa: E402
from facula._lowrank import pca_lowrank, svd_lowrank  # noqa: E402
from facula._ops import ops  # noqa: E402
from facula.compiler import compile  # noqa: E402
from facula.accelerator import get_device_module  # noqa: E402
from facula._checks import _assert, _check, _check_index, _check_is_size, _check_not_implemented, _check_tensor_all, _check_tensor_all_with, _check_type, _check_value, _check_with  # noqa: E402
from facula.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402
from facula.sparse import sparse_compressed_tensor, sparse_coo_tensor, sparse_csc_tensor, sparse_csr_tensor  # noqa: E402
from facula.storage import TypedStorage, UntypedStorage, from_file  # noqa: E402
from facula.storage import legacy as _legacy_storages  # noqa: E402
from facula import serialization  # noqa: E402
from facula.serialization import load, save  # noqa: E402
from facula import amp  # noqa: E402
from facula import _c_names  # noqa: E402
from facula.amp import autocast  # noqa: E402
from facula.amp.autocast_mode import clear_autocast_cache, get_autocast_cpu_dtype, get_autocast_dtype, get_autocast_gpu_dtype, is_autocast_cache_enabled, is_autocast_cpu_enabled, is_autocast_enabled, set_autocast_cache_enabled, set_autocast_cpu_dtype, set_autocast_cpu_enabled, set_autocast_dtype, set_autocast_enabled, set_autocast_gpu_dtype  # noqa: E402
from facula.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state  # noqa: E402

globals().update(_legacy_types)
globals().update(_legacy_storages)
from facula import _guests  # noqa: E402

_guests.install(__import__("sys").modules[__name__])

float = _C.float32
double = _C.float64
half = _C.float16
short = _C.int16
int = _C.int32
long = _C.int64
chalf = _C.complex32
cfloat = _C.complex64
cdouble = _C.complex128
_segment_reduce = _C._functions["segment_reduce"]
bool = _C.bool
is_grad_enabled = _C.is_grad_enabled
is_inference_mode_enabled = _C.is_inference_mode_enabled
result_type = _C.result_type
promote_types = _C.promote_types
can_cast = _C.can_cast
get_default_dtype = _C.get_default_dtype
get_num_threads = _C.get_num_threads
set_num_threads = _C.set_num_threads
are_deterministic_algorithms_enabled = _C.are_deterministic_algorithms_enabled
default_generator = _C.default_generator
inf = __import__("math").inf
nan = __import__("math").nan
pi = __import__("math").pi
e = __import__("math").e
newaxis = None

# Imported when they are first asked for.
_LATER = (
    "_custom_ops",
    "_dynamo",
    "_subclasses",
    "_utils",
    "accelerator",
    "ao",
    "compiler",
    "conformance",
    "cpu",
    "distributed",
    "distributions",
    "func",
    "futures",
    "fx",
    "hub",
    "jit",
    "library_profile",
    "machine",
    "masked",
    "mps",
    "mtia",
    "multiprocessing",
    "onnx",
    "optim",
    "profiler",
    "quasirandom",
    "safetensors",
    "signal",
    "testing",
    "torch_version",
    "types",
    "xpu",
)
def _find(name):
    return _guests.computed[name]() if name in _guests.computed else _device_module.find(name)


__getattr__ = _missing.missing("facula", (*_LATER, *_guests.modules), {"Future": "facula.futures", "GradScaler": "facula.amp.grad_scaler", "PyTorchFileReader": "facula._file_reader", "ScriptModule": "facula.jit"}, _find)


def __dir__():
    return sorted({*(name for name in _LATER if name[0] != "_"), *_guests.modules, *_guests.computed, *(name for name in globals() if not name.startswith("_") or name.endswith("__"))})


backends._introduce_all()
