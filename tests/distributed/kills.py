# SPDX-License-Identifier: Apache-2.0
"""A rank of a training that saves checkpoints is killed at a random moment: the others end within ten seconds, the launcher says
whose exit was first, nothing is left running, and the checkpoint is one step's, whole. `kills.py COUNT SEED FOLDER` (make
test-kills); the tests run a few."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

PROGRAM = pathlib.Path(__file__).parent / "programs" / "killed_training.py"
LIMIT = 10.0  # seconds from a rank's death to the end of the others


def _running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def check(folder: str, size: int) -> int | None:
    """The step of the checkpoint, if there is one; an error if it is not whole."""
    import facula as torch
    from facula.distributed import checkpoint as dcp
    from facula.distributed.checkpoint._index import INDEX

    if not os.path.exists(os.path.join(folder, INDEX)):
        return None
    state = {f"mark{i}": torch.zeros(size * 100, 3) for i in range(3)} | {"step": -1, "model": {"0.weight": torch.zeros(64, 8)}}
    dcp.load(state, checkpoint_id=folder, no_dist=True)
    assert all((state[f"mark{i}"] == state["step"]).all() for i in range(3)), state
    assert state["model"]["0.weight"].isfinite().all()
    return state["step"]


def kill_once(draws: random.Random, folder: str, size: int = 2, limit: float | None = None) -> tuple[int | None, float]:
    """(step of the checkpoint that was left, seconds from the kill to the launcher's end). A process that waits for a disk ends
    when the disk answers, so a limit is for folders in memory."""
    command = [sys.executable, "-m", "facula.distributed.run", "--standalone", f"--nproc-per-node={size}", str(PROGRAM), folder]
    launcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    pids: dict[int, int] = {}
    try:
        said = []
        while len(pids) < size:
            line = launcher.stdout.readline()
            assert line, "".join(said)
            said.append(line)
            if line.startswith("started"):
                pids[int(line.split()[1])] = int(line.split()[2])
        victim = draws.randrange(size)
        time.sleep(draws.uniform(0.0, 0.4))
        os.kill(pids[victim], signal.SIGKILL)
        begin = time.monotonic()
        rest, _ = launcher.communicate(timeout=60)
        took = time.monotonic() - begin
    finally:
        if launcher.poll() is None:
            launcher.kill()
            launcher.communicate()
    text = "".join(said) + rest
    assert launcher.returncode != 0, text
    assert f"rank {victim} " in text and "it was the first" in text, text
    assert limit is None or took < limit, (took, text)
    assert not any(map(_running, pids.values())), text
    return check(folder, size), took


def main() -> None:
    count, seed, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    draws, longest, steps = random.Random(seed), 0.0, []
    for i in range(count):
        size = draws.choice((2, 2, 3))
        step, took = kill_once(draws, f"{folder}/{size}", size, LIMIT)
        longest = max(longest, took)
        steps.append(step)
        print(f"\r{i + 1} of {count} kills, longest end of the others {longest:.1f} s", end="", flush=True)
    print(f"\n{count} kills passed; {sum(s is not None for s in steps)} left a checkpoint")


if __name__ == "__main__":
    main()
