# SPDX-License-Identifier: Apache-2.0
"""What this build lacks answers as PyTorch's CPU build does; the expectations are recorded from it."""
import subprocess
import sys
import warnings

import pytest


def test_cuda(torch):
    cuda = torch.cuda
    assert not cuda.is_available() and cuda.device_count() == 0 and not cuda.is_initialized() and not cuda.is_bf16_supported()
    assert cuda.memory_allocated() == cuda.max_memory_allocated() == cuda.memory_reserved() == 0 and cuda.memory_stats() == {}
    assert cuda.manual_seed(1) is None and cuda.manual_seed_all(1) is None and cuda.empty_cache() is None
    with cuda.device(-1), cuda.device(None), cuda.device_of(torch.ones(1)), cuda.stream(None):
        pass
    for name in ("current_device", "synchronize", "get_device_name", "get_device_properties", "current_stream", "get_rng_state", "mem_get_info", "init"):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            getattr(cuda, name)()
    with pytest.raises(AssertionError):
        cuda.set_device(0)
    with pytest.raises(RuntimeError, match="Tried to instantiate dummy base class Stream"):
        cuda.Stream()
    with pytest.raises(TypeError, match="type torch.cuda.FloatTensor not available"):
        cuda.FloatTensor(2)
    assert cuda.ComplexFloatStorage.dtype is torch.complex64 and not isinstance(torch.ones(1).storage(), cuda.FloatStorage)
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        cuda.FloatStorage(2)
    for call in (lambda: torch.zeros(1, device="cuda"), lambda: torch.ones(1).cuda(), lambda: torch.ones(1).to("cuda:0"), lambda: torch.tensor([1], device="cuda"),
                 lambda: torch.nn.Linear(1, 1).cuda(), lambda: torch.randn(2, device="cuda")):  # fmt: skip
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            call()
    for call in (lambda: torch.ones(1).type("torch.cuda.FloatTensor"), lambda: torch.set_default_tensor_type("torch.cuda.FloatTensor")):
        with pytest.raises(TypeError, match="type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled"):
            call()
    with pytest.raises(RuntimeError, match="no backend for device 'cuda' is loaded"):
        torch.Generator("cuda")
    assert cuda.get_rng_state_all() == [] and cuda.set_rng_state_all([]) is None and cuda.set_stream(None) is None and cuda.host_memory_stats() == {}
    assert cuda.memory.memory_allocated() == 0 and cuda.random.manual_seed is cuda.manual_seed and cuda.streams.Stream is cuda.Stream
    with pytest.raises(RuntimeError, match="dummy base class _graph_pool_handle"):
        cuda.graphs.graph_pool_handle()
    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        cuda.nvtx.range_push("x")
    assert not isinstance(torch.ones(1), cuda.FloatTensor) and issubclass(cuda.OutOfMemoryError, RuntimeError)
    with pytest.raises(AttributeError, match="does not exist here"):
        cuda.no_such_name


def test_other_devices(torch):
    assert not torch.xpu.is_available() and not torch.mtia.is_available() and not torch.mps.is_available() and not torch.backends.mps.is_available()
    with pytest.raises(AssertionError, match="Torch not compiled with XPU enabled"):
        torch.xpu.synchronize()
    with pytest.raises(RuntimeError, match=r"Cannot execute emptyCache\(\) without MPS backend"):
        torch.mps.empty_cache()
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1 and torch.cpu.current_device() == "cpu"
    before, mine = torch.cpu.current_stream(), torch.cpu.Stream()
    with torch.cpu.stream(mine):
        assert torch.cpu.current_stream() is mine
    assert torch.cpu.current_stream() is before
    assert torch.distributed.is_available() and not torch.distributed.is_nccl_available() and not torch.distributed.is_xccl_available()


@pytest.fixture
def no_backend(torch):
    """Other tests load backends, which stay."""
    if torch.backends.backends():
        pytest.skip("this process has an accelerator")


def test_accelerator_without_one(torch, no_backend):
    acc = torch.accelerator
    assert not acc.is_available() and acc.device_count() == 0 and acc.current_accelerator() is None and acc.memory_allocated() == 0
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        acc.current_device_index()
    with acc.device_index(None):
        pass
    assert torch.get_device_module() is torch.cpu and torch.get_device_module("cuda") is torch.cuda
    with pytest.raises(RuntimeError, match="Invalid value of device"):
        torch.get_device_module(3)


def test_switches_keep_what_they_are_set_to(torch):
    cudnn = torch.backends.cudnn
    assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32) == (True, False, False, True)
    with cudnn.flags(enabled=False, deterministic=True):
        assert not cudnn.enabled and cudnn.deterministic
    assert cudnn.enabled and not cudnn.deterministic and cudnn.version() is None and not cudnn.is_available()
    assert torch.backends.cuda.matmul.allow_tf32 is False and torch.backends.cuda.flash_sdp_enabled()
    with torch.backends.cuda.sdp_kernel(enable_flash=False):
        assert not torch.backends.cuda.flash_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()


def once(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr.count("UserWarning")


def test_compile_gives_back_what_it_got():
    assert once("import facula as torch\nf = lambda x: x\nassert torch.compile(f) is f and torch.compile(mode='max-autotune')(f) is f\n") == 1
    import facula as torch

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.compiler.disable(len) is len and torch.compiler.disable()(len) is len and not torch.compiler.is_compiling()
        assert torch.compile(len, disable=True) is len
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(len, mode="x", options={})
    with pytest.raises(RuntimeError, match="stance"):
        torch.compiler.set_stance("no such")


def test_jit_as_under_pytorch_jit_0():
    import facula as torch

    jit = torch.jit
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(mark(once) is once for mark in (jit.ignore, jit.ignore(drop=True), jit.unused, jit.export))
        assert not jit.is_scripting() and not jit.is_tracing() and jit.annotate(int, 3) == 3 and jit.Final[int]
        assert jit.isinstance([1, 2], list[int]) and not jit.isinstance([1, "x"], list[int]) and jit.isinstance((1, "x"), tuple[int, str])
        assert jit.wait(jit.fork(lambda a: a + 1, 2)) == 3 and issubclass(jit.ScriptModule, torch.nn.Module)
        from facula.jit.annotations import BroadcastingList2

        assert BroadcastingList2[int] is None
    with pytest.raises(ValueError, match="does not exist"):
        jit.load("x")
    with pytest.raises(RuntimeError, match="Freezing expects a ScriptModule"):
        jit.freeze(torch.nn.Linear(1, 1))


def test_hub_of_a_folder(torch, tmp_path):
    (tmp_path / "beside.py").write_text("width = 3\n")
    (tmp_path / "hubconf.py").write_text("dependencies = ['json']\nfrom beside import width\n\ndef model(n=1):\n    '''A number.'''\n    return n * width\n")
    hub = torch.hub
    assert hub.load(str(tmp_path), "model", 2, source="local") == 6 and "model" in hub.list(str(tmp_path)) and hub.help(str(tmp_path), "model") == "A number."
    with pytest.raises(NotImplementedError, match="source=\"local\""):
        hub.load("owner/name", "model")
    with pytest.raises(RuntimeError, match="Cannot find callable absent"):
        hub.load(str(tmp_path), "absent", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        hub.load(str(tmp_path), "model", source="web")
    source = tmp_path / "weights-0123.bin"
    source.write_bytes(b"abc")
    hub.download_url_to_file(source.as_uri(), str(tmp_path / "copy"), hash_prefix="ba7816bf")
    assert (tmp_path / "copy").read_bytes() == b"abc"
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.download_url_to_file(source.as_uri(), str(tmp_path / "other"), hash_prefix="00")
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["beside.py", "copy", "hubconf.py", "weights-0123.bin"]


def test_checks_of_programs(torch):
    torch._check(True)
    for check, error in ((torch._check, RuntimeError), (torch._check_index, IndexError), (torch._check_value, ValueError), (torch._check_type, TypeError)):
        with pytest.raises(error, match="three"):
            check(False, lambda: "three")
    with pytest.raises(TypeError, match="cond must be a bool"):
        torch._check(1)
    torch._check_tensor_all(torch.ones(2) > 0)
    with pytest.raises(RuntimeError, match="small"):
        torch._check_tensor_all(torch.ones(2) > 1, lambda: "small")
    with pytest.raises(AssertionError, match="no"):
        torch._assert(False, "no")


def test_gradients_of_results_that_are_no_tensors_are_none(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "note", x * 3, None

        @staticmethod
        def backward(ctx, a, note, b, none):
            assert note is None and none is None
            return 2 * a + 3 * b

    x = torch.ones(2, requires_grad=True)
    y, note, z, none = Two.apply(x)
    (y + 10 * z).sum().backward()
    assert note == "note" and none is None and x.grad.tolist() == [32, 32]


def test_pin_memory_without_an_accelerator(torch, no_backend):
    with pytest.raises(RuntimeError, match="accelerator"):
        torch.ones(2).pin_memory()
