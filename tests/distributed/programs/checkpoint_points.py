# SPDX-License-Identifier: Apache-2.0
"""A process that saves over a checkpoint is killed at one line after another of what saving executes: the old checkpoint is
there, or the new one, whole. Arguments: a folder, and how many lines to leave out between two."""
import os
import signal
import sys

import torch
import torch.distributed.checkpoint as dcp

folder, stride = sys.argv[1], int(sys.argv[2])
KEYS = ("a", "b", "c")
HERE = (os.path.dirname(dcp.__file__), "serialization.py")


def save(generation):
    dcp.save({k: torch.full((3000,), float(generation)) for k in KEYS} | {"generation": generation}, checkpoint_id=folder, no_dist=True)


def killed_at(point, generation):
    """Saves in another process, which ends at the line of that number; whether it came to its end before."""
    if (child := os.fork()) == 0:
        left = [point]

        def trace(frame, event, arg):
            if not frame.f_code.co_filename.startswith(HERE[0]) and not frame.f_code.co_filename.endswith(HERE[1]):
                return None
            if event == "line":
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        save(generation)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


save(0)
now, point, new, done = 0, 1, 0, False
while not done:
    done = killed_at(point, now + 1)
    state = {k: torch.zeros(3000) for k in KEYS} | {"generation": -1}
    dcp.load(state, checkpoint_id=folder, no_dist=True)
    assert state["generation"] in (now, now + 1), (point, state["generation"], now)
    assert all((state[k] == state["generation"]).all() for k in KEYS), (point, state)
    new += state["generation"] == now + 1
    now, point = state["generation"], point + stride
assert new >= 1 and now == new
save(now + 1)
assert len([f for f in os.listdir(folder) if f.endswith(".safetensors")]) == 1, os.listdir(folder)
print(f"killed at {point // stride} points, {new} of them after the new checkpoint was there: passed")
