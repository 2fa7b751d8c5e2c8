"""The emulated device below the backend: kernels in the port's manner in both modes, defects that check mode must find."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from cosim import needs_compiler

from runtime import FAIL, INVALID, KERNELS, NOMEM, NOTFOUND, PACKAGE, TIMEOUT, Device, Failed, load

HERE = pathlib.Path(__file__).parent
SOUND, DEFECTIVE = KERNELS / "sound.so", KERNELS / "defective.so"
MODES = ["fast", "check"]
EVERY_MODE = [*MODES, pytest.param("sim", marks=needs_compiler)]
MESHES = [(1, 1), (2, 2), (4, 4), (16, 8)]
SANITIZER = ["-fsanitize=address,undefined"] if os.environ.get("FACULA_SANITIZED") == "address" else []


@pytest.fixture(autouse=True)
def built():
    load()
    if not SOUND.exists():
        pytest.skip("the kernels of the tests are not built (BUILD_TEST)")


def line_of(file: str, mark: str) -> str:
    """file:line of the line that says it is the one."""
    lines = (HERE / "defective" / file).read_text().splitlines()
    return f"{file}:{next(i for i, text in enumerate(lines, 1) if f'// line: {mark}' in text)}"


@pytest.mark.parametrize("mode", EVERY_MODE)
@pytest.mark.parametrize("tiles", MESHES)
def test_foreach_and_conversion(tiles, mode):
    with Device(SOUND, tiles, mode) as d:
        n = 103
        a = d.put(f"{n}f", *range(n))
        b = d.put(f"{n}f", *(10 * i for i in range(n)))
        c = d.malloc(4 * n)
        d.launch("tensorlib_add", *(d.tensor(p, [n], [1]) for p in (c, a, b)), d.put("f", 0.5))
        assert d.read(c, f"{n}f") == tuple(6.0 * i for i in range(n))
        # The iterator's order, fastest dimension first, and a broadcast operand: c[j][i] = a[i][j] + 0.5 b[0].
        t = [d.tensor(c, [5, 4], [1, 5]), d.tensor(a, [5, 4], [4, 1]), d.tensor(b, [5, 4], [0, 0])]
        d.launch("tensorlib_add", *t, d.put("f", 0.5))
        assert d.read(c, "20f") == tuple(float(4 * i + j) for j in range(4) for i in range(5))
        out = d.malloc(4 * n)
        d.launch("tensorlib_to_int", d.tensor(out, [n], [1]), d.tensor(a, [n], [1]))
        assert d.read(out, f"{n}i") == tuple(range(n))


@pytest.mark.parametrize("mode", EVERY_MODE)
@pytest.mark.parametrize("tiles", MESHES)
def test_reductions_combine_partials_with_their_operator(tiles, mode):
    with Device(SOUND, tiles, mode) as d:
        values = [(37 * i) % 101 for i in range(60)]
        a, out = d.put("60f", *values), d.malloc(4 * 12)
        d.launch("tensorlib_max_all", d.tensor(out, [1], [1]), d.tensor(a, [60], [1]))
        assert d.read(out, "f") == (max(values),)  # a sum of the tiles' largest would be more
        # Five elements for each of twelve results; the reduced dimension is the iterator's first.
        d.launch("tensorlib_sum_rows", d.tensor(out, [1, 12], [0, 1]), d.tensor(a, [5, 12], [1, 5]), d.put("I", 1))
        assert d.read(out, "12f") == tuple(float(sum(values[5 * i : 5 * i + 5])) for i in range(12))


@pytest.mark.parametrize("mode", EVERY_MODE)
@pytest.mark.parametrize("tiles", MESHES)
def test_loops_locks_rings_and_variables(tiles, mode):
    count = tiles[0] * tiles[1]
    with Device(SOUND, tiles, mode) as d:
        for n in (6, 240):
            out = d.put(f"{n}i", *[0] * n)
            d.launch("loops", out, n)
            assert d.read(out, f"{n}i") == (111111,) * n
        lock, total, counted = d.put("i", 0), d.put("i", 0), d.put("i", 0)
        d.launch("locked_sum", lock, total, counted)
        assert d.read(total, "i") == (3 * count * (count - 1) // 2,) and d.read(counted, "i") == (3 * count,)
        out = d.malloc(4 * count + 4)
        d.launch("ring", out)
        x = tiles[0]
        assert d.read(out, f"{count}i") == tuple(i - i % x + (i % x - 1) % x for i in range(count))
        for times in (1, 2):  # private to a tile, kept between launches
            d.launch("variables", out)
            assert d.read(out, f"{count + 1}i") == (*(42 + times + times * i for i in range(count)), 40 + times * (count - 1))
        text = bytes(range(100))
        source, to = d.put("100s", text), d.malloc(164)
        d.launch("copies", to, source, 100)
        assert d.read(to, "164s") == (text + text[:32] + b"\x09" * 32,)
        shape = d.malloc(4 * 120)
        d.launch("fixed_shape", d.tensor(shape, [2, 3, 4, 5], [60, 20, 5, 1]), d.put("f", 2.5))
        assert d.read(shape, "120f") == (2.5,) * 119 + (5.0,)


@needs_compiler
def test_the_standard_library_draws_the_same_numbers_on_the_chip():
    seen = []
    for mode in ("fast", "sim"):
        with Device(SOUND, (2, 1), mode) as d:
            out, near = d.malloc(4 * 600), d.malloc(4 * 100)
            rows = []
            for seed in (0, 1, 12345, 2147483647, 4294967295):
                d.launch("draws", out, near, seed)
                rows.append((d.read(out, "600i"), d.read(near, "100f")))
            seen.append(rows)
    for (exact, near), (exact_on_chip, near_on_chip) in zip(*seen, strict=True):
        assert exact == exact_on_chip
        assert near == pytest.approx(near_on_chip, rel=1e-5, abs=1e-6)  # by logarithms
        assert min(exact[100:200]) >= -3 and max(exact[100:200]) <= 6 and len(set(exact[100:200])) == 10
        assert -4 < sum(near[:50]) / 50 < 4


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_tile_groups_and_ids(mode):
    with Device(SOUND, (4, 4), mode) as d:
        out = d.malloc(4 * 3 * 2 * 6)  # six groups of 3 x 2, of which two fit at once
        d.launch("who", out, grid=(3, 2), group=(3, 2))
        assert d.read(out, "36i") == tuple(
            x + 100 * y + 10000 * gx + 100000 * gy + 3000000 + 20000000
            for gy in range(2) for gx in range(3) for y in range(2) for x in range(3)
        )  # fmt: skip
        before = d.counters()
        d.launch("nothing", grid=(16, 1), group=(1, 1))
        after = d.counters()
        assert (after["launches"] - before["launches"], after["tiles"] - before["tiles"]) == (1, 16)


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_printing_is_kept_by_tile(mode, capfd):
    with Device(SOUND, (2, 2), mode) as d:
        d.launch("say", d.put("2I", 3, d.put("3i", 5, 6, 7)))
        assert d.printed() == ["(0,0) 7", "(1,0) tile 1 of 4 sees 7"]
        assert capfd.readouterr().err.endswith("7tile 1 of 4 sees 7\n")


# kernel, arguments, status, what it is called, tile, line's mark, words
DEFECTS = [
    ("defect_out_of_bounds", "tensor", FAIL, "out of bounds", "(1,1)", "out_of_bounds.cpp", "out of bounds", "writes 4 bytes .* 0 bytes past the end of the 64 bytes"),
    ("defect_use_after_free", "freed", FAIL, "use after free", "(0,0)", "use_after_free.cpp", "use after free", "reads 4 bytes .* 12 bytes into the freed 64 bytes"),
    ("defect_misaligned", "block", FAIL, "misaligned access", "(1,0)", "misaligned.cpp", "misaligned access", "not on a boundary of 4"),
    ("defect_scratchpad", "block", FAIL, "scratchpad overflow", None, "scratchpad.cpp", "scratchpad overflow", "the scratchpad has 4096"),
    ("defect_race", "block", FAIL, "race", None, "race.cpp", "race", "tile .* (wrote|read) at race.cpp:.*; no barrier lies between"),
    ("defect_unlock", "two", FAIL, "race", None, "race.cpp", "race without release", "no barrier lies between"),
    ("defect_divergent_barrier", "block", FAIL, "divergent barrier", None, "divergent_barrier.cpp", "divergent barrier", "tiles .*have ended"),
    ("defect_missing_final_barrier", "block", FAIL, "missing final barrier", None, "missing_final_barrier.cpp", "missing final barrier", "end the kernel with"),
    ("defect_deadlock", "none", FAIL, "deadlock", None, "deadlock.cpp", "deadlock", r"tiles .* wait for the word at 0x\w+ to become 1 \(it is 0\)"),
    ("defect_kept_lock", "block", FAIL, "deadlock", None, "deadlock.cpp", "kept lock", r"tile .* waits at barrier 1.*tiles .* poll at"),
    ("defect_assertion", "block", FAIL, "assertion", "(1,0)", "assertion.cpp", "assertion", "p is 0x.*, tile 1"),
    ("defect_remote_tile", "block", FAIL, "remote pointer", None, "remote.cpp", "remote pointer", r"tile \(2,0\) .* outside of the 2 x 2 tiles"),
    ("defect_null", "null", FAIL, "out of bounds", "(0,1)", "fault.cpp", "null", "null pointer"),
]  # fmt: skip


def arguments(d, kind):
    block = d.put("16i", *[0] * 16)
    if kind == "freed":
        d.free(block)
        return block, d.malloc(4)
    return {"tensor": lambda: (d.tensor(block, [16], [1]),), "block": lambda: (block,), "none": lambda: (), "null": lambda: (0,),
            "two": lambda: (block, d.put("i", 0))}[kind]()  # fmt: skip


@pytest.mark.parametrize("kernel, kind, status, name, tile, file, mark, words", DEFECTS, ids=lambda v: v if isinstance(v, str) and v.startswith("defect") else "")
def test_check_mode_finds(kernel, kind, status, name, tile, file, mark, words):
    with Device(DEFECTIVE, (2, 2), "check") as d:
        with pytest.raises(Failed) as failed:
            d.launch(kernel, *arguments(d, kind))
        text = str(failed.value)
        assert failed.value.status == status and text.startswith(f"{kernel}: ") and f"[{name}; check mode, seed 1]" in text, text
        assert line_of(file, mark) in text and re.search(words, text, re.S), text
        assert f"tile {tile}" in text if tile else "tile" in text, text
        d.launch("defect_assertion", 1, group=(1, 1))  # the device goes on


def test_a_finding_is_the_same_for_the_same_seed():
    def findings(seed):
        with Device(DEFECTIVE, (4, 4), "check", seed) as d:
            texts = []
            for kernel in ("defect_race", "defect_unlock", "defect_missing_final_barrier") * 2:
                with pytest.raises(Failed) as failed:
                    d.launch(kernel, *arguments(d, "two" if kernel == "defect_unlock" else "block"))
                texts.append(re.sub(r"0x\w+", "", str(failed.value)))
            return texts

    all_of = {seed: findings(seed) for seed in (1, 2, 3, 4)}
    for seed, texts in all_of.items():
        assert texts[:3] == texts[3:] == findings(seed)[:3]
    assert len({tuple(texts) for texts in all_of.values()} - {None}) > 1  # another seed, another schedule


@pytest.mark.parametrize("mode", MODES)
def test_what_the_processor_refuses_ends_the_launch_only(mode):
    with Device(DEFECTIVE, (2, 2), mode) as d:
        for kernel, argument, words in (
            ("defect_null", 0, "tile (0,1)"),
            ("defect_division", d.put("i", 0), "divides an integer by zero"),
            ("defect_recursion", d.put("i", 0), "scratchpad overflow"),
        ):
            with pytest.raises(Failed, match=re.escape(words)) as failed:
                d.launch(kernel, argument)
            assert "fault.cpp:" in str(failed.value)
        with pytest.raises(Failed, match=r"divergent barrier") as failed:
            d.launch("defect_divergent_barrier", d.malloc(64))
        assert line_of("divergent_barrier.cpp", "divergent barrier") in str(failed.value)
        with pytest.raises(Failed, match=r"tile \(1,0\) p is 0x1, tile 1 at assertion.cpp"):
            d.launch("defect_assertion", 1)
        with pytest.raises(Failed, match=r"element 16 of a tensor that has 16 at hb_tensor.hpp"):
            d.launch("defect_index", d.tensor(d.malloc(64), [16], [1]))
        with pytest.raises(Failed, match="neither on its stack nor a variable"):
            d.launch("defect_remote_dram", d.malloc(64))


FRAMES = (40, 48, 51, 52, 56, 60, 64, 70, 200)


@pytest.mark.parametrize("mode", MODES)
def test_a_frame_of_any_size_ends_the_launch_only(mode):
    with Device(DEFECTIVE, (2, 2), mode) as d:
        one = d.put("f", 1.0)
        for kib in FRAMES:
            if kib <= 48 and mode == "fast":  # what a tile's addresses hold is the chip's to refuse
                if kib == 40:
                    d.launch(f"defect_frame_{kib}", one)
                continue
            with pytest.raises(Failed, match=r"tile \(\d,\d\) .*scratchpad.cpp:.*scratchpad overflow") as failed:
                d.launch(f"defect_frame_{kib}", one)
            assert failed.value.status == FAIL
        for size in range(38 << 10, 54 << 10, 1000):
            try:
                d.launch("defect_grown", one, size)
                assert mode == "fast" and size < 48 << 10
            except Failed as failed:
                assert "scratchpad overflow" in str(failed), (size, str(failed))
        assert d.read(one, "f") == (1.0,)


COPIES = ["memmove", "memcpy", "memset", "twelve", "struct", "compare", "four", "strlen", "library", "bzero"]


def test_copies_fills_and_comparisons_are_looked_at():
    with Device(DEFECTIVE, (2, 2), "check") as d:
        for how, mark in enumerate(COPIES):
            block, source = (d.put("1000B", *[1] * 1000) for _ in range(2))
            with pytest.raises(Failed) as failed:
                d.launch("defect_copies", block, source, how)
            text = str(failed.value)
            assert "tile (1,0)" in text and line_of("copies.cpp", mark) in text and "0 bytes past the end of the 1000 bytes" in text, (mark, text)
        block, to = d.malloc(400), d.malloc(400)
        with pytest.raises(Failed, match=r"(?s)no barrier lies between.*\[race") as failed:
            d.launch("defect_copied_race", block, to)
        assert "copies.cpp:" in str(failed.value)


def run(program: str, **variables):
    code = f"import sys; sys.path.insert(0, {str(HERE)!r})\nfrom runtime import *\nfrom test_emulator import *\n{program}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)


@pytest.mark.parametrize("mode", MODES)
def test_watchdog_says_who_waits(mode):
    done = run(f"""
with Device(DEFECTIVE, (2, 2), {mode!r}) as d:
    for again in range(2):
        try: d.launch("defect_hang", d.put("i", 0))
        except Failed as e: print(e.status, e)
    d.launch("defect_assertion", 1, group=(1, 1))
""", FACULA_HB_WATCHDOG="0.5", FACULA_HB_THREADS="2")  # fmt: skip
    assert done.returncode == 0 and done.stdout.count("no tile has ended or passed a barrier for 0.5 seconds") == 2, done
    assert done.stdout.startswith(str(TIMEOUT)) and line_of("hang.cpp", "waits") in done.stdout
    assert re.search(r"tiles \(0,0\), \(1,0\), \(0,1\) wait at barrier 1", done.stdout), done.stdout
    assert f"tile (1,1) runs at {line_of('hang.cpp', 'hang')}" in done.stdout, done.stdout


def test_a_tile_that_waits_in_a_loop_is_interrupted():
    done = run("""
for threads in range(3):
    with Device(SOUND, (4, 4)) as d: d.launch("spin", d.put("i", 0))
print("done")""", FACULA_HB_THREADS="1")  # fmt: skip
    assert done.stdout == "done\n", done


def test_bad_launches():
    with Device(SOUND, (4, 4)) as d:
        for status, words, go in (
            (NOTFOUND, r"no kernel tensorlib_ad among the \d+ that are loaded; the nearest is tensorlib_add", lambda: d.launch("tensorlib_ad")),
            (INVALID, r"ring takes 1 arguments \(int\*\), but was given 2", lambda: d.launch("ring", 1, 2)),
            (INVALID, "a tile group of 5 x 4 does not fit the mesh of 4 x 4 tiles", lambda: d.launch("nothing", group=(5, 4))),
            (INVALID, "a grid of 0 x 1", lambda: d.launch("nothing", grid=(0, 1))),
            (INVALID, "0x00000010 was freed, but is not the start", lambda: d.free(16)),
            (INVALID, "a copy to the device of 4 bytes at 0x00000010", lambda: d.call("memcpy_to_device", 16, b"1234", 4)),
            (NOTFOUND, "kernel library /nowhere.so: No such file", lambda: Device("/nowhere.so", (4, 4))),
            (INVALID, "it holds no kernels", lambda: Device(PACKAGE / "libfacula_hb.so", (4, 4))),
            (INVALID, "x is 1 to 64, y 1 to 32", lambda: Device(SOUND, (65, 1))),
        ):  # fmt: skip
            with pytest.raises(Failed, match=words) as failed:
                go()
            assert failed.value.status == status, failed.value


def test_out_of_memory_is_usable_again():
    with Device(SOUND, (2, 2)) as d:
        blocks = []
        with pytest.raises(Failed, match=r"out of device memory: 268435456 bytes were asked for") as failed:
            for _ in range(16):
                blocks.append(d.malloc(1 << 28))
        assert failed.value.status == NOMEM and blocks
        with pytest.raises(Failed, match="out of device memory"):
            d.malloc(0xFFFFFFFF)
        d.free(blocks.pop())
        blocks.append(d.malloc(1 << 28))


MALFORMED = [
    ("[tiles]\nx = many", ":2: tiles.x is an integer, not 'many'"),
    ("[tiles]\nx = 0", ":2: tiles.x is 0, but must be between 1 and 64"),
    ("[tiles]\nx = 4\nx = 4", ":3: the key tiles.x is given twice"),
    ("[tiles]\nz = 4", ":2: there is no key tiles.z; keys here are x, y"),
    ("\n[tile]", ":2: there is no section [tile]; sections are [tiles], [core]"),
    ("[tiles", ":1: a section is written [name]"),
    ("x", ":1: expected key = value, found 'x'"),
    ("bytes = 4", ":1: there is no key bytes; it belongs to [scratchpad]"),
    ("name = four", ":1: name is a text in double quotes, not four"),
    ('[barrier]\nkind = "magic"', ":2: barrier.kind is one of software hardware amoadd, not magic"),
    ("[core]\ndouble = 1", ":2: core.double is true or false, not 1"),
    ("[dram]\nbytes = 0x80000000\n[address]\ndram = 0xc0000000", ": dram.bytes does not fit"),
    ("[address]\ndram = 0x1000", ":2: address.dram is 4096, but must be between 65536"),
    ("[latency]\ndram_hit = 32", ":2: the key latency.dram_hit belongs to the old form of machine files"),
    ("[pods]\nx = 2\ny = 2", ": 2 x 2 pods: one pod is modelled, of up to 64 x 32 tiles"),
    ("[vcache]\nbanks = 3", ": vcache.banks must be a power of two"),
    ("\0", ": the file is not text"),
]


@pytest.mark.parametrize("text, words", MALFORMED)
def test_malformed_machine(tmp_path, text, words):
    library = load()
    path = tmp_path / "bad.machine"
    path.write_text(text)
    assert library.facula_hb_machine(str(path).encode(), None, 0) == INVALID
    assert f"bad.machine{words}" in library.facula_hb_last_error().decode()


def test_machines():
    library = load()
    for name in ("pod_X1Y1_ruche_X16Y8", "4x4"):
        import ctypes

        buffer = ctypes.create_string_buffer(1 << 14)
        assert library.facula_hb_machine(name.encode(), buffer, len(buffer)) > 0
        text = buffer.value.decode()
        assert f'name = "{name}"' in text and "[latency]\nalu = 1" in text
    assert library.facula_hb_machine(b"5x5", None, 0) == NOTFOUND
    assert "there is no machine '5x5'" in library.facula_hb_last_error().decode()
    done = run('print(Device(SOUND, (1, 1)).do("facula_hb_machine", None, None, 0) > 0); d = load(); print(d.facula_hb_select_machine(b"4x4"))\n'
               'h = HandleOfDevice(); d.hb_mc_device_init(ctypes.byref(h), b"x", 0); print(list((ctypes.c_uint32 * 2).from_address(h.mesh)))')  # fmt: skip
    assert done.stdout == "True\n0\n[4, 4]\n", done
    done = run('load().facula_hb_counters(ctypes.byref(Counters())); print(load().facula_hb_last_error())', FACULA_HB_MACHINE="none")
    assert "there is no machine 'none'" in done.stdout, done


def test_environment_of_the_port():
    done = run('h = HandleOfDevice(); d = load(); d.hb_mc_device_init(ctypes.byref(h), b"x", 0)\n'
               'assert d.hb_mc_device_program_init(ctypes.byref(h), str(SOUND).encode(), b"", 0) == 0\n'
               'd.hb_mc_kernel_enqueue(ctypes.byref(h), Dimension(1, 1), Dimension(3, 2), b"nothing", 0, None)\n'
               'd.hb_mc_device_tile_groups_execute(ctypes.byref(h))', HBEMUL_TILE_X_DIM="3", HBEMUL_TILE_Y_DIM="2", HBEMUL_DEBUG="1")  # fmt: skip
    assert done.stderr.splitlines() == [
        "Emulating CUDALite...", "Emulation barrier init'ed with 6 threads", "Emulation layer enqueued kernel nothing",
        "  Emulation layer launched 6 threads to simulate the tile group"], done  # fmt: skip
    done = run("Device(SOUND, (1, 1))", HBEMUL_TILE_X_DIM="0")
    assert "HBEMUL_TILE_X_DIM=0 must be a number from 1 to 64" in done.stderr


def test_a_forked_child_launches():
    done = run("""
import os
with Device(SOUND, (4, 4)) as d:
    d.launch("nothing")
    child = os.fork()
    out = d.put("240i", *[0] * 240)
    d.launch("loops", out, 240)
    assert d.read(out, "240i") == (111111,) * 240
    if child: print(os.waitpid(child, 0)[1])
    else: os._exit(0)
""")
    assert done.stdout == "0\n", done


@pytest.mark.skipif(not shutil.which("c++") or not shutil.which("cc"), reason="no compiler")
def test_a_host_program_of_cuda_lite(tmp_path):
    program = tmp_path / "vector_add"
    headers = HERE.parent.parent / "src/backends/hammerblade/include/host"
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", *SANITIZER, f"-I{headers}", HERE / "cpp/vector_add.c", "-o", program, f"-L{PACKAGE}", "-lfacula_hb", f"-Wl,-rpath,{PACKAGE}"], check=True)  # fmt: skip
    kernel = HERE / "cpp/kernel_vector_add.cpp"
    for mode in MODES:  # a .cpp is compiled when it is loaded
        done = subprocess.run([program, kernel], capture_output=True, text=True, env={**os.environ, "FACULA_HB_MODE": mode})
        assert done.stdout == "3 x 2 groups of 2 x 2: passed, cycle 0\n", done


@pytest.mark.skipif(not shutil.which("c++"), reason="no compiler")
def test_the_device_functions_of_the_port(tmp_path):
    program = tmp_path / "offload"
    headers = HERE.parent.parent / "src/backends/hammerblade/include/host"
    subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", *SANITIZER, f"-I{headers}", HERE / "cpp/offload.cpp", "-o", program, f"-L{PACKAGE}", "-lfacula_hb", f"-Wl,-rpath,{PACKAGE}"], check=True)  # fmt: skip
    done = subprocess.run([program], capture_output=True, text=True, env={**os.environ, "FACULA_HB_PROGRAM": str(SOUND)})
    assert done.stdout == "HammerBlade error: Invalid input: loops takes 2 arguments (int*, uint32_t), but was given 1\n", done


def test_threads_launch_one_after_the_other():
    import threading

    with Device(SOUND, (4, 4)) as d:
        blocks = [d.put("60i", *[0] * 60) for _ in range(4)]
        handles = [Device(SOUND, (4, 4)) for _ in blocks]

        def work(own, block):
            for _ in range(20):
                own.launch("loops", block, 60)

        threads = [threading.Thread(target=work, args=pair) for pair in zip(handles, blocks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(d.read(block, "60i") == (20 * 111111,) * 60 for block in blocks)
        for own in handles:
            own.close()


def test_kernels_that_do_not_compile(tmp_path):
    library = load()
    source = tmp_path / "wrong.cpp"
    source.write_text("#include <kernel_common.hpp>\nint f( { }\n")
    with pytest.raises(Failed, match=r"does not compile:\n(.|\n)*wrong.cpp:2"):
        Device(source, (2, 2))
    with pytest.raises(Failed, match="kernel file .*absent.cpp: No such file"):
        Device(tmp_path / "absent.cpp", (2, 2))
    done = run(f"Device({str(source)!r}, (2, 2))", CXX="/nowhere/g++")
    assert "CXX=/nowhere/g++ names no compiler" in done.stderr
    assert library.facula_hb_compile(b"fast", str(tmp_path / "no/x.so").encode(), None, 0) < 0
