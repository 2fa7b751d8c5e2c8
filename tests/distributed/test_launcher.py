# SPDX-License-Identifier: Apache-2.0
"""torchrun and its kin."""
import os
import re
import shutil
import subprocess
import sys

import pytest

# Ranks write into one pipe without buffers, so a line is one string.
SHOW = """import os
print(' '.join(os.environ[k] for k in ('RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'LOCAL_WORLD_SIZE', 'GROUP_RANK')) + '\\n', end='', flush=True)
"""


def test_variables_of_one_machine(ranks):
    assert sorted(ranks(3, SHOW).split("\n"))[1:] == ["0 0 3 3 0", "1 1 3 3 0", "2 2 3 3 0"]


def test_underscores_module_and_program(tmp_path):
    (tmp_path / "prog.py").write_text(SHOW + "import sys; print(sys.argv[1:], __name__)\n")
    run = [sys.executable, "-m", "facula.distributed.run", "--standalone"]
    for arguments in (["--nproc_per_node", "1", "prog.py", "--lr", "1"], ["--nproc_per_node=1", "-m", "prog", "--lr", "1"]):
        out = subprocess.run([*run, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert "0 0 1 1 0\n['--lr', '1'] __main__\n" == out.stdout, out
    out = subprocess.run([*run, "--no-python", "--nproc-per-node=2", "sh", "-c", "echo $RANK/$WORLD_SIZE"], capture_output=True, text=True, timeout=60)
    assert sorted(out.stdout.split()) == ["0/2", "1/2"]
    out = subprocess.run([sys.executable, "-m", "facula", "run", "-n", "2", "prog.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "1 1 2 2 0" in out.stdout
    out = subprocess.run([sys.executable, "-m", "facula.distributed.launch", "--nproc_per_node=1", "prog.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "['--local-rank=0']" in out.stdout


def test_the_module_by_torch_s_name_and_without_numpy(tmp_path):
    from facula import _as_torch

    (tmp_path / "prog.py").write_text(
        "import sys\nsys.modules['numpy'] = None\nimport torch, torch.distributed as dist\ndist.init_process_group('gloo')\n"
        "every = [None, None]\ndist.all_gather_object(every, {'rank': dist.get_rank()})\n"
        "torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))(torch.ones(1, 2)).sum().backward()\nprint(f'{every}\\n', end='', flush=True)\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "prog.py"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env={**os.environ, **_as_torch.environment()})
    assert out.returncode == 0 and out.stdout == "[{'rank': 0}, {'rank': 1}]\n" * 2, out


def test_restarts_and_who_was_first(ranks):
    program = SHOW + "import sys, time\nfrom torch.distributed.elastic.multiprocessing.errors import record\n@record\ndef main():\n" \
        "    n = int(os.environ['TORCHELASTIC_RESTART_COUNT'])\n    if os.environ['RANK'] == '1' and n < 2: raise KeyError(f'try {n}')\n    time.sleep(.1)\n    print(f'done {n}\\n', end='')\nmain()\n"  # fmt: skip
    out = ranks(2, program, options=["--max-restarts=3"])
    assert out.count("done 2") == 2 and out.count("rank 1 (local rank 1") == 2 and "KeyError: 'try 0'" in out, out
    out = ranks(2, program, options=["--max-restarts=1"], status=1)
    assert "1 of 1 restarts" in out and "it was the first" in out
    out = ranks(2, "import os, time, signal\nif os.environ['RANK'] == '0': os.kill(os.getpid(), signal.SIGUSR1)\ntime.sleep(60)\n", status=1)
    assert "rank 0 (local rank 0" in out and "signal SIGUSR1" in out


def test_logs(ranks, tmp_path):
    program = "import sys, os\nprint('out', os.environ['RANK']); print('err', os.environ['RANK'], file=sys.stderr)\n"
    out = ranks(2, program, options=["--log-dir", str(tmp_path / "logs"), "--rdzv-id=run", "-t", "1", "-r", "2"])
    assert "[default0]:out 0" in out and "[default1]:out 1" in out and "err" not in out
    folder = tmp_path / "logs" / "run" / "attempt_0" / "1"
    assert (folder / "stdout.log").read_text() == "out 1\n" and (folder / "stderr.log").read_text() == "err 1\n"
    assert ranks(2, program, options=["--local-ranks-filter=1"]).split() in (["out", "1", "err", "1"], ["err", "1", "out", "1"])


def test_two_machines(tmp_path):
    """Two launchers that share nothing but an address."""
    (tmp_path / "prog.py").write_text(
        SHOW + "import torch, torch.distributed as dist\ndist.init_process_group('gloo')\nx = torch.ones(1)\ndist.all_reduce(x)\nprint(f'sum {int(x)}\\n', end='', flush=True)\n"
    )
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    for static in (False, True):
        runs = []
        for node in range(2):
            place = [f"--node-rank={node}", "--master-addr=127.0.0.1", f"--master-port={port}"] if static else [f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-backend=c10d", "--rdzv-id=shared"]
            command = [sys.executable, "-m", "facula.distributed.run", "--nnodes=2", f"--nproc-per-node={node + 1}", *place, "prog.py"]
            runs.append(subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        outs = [r.communicate(timeout=60) for r in runs]
        assert [r.returncode for r in runs] == [0, 0], outs
        assert "".join(o for o, _ in outs).count("sum 3") == 3, outs
        assert len({line for o, _ in outs for line in re.findall(r"^\d \d 3 \d \d$", o, re.M)}) == 3, outs


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--nproc-per-node=0", "x.py"], "expected a number from 1"),
        (["--nproc-per-node=gpu", "x.py"], "no GPU"),
        (["--nnodes=0", "x.py"], "expected N or MIN:MAX"),
        (["--rdzv-backend=etcd", "x.py"], "static and c10d"),
        (["--rdzv-endpoint=here:port", "x.py"], "expected HOST:PORT"),
        (["--node-rank=2", "--nnodes=2", "x.py"], "none of 2 machines"),
        (["-t", "x", "x.py"], "expected 0 to 3"),
        ([], "required: training_script"),
    ],
)
def test_what_is_refused(arguments, text):
    out = subprocess.run([sys.executable, "-m", "facula.distributed.run", *arguments], capture_output=True, text=True, timeout=60)
    assert out.returncode and text in out.stderr, out


MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "-m", "facula", "run"]


@pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed")
def test_mpirun(tmp_path):
    (tmp_path / "prog.py").write_text("import torch, torch.distributed as dist\ndist.init_process_group('gloo')\nx = torch.ones(1)\ndist.all_reduce(x)\nprint(f'sum {int(x)} {dist.get_node_local_rank()}\\n', end='')\n")
    out = subprocess.run([*MPIRUN, "prog.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert sorted(out.stdout.split("\n"))[1:] == ["sum 2 0", "sum 2 1"], out


@pytest.mark.not_sanitized  # Open MPI is not
@pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed")
def test_the_engine_over_mpi():
    from facula import distributed

    if not distributed.is_mpi_available():
        pytest.skip("MPI was not found when Facula was built")
    program = os.path.join(os.path.dirname(__file__), "programs", "collectives.py")
    out = subprocess.run([*MPIRUN, program, "mpi"], capture_output=True, text=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert out.returncode == 0 and out.stdout.count("passed") == 2, out
