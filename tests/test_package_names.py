# SPDX-License-Identifier: Apache-2.0
"""Names and operators that packages of PyPI import or ask, and that were missing."""

import io
import os
import subprocess
import sys
import warnings

import pytest

import facula as torch

# --- operators


def test_convolution_with_switches():
    x, w, b = torch.randn(1, 2, 5, 5, requires_grad=True), torch.randn(3, 2, 3, 3), torch.randn(3)
    shape = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    want = torch.nn.functional.conv2d(x, w, b, padding=1)
    found = torch._convolution(x, w, b, *shape, False, False, True, True)
    assert found.tolist() == want.tolist() == torch.ops.aten._convolution.deprecated(x, w, b, *shape, False, False, True).tolist()
    found.sum().backward()
    assert x.grad is not None and torch.ops.aten._convolution.default._overloadpacket is torch.ops.aten._convolution


def test_rows_as_numbers_and_as_beginnings():
    rows = torch.tensor([0, 0, 2])
    assert torch._convert_indices_from_coo_to_csr(rows, 4).tolist() == [0, 2, 2, 3, 3]
    small = torch._convert_indices_from_coo_to_csr(rows.int(), 4, out_int32=True)
    assert small.dtype is torch.int32 and small.tolist() == [0, 2, 2, 3, 3]
    columns = torch.tensor([1, 3, 0])
    assert torch._convert_indices_from_csr_to_coo(small, columns).tolist() == [[0, 0, 2], [1, 3, 0]]
    assert torch._convert_indices_from_csr_to_coo(small, columns, out_int32=True, transpose=True).tolist() == [[1, 3, 0], [0, 0, 2]]
    for wrong in (
        lambda: torch._convert_indices_from_coo_to_csr(torch.tensor([5]), 2),
        lambda: torch._convert_indices_from_coo_to_csr(torch.tensor([0.5]), 2),
        lambda: torch._convert_indices_from_csr_to_coo(torch.tensor([0, 5]), columns),
        lambda: torch._convert_indices_from_csr_to_coo(small[None], columns),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            wrong()


# --- names that are asked


def test_names_of_torch_c():
    C = torch._C
    assert isinstance(torch.Tensor, C._TensorMeta) and isinstance(torch.nn.Parameter, C._TensorMeta) and not isinstance(int, C._TensorMeta)
    meta = type("Meta", (C._TensorMeta,), {})
    kind = meta("Kind", (torch.Tensor,), {})
    assert isinstance(kind, meta) and isinstance(kind, C._TensorMeta) and not isinstance(torch.Tensor, meta)
    assert C._nn._parse_to("cpu", torch.float64)[:2] == (torch.device("cpu"), torch.float64) and C._nn.gelu(torch.zeros(1)).item() == 0
    assert not C._are_functorch_transforms_active() and C._get_default_device() == "cpu"
    active = []
    torch.vmap(lambda x: active.append(C._are_functorch_transforms_active()) or x)(torch.ones(2))
    assert active == [True]
    with pytest.raises(AttributeError):
        C._nn.no_such_operator
    x = torch.ones(1)
    assert x._cdata == x.view_as(x)._base._cdata != torch.ones(1)._cdata


def test_what_cannot_be_made_is_no_instance():
    from facula._dynamo import OptimizedModule
    from facula._subclasses.fake_tensor import FakeTensor, is_fake
    from facula.distributed.device_mesh import DeviceMesh
    from facula.distributed.tensor import DTensor
    from facula.fx.experimental.proxy_tensor import get_proxy_mode

    x = torch.ones(1)
    assert not is_fake(x) and not isinstance(x, (FakeTensor, DTensor)) and get_proxy_mode() is None and not torch.distributed.rpc.is_available()
    assert torch._dynamo.eval_frame.OptimizedModule is OptimizedModule and torch.distributed.DeviceMesh is DeviceMesh
    for make in (OptimizedModule, FakeTensor):
        with pytest.raises((RuntimeError, NotImplementedError), match="Facula"):
            make(x)
    assert torch.autograd.forward_ad.unpack_dual(x) == (x, None) and torch.autograd.forward_ad.unpack_dual(x).primal is x


def test_bases_of_quantisation():
    from facula.ao.quantization import FakeQuantizeBase, ObserverBase

    for base in (FakeQuantizeBase, ObserverBase):
        with pytest.raises(TypeError, match="abstract"):
            base()
    full = {"forward": lambda self, x: x, "calculate_qparams": lambda self: None}
    rounding = type("Rounding", (FakeQuantizeBase,), full)()
    rounding.disable_observer()
    assert [int(b) for b in rounding.state_dict().values()] == [1, 0]
    observer = type("Observer", (ObserverBase,), full)
    made = observer.with_args(dtype=torch.float32).with_callable_args(is_dynamic=lambda: True)()
    assert made.dtype is torch.float32 and made.is_dynamic


def test_small_functions():
    assert torch._utils._element_size(torch.float64) == 8 and torch._utils._get_device_index("cpu", allow_cpu=True) == -1
    assert torch._utils._get_device_index(torch.device("cuda", 1)) == torch._utils._get_device_index(1) == 1
    for wrong in ("cpu", None, 1.5, "cuda"):
        with pytest.raises(ValueError, match="Expected a"):
            torch._utils._get_device_index(wrong)
    p = torch.nn.Parameter(torch.ones(2))
    assert torch.nn.init._no_grad_fill_(p, 3.0) is p and torch.nn.init._no_grad_zero_(p).tolist() == [0, 0]
    assert torch.nn.init._no_grad_uniform_(p, 1, 2).min() >= 1 and torch.nn.init._no_grad_normal_(p, 0, 1, generator=torch.Generator()) is p
    storage = torch.ones(2).untyped_storage()
    assert sys.getsizeof(torch.ones(1000).untyped_storage()) >= 4000 and sys.getsizeof(torch.ones(1000).storage()) >= 4000
    assert storage.untyped() is storage and torch.random.default_generator is torch.default_generator
    before = torch._tensor_str.PRINT_OPTS.linewidth
    with torch.printoptions(linewidth=20):
        assert torch._tensor_str.PRINT_OPTS.linewidth == 20
        assert torch._tensor_str._add_suffixes("tensor([1", ["a=1", "b=22222222"], 3, force_newline=False) == "tensor([1, a=1,\n   b=22222222)"
    assert torch._tensor_str.PRINT_OPTS.linewidth == before and torch._tensor_str._tensor_str(torch.ones(2), 0) == "[1., 1.]"
    assert torch.serialization.MAP_LOCATION is not None and torch.ScriptModule is torch.jit.ScriptModule


def test_contexts_of_packages_decorate():
    from facula.utils._contextlib import _DecoratorContextManager

    events = []

    class Marked(_DecoratorContextManager):
        def __enter__(self):
            events.append("in")

        def __exit__(self, *_):
            events.append("out")

    assert Marked()(lambda: len(events))() == 1 and events == ["in", "out"] and issubclass(torch.no_grad, _DecoratorContextManager)


def test_records_of_a_file(tmp_path):
    path = tmp_path / "file"
    torch.save({"x": torch.tensor([1.0, 2.0])}, path)
    for source in (path, io.BytesIO(path.read_bytes())):
        reader = torch.PyTorchFileReader(source)
        assert reader.has_record("data.pkl") and not reader.has_record("data/7") and reader.get_record("data/0") == reader.get_storage_from_record("data/0", 8, torch.UntypedStorage).numpy().tobytes()
        assert reader.get_storage_from_record("data/0", 2, torch.float32).tolist() == [1, 2]
        begin = reader.get_record_offset("data/0")
        assert path.read_bytes()[begin : begin + 8] == reader.get_record("data/0")
        with pytest.raises(RuntimeError, match="has 8 bytes"):
            reader.get_storage_from_record("data/0", 3, torch.float32)


def test_devices_without_a_backend_have_names():
    program = "import facula as t\nfor n in ('mps', 'xpu', 'mtia'):\n d = t.device(n, 1)\n assert d == t.device(n + ':1') != t.device('cpu') and d.type == n\n try: t.ones(1, device=n)\n except RuntimeError as e: print(e)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found.count("no backend for device") == 3


def test_the_package_under_its_other_name(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import torch\nassert torch.torch is torch and torch.torch.Tensor is torch.Tensor and __import__('torch').__name__ == 'torch'\nprint(torch.accelerator.is_available)")
    subprocess.run([sys.executable, "-m", "facula", "run", str(program)], check=True, capture_output=True, env={**os.environ, "PYTHONWARNINGS": "error"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.__name__ in ("facula", "torch")


def test_expanding_subclasses_of_distributions():
    from facula.distributions import Normal

    class Own(Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    plain, own = Normal(0.0, 1.0), Own(0.0)
    assert type(plain._get_checked_instance(Normal)) is Normal and own._get_checked_instance(Normal, plain) is plain
    assert type(own._get_checked_instance(Own)) is Own
    with pytest.raises(NotImplementedError, match="custom .expand"):
        own._get_checked_instance(Normal)


def test_batches_of_subclasses_keep_their_class_in_a_worker(monkeypatch):
    from facula.utils.data import default_collate
    from facula.utils.data._utils import worker

    monkeypatch.setattr(worker, "_worker_info", worker.WorkerInfo(0, 1, 0, None))

    class Own(torch.Tensor):
        pass

    batch = default_collate([torch.ones(2).as_subclass(Own), torch.zeros(2).as_subclass(Own)])
    assert type(batch) is Own and batch.tolist() == [[1, 1], [0, 0]] and type(default_collate([torch.ones(2)])) is torch.Tensor
