# SPDX-License-Identifier: Apache-2.0
"""Archives of TorchScript: those of PyTorch compute here what they compute there, those written here what PyTorch computed with
them (record_archives.py), and damaged or forged ones are refused by a sentence."""

import copy
import io
import json
import os
import pathlib
import pickle
import subprocess
import sys
import zipfile

import pytest

import facula as torch

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "golden/jit/archives"
RESULTS = json.loads((GOLDEN / "results.json").read_text())

sys.path.insert(0, str(HERE))
with pytest.MonkeyPatch.context() as patch:
    patch.setitem(sys.modules, "torch", torch)
    patch.setitem(sys.modules, "torch.nn", torch.nn)
    import archive_cases as cases
    from record_archives import plain


def assert_equal(found, wanted):
    if isinstance(wanted, dict) and "tensor" in wanted:
        assert found["dtype"] == wanted["dtype"]
        torch.testing.assert_close(torch.tensor(found["tensor"]), torch.tensor(wanted["tensor"]), rtol=1e-5, atol=1e-6)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted):
            assert_equal(a, b)
    else:
        assert found == wanted


@pytest.mark.parametrize("name", [n for n in RESULTS if n.endswith(".pt")])
def test_an_archive_computes_what_it_does_in_pytorch(name):
    module = torch.jit.load(GOLDEN / name)
    assert_equal(plain(module(*cases.inputs(name[:-3].rsplit("_", 1)[1]))), RESULTS[name]["value"])
    assert module.code == RESULTS[name]["code"]
    again = torch.jit.load(io.BytesIO(module.save_to_buffer()))
    assert_equal(plain(again(*cases.inputs(name[:-3].rsplit("_", 1)[1]))), RESULTS[name]["value"] if "Stateful" not in name else plain(again(*cases.inputs("Stateful"))))
    assert again.code == module.code


@pytest.mark.parametrize("name", cases.OLD)
def test_operators_of_older_versions_mean_what_they_meant(name):
    version, code, args = cases.OLD[name]
    module = torch.jit.load(io.BytesIO(cases.forged(code, version)))
    assert_equal(plain(module(*copy.deepcopy(args))), RESULTS[f"old {name}"]["value"])


def records(path):
    with zipfile.ZipFile(path) as z:
        return {i.filename: z.read(i) for i in z.infolist() if not i.filename.endswith((".debug_pkl", "serialization_id"))}


def test_what_is_written_is_what_pytorch_has_read(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])}
    subprocess.run([sys.executable, "-m", "facula", "run", str(HERE / "record_archives.py"), "ours", str(tmp_path)], check=True, env=environment, timeout=300)
    names = sorted(p.name for p in GOLDEN.glob("ours_*.pt"))
    assert names == sorted(p.name for p in tmp_path.iterdir())
    for name in names:
        assert records(tmp_path / name) == records(GOLDEN / name), name


def test_files_buffers_and_extra_files(tmp_path):
    traced = torch.jit.trace(torch.nn.Linear(2, 3), torch.ones(2))
    torch.jit.save(traced, tmp_path / "a.pt", _extra_files={"note": "hello", "raw": b"\x00\xff"})
    extra = {"note": "", "raw": "", "absent": "kept"}
    loaded = torch.jit.load(tmp_path / "a.pt", map_location="cpu", _extra_files=extra)
    assert extra == {"note": b"hello", "raw": b"\x00\xff", "absent": "kept"}
    assert torch.equal(loaded(torch.ones(2)), traced(torch.ones(2)))
    assert loaded.original_name == "Linear"
    assert list(loaded.state_dict()) == ["weight", "bias"]
    assert all(isinstance(p, torch.Tensor) and p.requires_grad for p in loaded.parameters())
    loaded(torch.ones(2)).sum().backward()
    buffer = io.BytesIO()
    torch.jit.save(traced, buffer)
    buffer.seek(0)
    assert torch.equal(torch.jit.load(buffer)(torch.ones(2)), traced(torch.ones(2)))
    with pytest.raises(ValueError, match="does not exist"):
        torch.jit.load(tmp_path / "none.pt")
    with pytest.raises(ValueError, match="is a directory"):
        torch.jit.load(tmp_path)
    with pytest.raises(TypeError, match="torch.jit.script or torch.jit.trace makes one"):
        torch.jit.save(torch.nn.Linear(1, 1), tmp_path / "b.pt")
    assert not (tmp_path / "b.pt").exists()


def load(code=None, **how):
    return torch.jit.load(io.BytesIO(cases.forged(code or cases.forward("return torch.ones([1])"), **how)))


STATE = cases.CLASS + "  def __setstate__(self: __torch__.M, state: bool) -> NoneType:\n{}    return None\n"
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK%cttQK%c(K%ct(K%ct\x89ccollections\nOrderedDict\n)RtR"


def with_tensor(numel=4, offset=0, size=4, stride=1):
    return b"\x80\x02" + (TENSOR % (numel, offset, size, stride)).replace(b"ttQ", b"tQ") + b"\x85."


REFUSED = {
    "newer": ({"version": "11"}, "newer PyTorch"),
    "older": ({"version": "0"}, "oldest"),
    "no number": ({"version": "x"}, "no number"),
    "no version": ({"without": ["version"]}, "no record 'version'"),
    "no data": ({"without": ["data.pkl"]}, "no record 'data.pkl'"),
    "no constants": ({"without": ["constants.pkl"]}, "no record 'constants.pkl'"),
    "no code": ({"without": ["code/__torch__.py"]}, "class '__torch__.M', and its code has none"),
    "torchbind": ({"data": cases.DATA.replace(b"__torch__\nM", b"__torch__.torch.classes.a\nM")}, "TorchBind"),
    "quantized": ({"data": b"\x80\x02ctorch._utils\n_rebuild_qtensor\n."}, "quantized"),
    "rpc": ({"data": b"\x80\x02ctorch.distributed.rpc\nRRef\n."}, "RPC"),
    "sparse": ({"data": b"\x80\x02ctorch._utils\n_rebuild_sparse_tensor\n."}, "sparse"),
    "global": ({"data": b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R."}, "names 'os.system'"),
    "mobile": ({"without": ["code/__torch__.py"], "extra": [("bytecode.pkl", b"\x80\x02).")]}, "mobile"),
    "no module": ({"data": b"\x80\x02K\x01."}, "no module"),
    "unknown attribute": ({"data": cases.DATA.replace(b"training", b"trainin_")}, "which the class has not"),
    "wrong type": ({"data": cases.DATA.replace(b"\x88ub", b"K\x01ub")}, "a value of type bool is a int"),
    "climbing": ({"extra": [("../../etc/passwd", "x")]}, "leads out of the archive"),
    "loop": ({"code": STATE.format("    for i in range(9223372036854775807):\n      self.training = True\n"), "data": cases.DATA.replace(b"}(X\x08\x00\x00\x00trainingq\x01\x88u", b"\x88")}, "too many turns"),
    "unknown operator": ({"code": cases.forward("return torch.format_disk(1)")}, "Unknown builtin op"),
    "unknown name": ({"code": cases.forward("return __torch__.os.system(1)")}, "namespace|call|value"),
    "import": ({"code": "import os\n"}, "import|expected|Expected"),
    "no text": ({"code": b"\x00\xff\xfe" * 9}, "."),
    "twice": ({"code": cases.CLASS + cases.CLASS}, "defined twice"),
    "no base": ({"code": cases.CLASS.replace("Module", "Exception")}, "inheritance"),
    "recursion": ({"code": cases.forward("return (self).forward()")}, "recursive"),
    "constant": ({"code": cases.forward("return CONSTANTS.c7")}, "no constant 'c7'"),
    "parentheses": ({"code": cases.forward("return " + "(" * 50000 + "1" + ")" * 50000)}, "deep|nest"),
    "chain": ({"code": cases.CLASS + "  a : __torch__.C0\n" + "".join(f"class C{i}:\n  a : __torch__.C{i + 1}\n" for i in range(5000))}, "deep"),
    "types": ({"code": cases.CLASS + "  a : " + "List[" * 5000 + "int" + "]" * 5000 + "\n"}, "deep|nest"),
    "storage": ({"constants": with_tensor(numel=5), "extra": [("constants/0", bytes(16))]}, "has 16 bytes"),
    "outside": ({"constants": with_tensor(offset=1), "extra": [("constants/0", bytes(16))]}, "outside of its storage"),
    "stride": ({"constants": with_tensor(stride=200), "extra": [("constants/0", bytes(16))]}, "outside of its storage"),
    "missing storage": ({"constants": with_tensor()}, "constants/0"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_by_name(name):
    how, words = REFUSED[name]
    with pytest.raises(RuntimeError, match=words):
        load(**how)


def test_a_good_forgery_loads():
    assert torch.equal(load()(), torch.ones(1))
    assert load(constants=with_tensor(), extra=[("constants/0", bytes(16))], code=cases.forward("return CONSTANTS.c0"))().shape == (4,)
    state = load(code=STATE.format("    for i in range(1000):\n      self.training = True\n"), data=cases.DATA.replace(b"}(X\x08\x00\x00\x00trainingq\x01\x88u", b"\x88"))
    assert state.training is True


def test_other_files():
    for data in (b"", b"x", bytes(4) + b"PTMF" + bytes(50), b"PK\x05\x06" + bytes(18)):
        with pytest.raises(RuntimeError):
            torch.jit.load(io.BytesIO(data))
    checkpoint = io.BytesIO()
    torch.save({"a": torch.ones(2)}, checkpoint)
    checkpoint.seek(0)
    with pytest.raises(RuntimeError, match="torch.load reads"):
        torch.jit.load(checkpoint)


def test_damage_anywhere_is_an_error_or_harmless():
    whole = (GOLDEN / "theirs_script_Objects.pt").read_bytes()
    good = 0
    for at in range(0, len(whole), 61):
        damaged = bytearray(whole)
        damaged[at] ^= 0x21
        try:
            torch.jit.load(io.BytesIO(bytes(damaged)))
            good += 1  # a byte that nothing reads
        except (RuntimeError, ValueError, TypeError, UnicodeDecodeError, pickle.UnpicklingError):
            continue
    assert good < len(whole) / 61
    for end in range(0, len(whole), 997):
        with pytest.raises(RuntimeError):
            torch.jit.load(io.BytesIO(whole[:end]))


def test_what_cannot_be_saved_is_refused_by_name(tmp_path):
    class Doubles(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    traced = torch.jit.trace(lambda x: Doubles.apply(x), torch.ones(2), check_trace=False)
    if "^" in traced.code:
        with pytest.raises(RuntimeError, match="Could not export Python function call"):
            torch.jit.save(traced, tmp_path / "p.pt")
        assert not (tmp_path / "p.pt").exists()


def test_archives_run_from_the_shell_and_from_cpp(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])}
    torch.save(cases.inputs("Small"), tmp_path / "x.pt")
    command = [sys.executable, "-m", "facula", "run-archive", str(GOLDEN / "theirs_script_Small.pt"), "--input", str(tmp_path / "x.pt"), "--output", str(tmp_path / "y.pt")]
    subprocess.run(command, check=True, env=environment, timeout=120)
    assert_equal(plain(torch.load(tmp_path / "y.pt")), RESULTS["theirs_script_Small.pt"]["value"])
    program = pathlib.Path(torch.__file__).parents[2] / "examples/run_archive"
    if not program.exists():
        pytest.skip("this build has no C++ examples")
    done = subprocess.run([program, str(GOLDEN / "theirs_script_Small.pt"), "2", "3", "5", "5"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "CPUFloatType{2,5}" in done.stdout
    done = subprocess.run([program, str(tmp_path / "x.pt")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "torch.load reads" in done.stderr
