# SPDX-License-Identifier: Apache-2.0
"""torch.save and torch.load: where things go, what is allowed, what stays shared, and that a crash loses nothing."""
import collections
import copy
import dataclasses
import io
import mmap
import os
import pathlib
import pickle
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time

import pytest


def round_trip(torch, obj, **how):
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    buffer.seek(0)
    return torch.load(buffer, **how)


@dataclasses.dataclass
class Config:
    width: int
    names: list


class Slots:
    __slots__ = ("a", "b")


class Stateful:
    def __init__(self, x):
        self.x = x

    def __getstate__(self):
        return {"y": self.x + 1}

    def __setstate__(self, state):
        self.x = state["y"] - 1


class Listed(list):
    pass


class Named(dict):
    pass


class Holder:
    class Inner:
        pass


def doubled(x):
    return x * 2


# ---- where storages go


def test_map_location(torch, tmp_path):
    path = tmp_path / "x.pt"
    x = torch.arange(3.0)
    torch.save([x, x], path)
    asked = []

    def keep(storage, location):
        asked.append((location, storage.nbytes()))
        return storage

    for where in (None, "cpu", torch.device("cpu"), {"cuda:0": "cpu"}, {"cpu": "cpu"}, keep, lambda storage, location: None):
        a, b = torch.load(path, map_location=where)
        assert a.tolist() == [0, 1, 2] and a is b
    assert asked == [("cpu", 12)]
    for where in ("meta", torch.device("meta"), {"cpu": "meta"}):
        a, _ = torch.load(path, map_location=where)
        assert a.is_meta and a.shape == (3,) and a.dtype is torch.float32
    a, _ = torch.load(path, map_location="meta")
    offset = a.untyped_storage()._checkpoint_offset if torch.__name__ == "torch" else None
    if offset is not None:
        assert path.read_bytes()[offset : offset + 12] == x.numpy().tobytes()


def test_files_of_other_devices_name_them(torch, tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.ones(2), path)
    data = path.read_bytes().replace(b"X\x03\x00\x00\x00cpu", b"X\x03\x00\x00\x00abc")
    import zlib

    with pytest.raises(RuntimeError, match="checksum|don't know how to restore"):
        torch.load(io.BytesIO(data))
    start = data.index(b"\x80\x02c")
    end = data.index(b"PK\x07\x08", start)
    crc = zlib.crc32(data[start:end]).to_bytes(4, "little")
    old = zlib.crc32(path.read_bytes()[start:end]).to_bytes(4, "little")
    data = data.replace(old, crc)
    with pytest.raises(RuntimeError, match="don't know how to restore data location of .*tagged with abc"):
        torch.load(io.BytesIO(data))
    assert torch.load(io.BytesIO(data), map_location="cpu").tolist() == [1, 1]
    assert torch.load(io.BytesIO(data), map_location={"abc": "cpu"}).tolist() == [1, 1]


def test_memory_of_a_device(torch, tmp_path):
    if torch.__name__ == "torch":
        pytest.skip("has no backend of ours")
    example = pathlib.Path(os.path.abspath(torch.__file__)).parents[2] / "tests" / "backends" / "example.so"
    if not example.exists():
        pytest.skip("the example backend is not built")
    code = (
        "import sys, facula as torch\n"
        "x = torch.arange(3.0).to(torch.load_backend(sys.argv[1]))\n"
        "torch.save([x, x[1:]], sys.argv[2])\n"
        "torch.save([x, x[1:]], sys.argv[2] + '_legacy', _use_new_zipfile_serialization=False)\n"
        "for path in (sys.argv[2], sys.argv[2] + '_legacy'):\n"
        "    a, b = torch.load(path)\n"
        "    assert a.device == b.device == x.device, a.device\n"
        "    a.add_(1)\n"
        "    assert b.cpu().tolist() == [2, 3], b.cpu().tolist()\n"
        "    assert torch.load(path, map_location='cpu')[1].tolist() == [1, 2]\n"
    )
    subprocess.run([sys.executable, "-c", code, example, tmp_path / "x.pt"], check=True, timeout=60)
    for path in ("x.pt", "x.pt_legacy"):
        assert torch.load(tmp_path / path, map_location="cpu")[0].tolist() == [0, 1, 2]


def test_cuda_is_told_apart(torch):
    buffer = io.BytesIO()
    torch.save(torch.ones(2), buffer)
    buffer.seek(0)
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        torch.load(buffer, map_location="cuda:0")


def test_packages_add_locations(torch, tmp_path, monkeypatch):
    if torch.__name__ == "torch":
        pytest.skip("changes the registry of Facula")
    import facula.serialization

    monkeypatch.setattr(facula.serialization, "_packages", [])
    torch.serialization.register_package(5, lambda s: "shelf" if s.nbytes() == 8 else None, lambda s, where: s if where == "shelf" else None)
    torch.save([torch.ones(2), torch.ones(3)], tmp_path / "x.pt")
    assert b"shelf" in (tmp_path / "x.pt").read_bytes()
    assert [t.tolist() for t in torch.load(tmp_path / "x.pt")] == [[1, 1], [1, 1, 1]]
    monkeypatch.setattr(facula.serialization, "_packages", [])
    with pytest.raises(RuntimeError, match="tagged with shelf"):
        torch.load(tmp_path / "x.pt")


def test_storages_move_in_functions(torch, tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.ones(2), path)
    assert torch.load(path, map_location=lambda storage, location: storage.cpu()).tolist() == [1, 1]
    assert torch.load(path, map_location=lambda storage, location: storage.to(device="meta")).is_meta
    assert torch.serialization.normalize_storage_type(torch.UntypedStorage) is torch.UntypedStorage
    with pytest.raises(TypeError):
        torch.load(path, map_location=3.5)


# ---- mapped files


def test_mmap_is_private_and_lives_on(torch, tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(1000.0), "b": torch.arange(4)}, path)
    before = path.read_bytes()
    x = torch.load(path, mmap=True)
    path.rename(tmp_path / "y.pt")
    x["a"].add_(1)
    assert x["a"][:3].tolist() == [1, 2, 3] and x["b"].tolist() == [0, 1, 2, 3]
    b = x.pop("b")
    del x
    assert b.sum() == 6 and (tmp_path / "y.pt").read_bytes() == before


def test_mmap_can_be_shared(torch, tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.arange(3.0), path)
    with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
        torch.load(path, mmap=True).add_(5)
    assert torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert torch.load(path, mmap=True).tolist() == [5, 6, 7]
    with pytest.raises(ValueError, match="set_default_mmap_options"):
        torch.serialization.set_default_mmap_options(77)


def test_mmap_wants_a_path_and_an_archive(torch, tmp_path):
    torch.save(1, tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(tmp_path / "x.pt", mmap=True)
    torch.save(1, tmp_path / "x.pt")
    with pytest.raises(ValueError, match="f must be a file path"), open(tmp_path / "x.pt", "rb") as f:
        torch.load(f, mmap=True)


def test_skip_data(torch, tmp_path):
    with torch.serialization.skip_data():
        torch.save(torch.ones(1 << 20), tmp_path / "x.pt")
    assert os.stat(tmp_path / "x.pt").st_size > 1 << 22 and os.stat(tmp_path / "x.pt").st_blocks * 512 < 1 << 20
    assert torch.load(tmp_path / "x.pt").sum() == 0
    with torch.serialization.skip_data():
        assert torch.load(tmp_path / "x.pt").shape == (1 << 20,)


# ---- file objects


class OnlyWrite:
    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += bytes(data[:1000])
        return min(len(data), 1000)


class OnlyRead(io.RawIOBase):
    """Gives a few bytes at a time, and knows no file of the system."""

    def __init__(self, data):
        self.inner = io.BytesIO(data)

    def read(self, n=-1):
        return self.inner.read(min(n, 700) if n >= 0 else n)

    def seek(self, *where):
        return self.inner.seek(*where)

    def tell(self):
        return self.inner.tell()

    def seekable(self):
        return True


def test_file_objects(torch, tmp_path):
    x = torch.arange(5000.0)
    if torch.__name__ == "facula":
        out = OnlyWrite()
        torch.save(x, out)
        assert torch.equal(torch.load(OnlyRead(out.data)), x)
    with tempfile.NamedTemporaryFile() as f:
        torch.save(x, f)
        f.seek(0)
        assert torch.equal(torch.load(f), x)
        assert torch.equal(torch.load(f.name), x)
    with open(tmp_path / "x", "w+b") as f:
        torch.save(x, f)
        f.seek(0)
        assert torch.equal(torch.load(f), x)
    with open(tmp_path / "x", "rb", buffering=0) as f:
        assert torch.equal(torch.load(f), x)


def test_legacy_objects_follow_each_other(torch, tmp_path):
    with open(tmp_path / "x", "w+b") as f:
        for value in (1, "two", torch.ones(3)):
            torch.save(value, f, _use_new_zipfile_serialization=False)
        f.seek(0)
        assert [torch.load(f), torch.load(f)] == [1, "two"] and torch.load(f).tolist() == [1, 1, 1]
        with pytest.raises(EOFError):
            torch.load(f)


def test_what_is_no_file(torch, tmp_path):
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object"):
        torch.save(1, 7)
    with pytest.raises(AttributeError):
        torch.load(7)
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        torch.save(1, tmp_path / "none" / "x.pt")
    with pytest.raises(EOFError):
        torch.load(io.BytesIO())
    read, write = os.pipe()
    os.close(write)
    with open(read, "rb") as f, pytest.raises((io.UnsupportedOperation, OSError)):
        torch.load(f)


def test_errors_of_file_objects_pass_through(torch):
    class Full:
        def write(self, data):
            raise OSError(28, "No space left on device")

    class Broken(OnlyRead):
        def read(self, n=-1):
            raise ValueError("broken")

    with pytest.raises((OSError, RuntimeError), match="No space left|unexpected pos"):
        torch.save(torch.ones(3), Full())
    buffer = io.BytesIO()
    torch.save(torch.ones(3), buffer)
    with pytest.raises(ValueError, match="broken"):
        torch.load(Broken(buffer.getvalue()))


# ---- what is shared


def test_sharing_and_views_survive(torch):
    base = torch.zeros(4)
    out = round_trip(torch, {"base": base, "tail": base[2:], "same": base})
    assert out["base"] is out["same"]
    out["base"].fill_(7)
    assert out["tail"].tolist() == [7, 7]
    assert out["tail"].storage_offset() == 2 and out["tail"].untyped_storage().nbytes() == 16
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        round_trip(torch, [base, base.view(torch.int32)])


def test_gradients_and_graphs(torch):
    x = torch.ones(2, requires_grad=True)
    y = round_trip(torch, x * 2)
    assert y.requires_grad and y.is_leaf and y.tolist() == [2, 2]


def test_storages(torch):
    x = torch.arange(4.0)
    out = round_trip(torch, x.untyped_storage())
    assert out.nbytes() == 16 and len(out) == 16
    typed, again = round_trip(torch, [x.storage(), x])
    assert typed.dtype is torch.float32 and len(typed) == 4 and typed.data_ptr() == again.data_ptr()


def test_plain_pickles_and_copies(torch):
    x = torch.arange(6.0).view(2, 3).t()
    function, args = x.__reduce_ex__(2)[:2]
    assert function.__name__ == "_rebuild_tensor_v2" and args[1:5] == (0, (3, 2), (1, 3), False) and args[0].dtype is torch.float32
    assert torch.zeros(2, dtype=torch.uint16).__reduce_ex__(2)[0].__name__ == "_rebuild_tensor_v3"
    assert torch.zeros(2, device="meta").__reduce_ex__(2)[0].__name__ == "_rebuild_meta_tensor_no_storage"
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert torch.equal(x, y) and y.stride() == x.stride()
    meta = pickle.loads(pickle.dumps(torch.zeros(2, device="meta")))
    assert meta.is_meta and meta.shape == (2,)


# ---- what is allowed


def refused(torch, obj, name):
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    always = torch.__name__ == "facula" and not name.startswith("numpy.")
    for how in ({}, {"weights_only": True}) + (({"weights_only": False},) if always else ()):
        buffer.seek(0)
        with pytest.raises(pickle.UnpicklingError, match=rf"GLOBAL {name} was not an allowed global by default.*(?s:.)*add_safe_globals\(\[{name}\]\)"):
            torch.load(buffer, **how)
    buffer.seek(0)
    unsafe = torch.serialization.get_unsafe_globals_in_checkpoint(buffer)
    assert name in [n.removeprefix("builtins.") for n in unsafe]
    buffer.seek(0)
    return buffer


def test_whole_modules(torch, tmp_path):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    path = tmp_path / "model.pt"
    torch.save(model, path)
    names = ["torch.nn.modules.activation.ReLU", "torch.nn.modules.container.Sequential", "torch.nn.modules.linear.Linear"]
    assert sorted(torch.serialization.get_unsafe_globals_in_checkpoint(path)) == names
    with torch.serialization.safe_globals([nn.Sequential, nn.Linear, nn.ReLU]):
        again = torch.load(path)
    x = torch.ones(1, 2)
    assert torch.equal(again(x), model(x)) and isinstance(again[0].weight, nn.Parameter) and repr(again) == repr(model)


def test_objects_are_saved_by_reference_and_loaded_when_allowed(torch):
    here = __name__
    safe = torch.serialization.safe_globals
    buffer = refused(torch, Config(3, ["a"]), f"{here}.Config")
    with safe([Config]):
        assert torch.load(buffer) == Config(3, ["a"])
        assert Config in torch.serialization.get_safe_globals()
    assert Config not in torch.serialization.get_safe_globals()
    slots = Slots()
    slots.a, slots.b = 1, [2]
    with safe([Slots]):
        out = round_trip(torch, slots)
        assert (out.a, out.b) == (1, [2])
    with safe([Stateful]):
        assert round_trip(torch, Stateful(5)).x == 5
    refused(torch, doubled, f"{here}.doubled")
    with safe([doubled]):
        assert round_trip(torch, doubled) is doubled
    with safe([(Config, "old.place.Config")]), pytest.raises(pickle.UnpicklingError):
        round_trip(torch, Config(1, []))


def test_containers_of_ones_own(torch):
    if torch.__name__ == "torch":
        pytest.skip("PyTorch appends to lists and dicts only")
    with torch.serialization.safe_globals([Listed, Named, collections.deque]):
        out = round_trip(torch, [Listed([1, 2]), Named(a=1), collections.deque([3, 4])])
        assert out == [[1, 2], {"a": 1}, collections.deque([3, 4])] and type(out[0]) is Listed and type(out[1]) is Named


def test_inner_classes_and_functions_that_cannot_be_found(torch):
    with pytest.raises((pickle.PicklingError, AttributeError), match="Can't (pickle|get local)"):
        torch.save(lambda x: x, io.BytesIO())
    with torch.serialization.safe_globals([Holder, getattr, Holder.Inner]):
        assert round_trip(torch, Holder.Inner) is Holder.Inner

    class Local:
        pass

    with pytest.raises((pickle.PicklingError, AttributeError)):
        torch.save(Local(), io.BytesIO())


def test_allowing_by_hand(torch):
    torch.serialization.add_safe_globals([Config])
    torch.serialization.add_safe_globals([Config, (Slots, "a.b.Slots")])
    allowed = torch.serialization.get_safe_globals()
    assert allowed.count(Config) == 1 and (Slots, "a.b.Slots") in allowed
    assert round_trip(torch, Config(1, [])) == Config(1, [])
    torch.serialization.clear_safe_globals()
    assert torch.serialization.get_safe_globals() == []
    for bad, error in (((Config, "a", "b"), ValueError), ((Config, 5), TypeError)):
        with torch.serialization.safe_globals([bad]), pytest.raises(error, match="Expected"):
            round_trip(torch, Config(1, []))


def test_tensor_subclasses(torch):
    class Mine(torch.Tensor):
        pass

    Mine.__qualname__ = "Mine"
    globals()["Mine"] = Mine
    x = torch.arange(3.0).as_subclass(Mine)
    x.tag = "t"
    refused(torch, x, f"{__name__}.Mine")
    with torch.serialization.safe_globals([Mine]):
        y = round_trip(torch, x)
    assert type(y) is Mine and y.tag == "t" and y.tolist() == [0, 1, 2]


def test_numpy_needs_to_be_allowed(torch):
    numpy = pytest.importorskip("numpy")
    multiarray = numpy._core.multiarray if hasattr(numpy, "_core") else numpy.core.multiarray
    array = numpy.arange(3.0)
    refused(torch, array, f"{multiarray._reconstruct.__module__}._reconstruct")
    with torch.serialization.safe_globals([multiarray._reconstruct, multiarray.scalar, numpy.ndarray, numpy.dtype, type(numpy.dtype("f8")), type(numpy.dtype("i4"))]):
        out = round_trip(torch, [array, numpy.float64(2.5), numpy.int32(7)])
    assert out[0].tolist() == [0, 1, 2] and out[1] == 2.5 and type(out[2]) is numpy.int32


def test_pickle_modules(torch):
    buffer = io.BytesIO()
    torch.save(1, buffer, pickle_module=pickle, pickle_protocol=4)
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        torch.load(buffer, pickle_module=pickle, weights_only=True)
    if torch.__name__ == "facula":
        with pytest.raises(NotImplementedError, match="pickle_module=json"):
            import json

            torch.save(1, buffer, pickle_module=json)


def test_whats_not_there_yet(torch, tmp_path):
    if torch.__name__ == "torch":
        pytest.skip("PyTorch has it")
    import zipfile

    with zipfile.ZipFile(tmp_path / "m.pt", "w") as z:
        for name in ("m/data.pkl", "m/constants.pkl", "m/version"):
            z.writestr(name, b"x")
    with pytest.raises(RuntimeError, match="TorchScript archive"):
        torch.load(tmp_path / "m.pt")


def test_byte_orders(torch, tmp_path):
    if torch.__name__ == "torch":
        pytest.skip("PyTorch always writes the record")
    path = tmp_path / "x.pt"
    torch.save([torch.arange(3, dtype=torch.int32), torch.tensor([1 + 2j])], path, _disable_byteorder_record=True)
    plain = torch.load(path)
    serialization = torch.serialization
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        for how in ({}, {"mmap": True}):
            ints, values = torch.load(path, **how)
            assert ints.tolist() == [0, 1 << 24, 2 << 24]
    finally:
        serialization.set_default_load_endianness(None)
    assert torch.load(path)[0].tolist() == plain[0].tolist() == [0, 1, 2]
    with pytest.raises(TypeError):
        serialization.set_default_load_endianness("big")


# ---- a crash loses nothing


def test_the_page_on_files(tmp_path, torch):
    if torch.__name__ != "facula":
        pytest.skip("a page about Facula")
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "files.md"
    (block,) = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
    subprocess.run([sys.executable, "-c", block], cwd=tmp_path, check=True, timeout=60)


def test_a_failed_save_leaves_the_old_file(torch, tmp_path):
    path = tmp_path / "x.pt"
    torch.save("old", path)
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        torch.save([torch.ones(1000), lambda: 0], path)
    if torch.__name__ == "facula":
        assert torch.load(path) == "old"
    assert os.listdir(tmp_path) == ["x.pt"]


def test_links_and_permissions_stay(torch, tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "x.pt"
    torch.save(1, target)
    target.chmod(0o640)
    link = tmp_path / "link.pt"
    link.symlink_to(target)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(target) == 2 and stat.S_IMODE(target.stat().st_mode) == 0o640
    assert os.listdir(tmp_path / "real") == ["x.pt"]
    before = os.umask(0o027)
    try:
        torch.save(3, tmp_path / "new.pt")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.pt").stat().st_mode) == 0o640
    torch.save(4, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_folders_and_files_that_may_not_be_written(torch):
    with tempfile.TemporaryDirectory() as open_folder, tempfile.TemporaryDirectory() as closed_folder:
        path = os.path.join(open_folder, "x.pt")
        torch.save("old", path)
        os.chmod(path, 0o444)
        os.chmod(open_folder, 0o777)
        os.chmod(closed_folder, 0o555)
        child = os.fork()
        if child == 0:
            refused = 0
            try:
                if os.geteuid() == 0:
                    os.setuid(65534)  # root may write everywhere
                for name in (path, os.path.join(closed_folder, "y.pt")):
                    try:
                        torch.save("new", name)
                    except (PermissionError, RuntimeError):
                        refused += 1
            finally:
                os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
        assert torch.load(path) == "old" and os.listdir(closed_folder) == []


def test_a_full_disk(torch, tmp_path):
    if torch.__name__ == "torch":
        pytest.skip("PyTorch writes in place")
    path = tmp_path / "x.pt"
    torch.save("old", path)
    code = (
        "import resource, signal, sys, facula as torch\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n"
        "try: torch.save(torch.ones(1000000), sys.argv[1])\n"
        "except OSError as e: print(e.errno, e.filename)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["27", str(path)]
    assert torch.load(path) == "old" and os.listdir(tmp_path) == ["x.pt"]


def test_killed_while_saving(torch, tmp_path):
    if torch.__name__ == "torch":
        pytest.skip("PyTorch writes in place")
    path = tmp_path / "x.pt"
    torch.save({"n": -1, "x": torch.zeros(1)}, path)
    code = (
        "import sys, facula as torch\n"
        "x = torch.zeros(1 << 19)\n"
        "print('go', flush=True)\n"
        "for n in range(100000): torch.save({'n': n, 'x': x.fill_(n)}, sys.argv[1])\n"
    )
    for wait in (0.0, 0.003, 0.01, 0.02, 0.035, 0.05):
        child = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "go\n"
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        out = torch.load(path)
        assert (out["x"] == max(out["n"], 0)).all()


def test_killed_at_every_byte(torch, tmp_path):
    """The system kills a process that writes more than it may: here after every few bytes of a file."""
    if torch.__name__ == "torch":
        pytest.skip("PyTorch writes in place")
    import resource

    path = tmp_path / "x.pt"
    torch.save({"x": torch.ones(100)}, path)
    size = path.stat().st_size
    torch.save("old", path)
    for limit in range(0, size, 37):
        child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                torch.save({"x": torch.ones(100)}, path)
            finally:
                os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGXFSZ
        assert torch.load(path) == "old" and os.listdir(tmp_path) == ["x.pt"]


def test_saving_is_thread_safe(torch, tmp_path):
    import threading

    path = pathlib.Path(tmp_path / "x.pt")
    torch.save(-1, path)
    errors = []

    def work(n):
        try:
            for _ in range(20):
                torch.save({"n": n, "x": torch.full((100,), float(n))}, path)
                out = torch.load(path)
                assert (out["x"] == out["n"]).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if torch.__name__ == "facula":
        assert not errors and os.listdir(tmp_path) == ["x.pt"]
