# SPDX-License-Identifier: Apache-2.0
"""Engines written in Python: a class that moves tensors between processes, registered by Backend.register_backend.

`make(store, rank, size, timeout)` returns an object whose methods are called on one thread, in the order of the program's
calls, with contiguous tensors on the CPU that they fill in place:

    all_reduce(tensor, op)    broadcast(tensor, root)    all_gather(outputs, tensor)
    send(tensor, to, tag)     recv(tensor, source, tag) -> rank

`op` is a ReduceOp. barrier(), reduce, reduce_scatter, all_to_all and close() are used where they exist, else made of these.
"""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

import facula
from facula.distributed._engine import DistBackendError
from facula.distributed._group import ReduceOp


class PythonWork:
    """A call that runs on the engine's thread."""

    def __init__(self, future: Future) -> None:
        self._future = future

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        seconds = timeout.total_seconds() or None
        try:
            self._future.result(seconds)
        except TimeoutError:
            raise DistBackendError(f"the call has not ended within {timeout}") from None
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        return self._future.done()

    def is_success(self) -> bool:
        return self._future.done() and self._future.exception() is None

    def exception(self) -> BaseException | None:
        return self._future.exception() if self._future.done() else None

    def _source_rank(self) -> int:
        return self._future.result()

    source_rank = _source_rank

    def _then(self, callback: Callable) -> None:
        self._future.add_done_callback(lambda _: callback())

    def get_future(self):
        from facula.distributed._engine import _get_future

        return _get_future(self)


def _in_place(tensors: list, run: Callable, writes: bool = True):
    """Calls run with contiguous tensors on the CPU, and copies what it wrote back."""
    flat = [t.detach().cpu().contiguous() for t in tensors]
    result = run(flat)
    with facula.no_grad():
        for t, f in zip(tensors, flat, strict=True) if writes else ():
            if f.data_ptr() != t.data_ptr():
                t.detach().copy_(f)
            else:
                facula.autograd.graph.increment_version(t)
    return result


class PythonGroup:
    """A Python engine with the interface that C++ groups have."""

    def __init__(self, name: str, engine: object, rank: int, size: int, timeout: timedelta) -> None:
        self.name, self.engine, self.rank, self.size, self.timeout = name, engine, rank, size, timeout
        self.sequence, self._failure = 0, None
        self._calls: deque = deque(maxlen=64)
        self._thread = ThreadPoolExecutor(1, f"torch.distributed {name}")

    def set_timeout(self, timeout: timedelta) -> None:
        self.timeout = timeout

    def last_calls(self) -> list[dict]:
        return [dict(c) for c in self._calls]

    def _begin(self, op: str, tensors: list, run: Callable) -> PythonWork:
        if self._failure is not None:
            raise DistBackendError(self._failure)
        self.sequence += 1
        call = {
            "sequence": self.sequence, "op": op, "dtype": str(tensors[0].dtype) if tensors else "",
            "count": sum(t.numel() for t in tensors), "state": "scheduled", "begun_us": time.time_ns() // 1000,
        }  # fmt: skip
        self._calls.append(call)

        def carry_out():
            if self._failure is not None:
                raise DistBackendError(self._failure)
            call["state"] = "started"
            try:
                result = run()
            except Exception as e:
                call["state"] = "failed"
                self._failure = f"group '{self.name}': {op}: {type(e).__name__}: {e}"
                raise DistBackendError(self._failure) from e
            call["state"], call["ended_us"] = "completed", time.time_ns() // 1000
            return result

        return PythonWork(self._thread.submit(carry_out))

    def _reduce_op(self, op: int) -> ReduceOp:
        return ReduceOp.RedOpType(op)

    def _all_reduce(self, flat: facula.Tensor, op: int) -> None:
        average = op == int(ReduceOp.AVG)
        self.engine.all_reduce(flat, ReduceOp.SUM if average else self._reduce_op(op))
        if average:
            flat.div_(self.size)

    def all_reduce(self, tensors, op, timeout):
        return self._begin("all_reduce", tensors, lambda: _in_place(tensors, lambda flat: [self._all_reduce(f, op) for f in flat]))

    def reduce(self, tensor, root, op, timeout):
        def run():
            copy = tensor.detach().cpu().clone(memory_format=facula.contiguous_format)
            self._all_reduce(copy, op)
            if root == self.rank:
                with facula.no_grad():
                    tensor.detach().copy_(copy)

        return self._begin("reduce", [tensor], run)

    def broadcast(self, tensors, root, timeout):
        return self._begin("broadcast", tensors, lambda: _in_place(tensors, lambda flat: [self.engine.broadcast(f, root) for f in flat]))

    def _gathered(self, tensor: facula.Tensor) -> list[facula.Tensor]:
        flat = tensor.detach().cpu().contiguous()
        outs = [facula.empty_like(flat) for _ in range(self.size)]
        self.engine.all_gather(outs, flat)
        return outs

    def all_gather(self, outputs, tensor, timeout):
        def run():
            parts = self._gathered(tensor)
            with facula.no_grad():
                if len(outputs) == 1 and self.size != 1:
                    outputs[0].detach().copy_(facula.cat([p.reshape(-1) for p in parts]).view(outputs[0].shape))
                else:
                    for o, p in zip(outputs, parts, strict=True):
                        o.detach().copy_(p.view(o.shape))

        return self._begin("all_gather", [tensor], run)

    def gather(self, outputs, tensor, root, timeout):
        def run():
            for o, p in zip(outputs, self._gathered(tensor), strict=bool(outputs)):
                o.detach().copy_(p.view(o.shape))

        return self._begin("gather", [tensor], run)

    def scatter(self, output, inputs, root, timeout):
        def run():
            flat = output.detach().cpu().contiguous()
            all_ = facula.stack([i.detach().cpu() for i in inputs]) if inputs else facula.empty(self.size, *flat.shape, dtype=flat.dtype)
            self.engine.broadcast(all_, root)
            output.detach().copy_(all_[self.rank])

        return self._begin("scatter", [output], run)

    def reduce_scatter(self, output, inputs, op, timeout):
        def run():
            parts = inputs if len(inputs) > 1 or self.size == 1 else inputs[0].reshape(self.size, -1).unbind()
            whole = facula.cat([p.detach().cpu().reshape(-1) for p in parts])
            self._all_reduce(whole, op)
            mine = whole.split([p.numel() for p in parts])[self.rank]
            output.detach().copy_(mine.view(output.shape))

        return self._begin("reduce_scatter", inputs, run)

    def all_to_all(self, outputs, inputs, timeout):
        def run():
            sizes = self._gathered(facula.tensor([i.numel() for i in inputs]))
            longest = max(int(s.sum()) for s in sizes)
            mine = facula.zeros(longest, dtype=inputs[0].dtype)
            flat = facula.cat([i.detach().cpu().reshape(-1) for i in inputs])
            mine[: flat.numel()] = flat
            for source, all_ in enumerate(self._gathered(mine)):
                begin = int(sizes[source][: self.rank].sum())
                outputs[source].detach().copy_(all_[begin : begin + outputs[source].numel()].view(outputs[source].shape))

        return self._begin("all_to_all", inputs, run)

    def all_to_all_single(self, output, tensor, output_rows, input_rows, timeout):
        def parts(t, rows):
            return list(t.split(rows or [t.shape[0] // self.size] * self.size))

        return self.all_to_all(parts(output, output_rows), parts(tensor, input_rows), timeout)

    def barrier(self, timeout):
        own = getattr(self.engine, "barrier", None)
        return self._begin("barrier", [], own or (lambda: self._all_reduce(facula.zeros(1), int(ReduceOp.SUM))))

    def send(self, tensor, to, tag, timeout):
        return self._begin("send", [tensor], lambda: _in_place([tensor], lambda flat: self.engine.send(flat[0], to, tag), False))

    def recv(self, tensor, source, tag, timeout):
        return self._begin("recv", [tensor], lambda: _in_place([tensor], lambda flat: self.engine.recv(flat[0], source, tag)))

    def abort(self, why: str) -> None:
        self._failure = self._failure or why
        self._close()

    def shutdown(self) -> None:
        self._thread.shutdown()
        self._failure = self._failure or f"group '{self.name}' was destroyed"
        self._close()

    def _close(self) -> None:
        engine, self.engine = self.engine, None
        if hasattr(engine, "close"):
            engine.close()
