# SPDX-License-Identifier: Apache-2.0
"""The simulator's instructions against qemu-riscv32's: streams that a seed draws, registers and memory at their end."""

import ctypes
import random
import shutil
import struct
import subprocess

import pytest
from cosim import PACKAGE

import facula

QEMU = shutil.which("qemu-riscv32")
pytestmark = pytest.mark.skipif(QEMU is None or not facula.has_hammerblade, reason="qemu-riscv32 is not installed (make setup-cosim)")
TEXT, DATA, DATA_BYTES = 0x10000, 0x100000, 4096
STREAMS, LENGTH, TURNS = 12, 3000, 300  # 12 x 3000 x 300: 10.8 million instructions


def r_type(opcode, f3, f7, rd, a, b):
    return f7 << 25 | b << 20 | a << 15 | f3 << 12 | rd << 7 | opcode


def i_type(opcode, f3, rd, a, imm):
    return (imm & 0xFFF) << 20 | a << 15 | f3 << 12 | rd << 7 | opcode


def s_type(opcode, f3, a, b, imm):
    return (imm >> 5 & 0x7F) << 25 | b << 20 | a << 15 | f3 << 12 | (imm & 31) << 7 | opcode


def b_type(f3, a, b, imm):
    return (imm >> 12 & 1) << 31 | (imm >> 5 & 0x3F) << 25 | b << 20 | a << 15 | f3 << 12 | (imm >> 1 & 15) << 8 | (imm >> 11 & 1) << 7 | 0x63


BASE, COUNT, SCRATCH = 30, 31, 29  # x30: the data, x31: turns left


def stream(chance, length):
    """Instructions that may follow in any order: results go to x1 to x28 and any f, memory is the data."""
    words = []
    while len(words) < length:
        rd, a, b, c = chance.randrange(1, 29), chance.randrange(29), chance.randrange(29), chance.randrange(32)
        f, g, h = chance.randrange(32), chance.randrange(32), chance.randrange(32)
        rounding = chance.choice([0, 1, 2, 3, 4, 7])
        kind = chance.randrange(16)
        if kind < 3:
            f3, f7 = chance.choice([(0, 0), (0, 32), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (5, 32), (6, 0), (7, 0)])
            words.append(r_type(0x33, f3, f7, rd, a, b))
        elif kind < 5:
            f3 = chance.choice([0, 2, 3, 4, 6, 7])
            words.append(i_type(0x13, f3, rd, a, chance.randrange(-2048, 2048)))
        elif kind == 5:
            words.append(chance.choice([i_type(0x13, 1, rd, a, c), i_type(0x13, 5, rd, a, c), i_type(0x13, 5, rd, a, 0x400 | c), chance.getrandbits(20) << 12 | rd << 7 | 0x37]))
        elif kind == 6:
            words.append(r_type(0x33, chance.choice([0, 4, 5, 6, 7]), 1, rd, a, b))
        elif kind == 7:
            size = chance.choice([0, 1, 2])
            words.append(i_type(0x03, chance.choice([size, size + 4 if size < 2 else size]), rd, BASE, chance.randrange(0, 2048) >> size << size))
        elif kind == 8:
            size = chance.choice([0, 1, 2])
            words.append(s_type(0x23, size, BASE, b, chance.randrange(0, 2048) >> size << size))
        elif kind == 9:
            offset = chance.randrange(0, 2048) & ~3
            words.append(i_type(0x07, 2, f, BASE, offset) if chance.random() < 0.5 else s_type(0x27, 2, BASE, f, offset))
        elif kind == 10:
            words.append(r_type(0x53, rounding, chance.choice([0x00, 0x04, 0x08, 0x0C]), f, g, h))
        elif kind == 11:
            words.append(h << 27 | g << 20 | f << 15 | rounding << 12 | c << 7 | chance.choice([0x43, 0x47, 0x4B, 0x4F]))
        elif kind == 12:
            f3, f7 = chance.choice([(0, 0x10), (1, 0x10), (2, 0x10), (0, 0x14), (1, 0x14)])
            words.append(chance.choice([r_type(0x53, f3, f7, f, g, h), r_type(0x53, rounding, 0x2C, f, g, 0)]))
        elif kind == 13:
            words.append(chance.choice([r_type(0x53, chance.randrange(3), 0x50, rd, g, h), r_type(0x53, 1, 0x70, rd, g, 0), r_type(0x53, 0, 0x70, rd, g, 0), r_type(0x53, 0, 0x78, f, a, 0),
                                        r_type(0x53, rounding, 0x60, rd, g, chance.randrange(2)), r_type(0x53, rounding, 0x68, f, a, chance.randrange(2))]))  # fmt: skip
        elif kind == 14:
            words.append(b_type(chance.choice([0, 1, 4, 5, 6, 7]), a, b, 8))
            words.append(i_type(0x13, 0, rd, rd, 1))
        else:
            words.append(chance.choice([i_type(0x73, 5, 0, chance.randrange(5), 2), i_type(0x73, 2, rd, 0, 1), i_type(0x73, 2, rd, 0, 3)]))
    return words


def li(rd, value):
    value &= 0xFFFFFFFF
    low = value & 0xFFF
    return [((value + 0x800) & 0xFFFFF000) | rd << 7 | 0x37, i_type(0x13, 0, rd, rd, low)]


def program(body):
    """The body in a loop, then all registers behind the data."""
    text = li(BASE, DATA)
    for r in range(32):
        text.append(i_type(0x07, 2, r, BASE, 4 * r))  # floats from the data, whatever they are
    text += [i_type(0x03, 2, r, BASE, 4 * r + 128) for r in range(1, 29)]
    text += li(COUNT, TURNS)
    text += body
    text.append(i_type(0x13, 0, COUNT, COUNT, -1))
    back = -4 * (len(body) + 1)
    text += [b_type(0, COUNT, 0, 8), (back - 4 >> 20 & 1) << 31 | (back - 4 >> 1 & 0x3FF) << 21 | (back - 4 >> 11 & 1) << 20 | (back - 4 >> 12 & 0xFF) << 12 | 0x6F]
    text += [i_type(0x13, 0, BASE, BASE, 2047), i_type(0x13, 0, BASE, BASE, 1)]
    text += [s_type(0x23, 2, BASE, r, 4 * r) for r in range(1, 29)]
    text += [s_type(0x27, 2, BASE, r, 4 * r + 128) for r in range(32)]
    return text


def by_qemu(text, data, folder):
    # write(1, DATA, DATA_BYTES); exit(0)
    text = text + [*li(10, 1), *li(11, DATA), *li(12, DATA_BYTES), *li(17, 64), 0x73, *li(10, 0), *li(17, 93), 0x73]
    code = struct.pack(f"<{len(text)}I", *text)
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 243, 1, TEXT, 52, 0, 0, 52, 32, 2, 40, 0, 0)
    start, behind = 0x1000, (0x1000 + len(code) + 0xFFF) & ~0xFFF
    header += struct.pack("<8I", 1, start, TEXT, TEXT, len(code), len(code), 5, 0x1000) + struct.pack("<8I", 1, behind, DATA, DATA, len(data), len(data), 6, 0x1000)
    file = folder / "stream"
    file.write_bytes(header.ljust(start, b"\0") + code.ljust(behind - start, b"\0") + data)
    file.chmod(0o755)
    return subprocess.run([QEMU, str(file)], capture_output=True, check=True).stdout


def by_simulator(text, data):
    library = ctypes.CDLL(str(PACKAGE / "libfacula_hb.so"))
    code = (ctypes.c_uint32 * len(text))(*text)
    memory = ctypes.create_string_buffer(data, len(data))
    end = library.facula_hb_run_instructions(code, len(text), memory, DATA, len(data))
    assert end == len(text), f"stopped at {end}: {text[end] if 0 <= end < len(text) else end:#x}"
    return memory.raw


@pytest.mark.parametrize("seed", range(STREAMS))
def test_streams(seed, tmp_path):
    chance = random.Random(seed)
    special = [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345, 1, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x4B000001, 0x4F000000, 0xCF000000, 0x7F7FFFFF]
    data = struct.pack("<1024I", *(chance.choice(special) if chance.random() < 0.3 else chance.getrandbits(32) for _ in range(1024)))
    text = program(stream(chance, LENGTH))
    assert by_simulator(text, data) == by_qemu(text, data, tmp_path)
