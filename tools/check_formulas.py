#!/usr/bin/env python3
"""Formulas need no library: compiles all of them with nvcc for sm_90, with NVRTC without any header, and freestanding for
rv32imafc, each where it is installed, and says which are not. check_formulas.py [ROOT]"""

import ctypes
import glob
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
if ROOT.is_file():
    ROOT = ROOT.parent.parent
SOURCE = ROOT / "tests/formulas/all.cpp"
INCLUDES = [f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def nvcc(folder):
    compiler = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not compiler:
        return None, ""
    return run(compiler, "-x", "cu", "-std=c++20", "-arch=sm_90", "-fmad=false", *INCLUDES, "-c", SOURCE, "-o", f"{folder}/n.o")


def nvrtc(_):
    found = sorted(glob.glob("/usr/local/cuda*/lib64/libnvrtc.so*") + glob.glob("/usr/lib/*/libnvrtc.so*"))
    if not found:
        return None, ""
    library, program = ctypes.CDLL(found[0]), ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), SOURCE.read_bytes(), b"all.cu", 0, None, None)
    options = [b"--gpu-architecture=sm_90", b"-std=c++20", b"-fmad=false", *(i.encode() for i in INCLUDES)]
    code = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    return code == 0, log.value.decode()


def riscv(folder):
    flags = ["-march=rv32imafc", "-mabi=ilp32f", "-ffreestanding", "-nostdinc", "-fno-exceptions", "-fno-rtti", "-O2"]
    for compiler in ("riscv32-unknown-elf-g++", "riscv64-unknown-elf-g++", "clang++"):
        if not shutil.which(compiler):
            continue
        target = ["--target=riscv32-unknown-elf"] if compiler == "clang++" else []
        if compiler == "clang++" and "riscv32" not in run(compiler, "--print-targets")[1]:
            continue
        return run(compiler, *target, *flags, "-std=c++20", *INCLUDES, "-c", SOURCE, "-o", f"{folder}/r.o")
    return None, ""


def main():
    failed, words = False, []
    for name, check in (("nvcc sm_90", nvcc), ("NVRTC", nvrtc), ("rv32imafc", riscv)):
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            good, output = check(folder)
        if good is None:
            words.append(f"{name} is not installed")
            continue
        words.append(f"{name} {time.perf_counter() - start:.1f} s")
        if not good:
            failed = True
            print(f"{name}:\n{output[:4000]}")
    print("formulas compile: " + ", ".join(words))
    return failed


if __name__ == "__main__":
    sys.exit(main())
