# SPDX-License-Identifier: Apache-2.0
"""Runs one call and says what is wrong with how it ended. A crash or a hang is the parent's to see (workers.py)."""
import pickle
import re
import traceback
import warnings
from dataclasses import dataclass

from fuzz_operators.values import Alias, Items, Literal, Tensor, helpers

# What a caller may be told. RuntimeError includes OutOfMemoryError and NotImplementedError.
FIT = (RuntimeError, ValueError, TypeError, IndexError, OverflowError, BufferError)
AS_PYTORCH = {  # what PyTorch raises there
    ("torch.nn.functional.embedding", AssertionError), ("torch.nn.functional.multi_head_attention_forward", AssertionError),
    ("torch.save", AttributeError), ("torch.save", pickle.PicklingError), ("torch.load", AttributeError), ("torch.save", FileNotFoundError), ("torch.load", FileNotFoundError), ("torch.load", EOFError),
}  # fmt: skip
UNFIT_WORDS = re.compile(r"internal error|std::|vector::|basic_string|bad_alloc|should not happen|unknown error|map::at", re.I)


@dataclass
class Finding:
    kind: str      # crash, hang, exception, state, difference
    key: str       # equal keys are the same finding
    detail: str = ""


class Runner:
    """Runs calls in this process; one per child."""

    def __init__(self, torch):
        self.torch = torch
        self.names = {"torch": torch}
        self.sane = [1.0, 3.0, 5.0]
        self.state = self.snapshot()
        warnings.simplefilter("ignore")

    def snapshot(self):
        t = self.torch
        return (t.is_grad_enabled(), t.is_inference_mode_enabled(), t.get_num_threads(), t.get_default_dtype(), t.is_autocast_enabled("cpu"),
                str(t.get_default_device()), t.are_deterministic_algorithms_enabled())  # fmt: skip

    def run(self, call, name=""):
        """(how far it came: "made", "called", "used"; Finding or None)."""
        made, body, after = call.parts()
        names = dict(self.names)
        reached = "made"
        try:
            exec(compile(helpers(made + body + after) + "torch.manual_seed(1)\n" + made, "<arguments>", "exec"), names)
        except Exception as error:
            return "", self.fault(error, name, "arguments", call)
        try:
            exec(compile(body, "<call>", "exec"), names)
            reached = "called"
            self.touch(names["result"])
            exec(compile(after, "<after>", "exec"), names)
            reached = "used"
            found = None
        except BaseException as error:
            found = self.fault(error, name, reached, call)
            error.__traceback__ = None
        names.clear()
        return reached, found or self.broken(name)

    def touch(self, result):
        """Reads what came back: a view outside its memory shows here."""
        for r in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(r, self.torch.Tensor) and r.numel() <= 1 << 16 and r.device.type == "cpu":
                with self.torch.no_grad():
                    r.clone()

    def fault(self, error, name, reached, call):
        text = str(error)
        kind = type(error).__name__
        if kind == "Mischief" or isinstance(error, (*FIT, MemoryError)) and not UNFIT_WORDS.search(text):
            return None
        if not call.text.startswith("torch.ops.") and isinstance(error, AttributeError) and self.of_an_argument(text, call):
            return None
        if (name, type(error)) in AS_PYTORCH or isinstance(error, AssertionError) and "Torch not compiled with CUDA enabled" in text:
            return None
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "facula" in f.filename]
        where = f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].name}" if frames else name
        if isinstance(error, (NameError, SyntaxError, AttributeError, KeyError)) and not frames and reached == "arguments":
            return None  # the arguments themselves, not the call
        shape = re.sub(r"\d+", "N", re.sub(r"'\w+' object", "object", text))[:80]
        return Finding("exception", f"{kind} {where} {shape}", f"{kind}: {text[:300]}")

    def of_an_argument(self, text, call):
        """Whether an AttributeError speaks of an argument that is no tensor: PyTorch's functions in Python say the same."""
        if call.text.startswith("torch.Tensor.") and call.args and not isinstance(call.args[0], (Alias, Tensor)):
            return True  # a method of something else
        names = dict(self.names)
        exec(helpers("".join(call.parts())), names)
        lacking = {type(eval(v.text, names)).__name__ for v in call.values() if isinstance(v, Literal)}
        lacking |= {"list", "tuple", "List", "Size"} if any(isinstance(v, Items) for v in call.values()) else set()
        subject = re.match(r"(?:'([^']+)' object|type object '[^']+'|'property' object) has no attribute", text)
        return subject and (not subject[1] or subject[1].rsplit(".", 1)[-1] in lacking)

    def broken(self, name):
        """What the call left behind in the process."""
        t = self.torch
        state = self.snapshot()
        if state != self.state:
            return Finding("state", f"state {name}", f"{self.state} became {state}")
        x = t.ones(3).cumsum(0) * 2 - 1
        if x.tolist() != self.sane:
            return Finding("state", f"sanity {name}", f"2 * cumsum(ones(3)) - 1 gives {x.tolist()}")
        return None
