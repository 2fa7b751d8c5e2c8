"""libfacula_hb from Python, for the tests of the device below the backend: memory, packets, launches in C."""

import ctypes
import pathlib
import struct

import pytest

import facula

PACKAGE = pathlib.Path(facula._C.__file__).parent
LIBRARY = PACKAGE / "libfacula_hb.so"
KERNELS = PACKAGE.parent.parent / "tests" / "hammerblade"
FAIL, TIMEOUT, UNINITIALIZED, INVALID, NOMEM, NOTFOUND = -1, -2, -3, -4, -5, -7


class Dimension(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32)]


class HandleOfDevice(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("mc", "program", "mesh", "name", "state")]


class Counters(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "launches", "tiles", "packet_bytes", "copies", "copied_bytes", "allocations", "frees", "allocated_bytes", "peak_bytes")]  # fmt: skip


class Failed(Exception):
    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status


def load():
    if not LIBRARY.exists():
        pytest.skip("this build has no libfacula_hb (USE_HAMMERBLADE)")
    library = ctypes.CDLL(str(LIBRARY))
    library.facula_hb_last_error.restype = ctypes.c_char_p
    for name in ("machine", "compile_command", "folder", "printed"):
        getattr(library, f"facula_hb_{name}").restype = ctypes.c_long
    return library


class Device:
    """One hb_mc_device_t with a program: `tiles` (x, y), `mode` "fast" or "check"."""

    def __init__(self, program, tiles=(4, 4), mode="fast", seed=1):
        self.library = load()
        self.handle = HandleOfDevice()
        self.tiles = tiles
        self.do("facula_hb_set_mode", mode.encode(), seed)
        self.call("init_custom_dimensions", b"test", 0, Dimension(*tiles))
        try:
            self.call("program_init", str(program).encode(), b"default_allocator", 0)
        except Failed:
            self.close()
            raise

    def do(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status < 0:
            raise Failed(status, self.library.facula_hb_last_error().decode())
        return status

    def call(self, name, *arguments):
        return self.do(f"hb_mc_device_{name}", ctypes.byref(self.handle), *arguments)

    def close(self):
        self.call("finish")
        self.do("facula_hb_set_mode", b"fast", 1)  # other tests of this process have the device as it was

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def malloc(self, size):
        eva = ctypes.c_uint32()
        self.call("malloc", ctypes.c_uint32(size), ctypes.byref(eva))
        return eva.value

    def free(self, eva):
        self.call("free", ctypes.c_uint32(eva))

    def put(self, form, *values):
        """Memory with these values, by struct's format."""
        data = struct.pack(f"<{form}", *values)
        eva = self.malloc(len(data))
        self.call("memcpy_to_device", eva, data, len(data))
        return eva

    def read(self, eva, form):
        size = struct.calcsize(f"<{form}")
        buffer = ctypes.create_string_buffer(size)
        self.call("memcpy_to_host", buffer, ctypes.c_uint32(eva), size)
        return struct.unpack(f"<{form}", buffer.raw)

    def tensor(self, data, sizes, strides):
        """An hb_tensor_t over memory of the device."""
        numel = 1
        for n in sizes:
            numel *= n
        arrays = self.put(f"{2 * len(sizes)}I", *strides, *sizes)
        return self.put("5I", numel, len(sizes), arrays, arrays + 4 * len(sizes), data)

    def launch(self, name, *words, grid=(1, 1), group=None):
        argv = (ctypes.c_uint32 * max(len(words), 1))(*words)
        self.do("hb_mc_kernel_enqueue", ctypes.byref(self.handle), Dimension(*grid), Dimension(*(group or self.tiles)),
                name.encode(), len(words), argv)  # fmt: skip
        self.call("tile_groups_execute")

    def printed(self):
        buffer = ctypes.create_string_buffer(1 << 16)
        self.do("facula_hb_printed", buffer, len(buffer))
        return buffer.value.decode().splitlines()

    def counters(self):
        out = Counters()
        self.library.facula_hb_counters(ctypes.byref(out))
        return {name: getattr(out, name) for name, _ in Counters._fields_}
