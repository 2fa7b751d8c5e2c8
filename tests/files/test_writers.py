# SPDX-License-Identifier: Apache-2.0
"""Whatever writes a file that the user names does it as torch.save does: whole or not at all, links go on pointing to it, and
what is no file (a pipe, /dev/null) is written to as it is."""
import os
import stat
import subprocess
import sys
import threading

import pytest


def writers(torch, tmp_path):
    """name -> function of a path."""
    from facula import _command_line, conformance, hub
    from facula.profiler import kernel_log, profile

    with kernel_log.KernelLog() as log, profile(profile_memory=True, with_stack=True) as p:
        (torch.ones(30, 30) @ torch.ones(30, 30)).sum()
    program = tmp_path / "program.py"
    program.write_text("import torch\ntorch.ones(3).exp()\n")
    page = tmp_path / "fetched"
    page.write_text("fetched")

    def command(option):
        return lambda path: subprocess.run([sys.executable, "-m", "facula", "profile", option, path, program], check=True, capture_output=True)

    return {
        "KernelLog.save": log.save,
        "export_stacks": p.export_stacks,
        "export_chrome_trace": p.export_chrome_trace,
        "export_memory_timeline": p.export_memory_timeline,
        "export_memory_snapshot": p.export_memory_snapshot,
        "hub": lambda path: hub.download_url_to_file(page.as_uri(), str(path)),
        "write_file": lambda path: _command_line.write_file(path, ["some ", "text"]),
        "--csv": command("--csv"),
        "--jsonl": command("--jsonl"),
        "--html": command("--html"),
        "torch.save": lambda path: torch.save(1, path),
        "conformance": lambda path: _conformance(conformance, path),
    }


def _conformance(conformance, path):
    run, conformance.run = conformance.run, lambda name: {"device": name, "cases": []}
    text, conformance.text = conformance.text, lambda card: ""
    try:
        conformance.main(type("Arguments", (), {"device": "null", "json": str(path), "html": None}))
    finally:
        conformance.run, conformance.text = run, text


NAMES = ["KernelLog.save", "export_stacks", "export_chrome_trace", "export_memory_timeline", "export_memory_snapshot", "hub", "write_file",
         "--csv", "--jsonl", "--html", "torch.save", "conformance"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_file_stays_what_it_is(torch, facula_only, tmp_path, name, capsys):
    write = writers(torch, tmp_path)[name]
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write(link)
    assert link.is_symlink() and target.read_bytes() != b"old" and stat.S_IMODE(target.stat().st_mode) == 0o640

    fifo, read = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()), daemon=True)
    reader.start()
    write(fifo)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    reader.join(20)
    assert read and read[0]

    if os.geteuid() == 0:
        nothing = tmp_path / "nothing"  # /dev/null by another name: the test would destroy the machine's
        try:
            os.mknod(nothing, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except OSError:
            return
        write(nothing)
        assert stat.S_ISCHR(nothing.stat().st_mode)


def test_a_writer_that_fails_leaves_the_old_file(facula_only, tmp_path):
    from facula._command_line import whole_file, write_file

    path = tmp_path / "file"
    write_file(path, "old")
    with pytest.raises(ZeroDivisionError), whole_file(path) as f:
        f.write("new" * 100000)
        1 / 0
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["file"]
    with pytest.raises(OSError):
        write_file(tmp_path, "a folder")
    with pytest.raises(OSError):
        write_file(tmp_path / "no" / "such", "folder")
