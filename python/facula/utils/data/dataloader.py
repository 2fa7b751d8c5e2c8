# SPDX-License-Identifier: Apache-2.0
"""The DataLoader and its two kinds of iterator: in this process, and over worker processes (_utils/worker.py)."""

import errno
import functools
import itertools
import math
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from typing import Generic, TypeVar

from facula import _C
from facula._utils import ExceptionWrapper
from facula.utils.data._utils import pipes, worker
from facula.utils.data._utils.collate import default_collate, default_convert
from facula.utils.data._utils.worker import get_worker_info
from facula.utils.data.dataset import IterableDataset
from facula.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, random_seed

__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert"]

_T_co = TypeVar("_T_co", covariant=True)


class _MapFetcher:
    """Called with a key, or the keys of a batch: what they lead to."""

    def __init__(self, auto_collation, collate_fn, drop_last, dataset):
        self.dataset, self.auto_collation, self.collate_fn = dataset, auto_collation, collate_fn

    def __call__(self, keys):
        if not self.auto_collation:
            data = self.dataset[keys]
        elif getattr(self.dataset, "__getitems__", None):
            data = self.dataset.__getitems__(keys)
        else:
            data = [self.dataset[k] for k in keys]
        return self.collate_fn(data)


class _IterableFetcher:
    """The next sample, or as many as there are keys. StopIteration: there are none."""

    def __init__(self, auto_collation, collate_fn, drop_last, dataset):
        self.auto_collation, self.collate_fn, self.drop_last = auto_collation, collate_fn, drop_last
        self.samples = iter(dataset)
        self.ended = False
        self.lock = threading.RLock()  # an iterator is one thread's at a time

    def _draw(self, keys):
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return next(self.samples)
        data = list(itertools.islice(self.samples, len(keys)))
        self.ended = len(data) < len(keys)
        if not data or (self.drop_last and self.ended):
            raise StopIteration
        return data

    def __call__(self, keys):
        with self.lock:
            data = self._draw(keys)
        return self.collate_fn(data)


class _DatasetKind:
    Map = 0
    Iterable = 1


class _Forever(Sampler):
    """The keys of a stream, which has none."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader(Generic[_T_co]):
    """Iterates over batches of a dataset: which samples says a sampler, how they become a batch collate_fn, and worker
    processes (num_workers > 0) make them ahead of time and hand them over in shared memory."""

    _FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")

    def __init__(
        self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
        pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *,
        prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True,
    ):  # fmt: skip
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        dataset = pipes.wrapped(dataset)
        self.num_workers, self.prefetch_factor = num_workers, 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout, self.worker_init_fn, self.in_order = timeout, worker_init_fn, in_order
        self.multiprocessing_context = multiprocessing_context
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            if pipes.is_stream(dataset):
                dataset, shuffle = pipes.set_shuffle(dataset, shuffle), None
            for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
        else:
            self._dataset_kind = _DatasetKind.Map
        self.dataset = dataset
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _Forever()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = batch_size, drop_last, sampler, batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called = None
        self._iterator = None
        self.check_worker_number_rationality()
        self._initialized = True

    def __setattr__(self, name, value):
        if name in self._FIXED and getattr(self, "_initialized", False):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    f"multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                valid = multiprocessing.get_all_start_methods()
                if context not in valid:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {valid!r}, but got multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start method, but got "
                    f"multiprocessing_context={context}"
                )
        self._context = context

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self):
        return _MultiProcessingDataLoaderIter(self) if self.num_workers else _SingleProcessDataLoaderIter(self)

    def __iter__(self):
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self):
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def check_worker_number_rationality(self):
        """Warns of more workers than processors."""
        processors = len(os.sched_getaffinity(0))
        if self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of worker in "
                f"current system is {processors}, which is smaller than what this DataLoader is going to create. Please be aware "
                "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid "
                "potential slowness/freeze if necessary.",
                stacklevel=3,
            )


class _BaseDataLoaderIter:
    """Any number of threads may ask one iterator for batches: each batch goes to one of them."""

    def __init__(self, loader):
        self._lock = threading.RLock()
        self._range = f"enumerate(DataLoader)#{type(self).__name__}.__next__"
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._persistent_workers = loader.persistent_workers
        self._timeout = loader.timeout
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.", stacklevel=4
            )
        fetcher = _IterableFetcher if self._dataset_kind == _DatasetKind.Iterable else _MapFetcher
        self._make_fetcher = functools.partial(fetcher, loader._auto_collation, loader.collate_fn, loader.drop_last)
        self._shared_seed = None
        self._share_seed(loader)
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = random_seed(loader.generator)
        self._num_yielded = 0

    def __iter__(self):
        return self

    def _share_seed(self, loader):
        """Streams that shuffle do so alike in all workers, by a seed that is drawn for every epoch."""
        if pipes.is_stream(self._dataset):
            self._shared_seed = random_seed(loader.generator)
            pipes.set_seed(self._dataset, self._shared_seed)

    def _reset(self, loader):
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._share_seed(loader)
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def __next__(self):
        with _C._Range(self._range, ""):
            data = self._next_data()
        with self._lock:
            self._num_yielded += 1
        promised = self._IterableDataset_len_called
        if promised is not None and self._dataset_kind == _DatasetKind.Iterable and self._num_yielded > promised:
            text = (
                f"Length of IterableDataset {self._dataset} was reported to be {promised}"
                f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
            )
            if self._num_workers > 0:
                text += "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at each worker."
            warnings.warn(text, stacklevel=2)
        return data

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._fetch = self._make_fetcher(self._dataset)

    def _next_data(self):
        with self._lock:
            keys = next(self._sampler_iter)
        return self._fetch(keys)


class _Worker:
    """A worker process as the main process sees it."""

    def __init__(self, context, iterator, number):
        self.number = number
        self.active = True  # has more to give in this epoch
        self.tasks = 0  # that it was given and whose results were not yet handed out
        theirs, self.sender = context.Pipe(duplex=False)
        self.receiver, answers = context.Pipe()
        worker._ends.update((self.sender, self.receiver))
        arguments = (
            iterator._dataset, iterator._make_fetcher, theirs, answers, iterator._base_seed, iterator._worker_init_fn, number,
            iterator._num_workers, iterator._shared_seed,
        )  # fmt: skip
        self.process = context.Process(target=worker.run, args=arguments, daemon=True)
        # Interrupted on its way to worker.run a fork would print a traceback of its own: it hears of it there.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if context.get_start_method() == "fork" else None
        try:
            self.process.start()
        except BaseException as error:
            if isinstance(error, (TypeError, AttributeError, pickle.PicklingError)):
                warnings.warn(
                    "Got pickle error when attempting to start a worker Process. This might be because the worker Process arguments are not "
                    "picklable. You can also try multiprocessing.set_start_method('fork').",
                    stacklevel=4,
                )
            self.close()
            raise
        finally:  # the worker's own; a pipe ends with the last holder of an end
            theirs.close()
            answers.close()
            if held is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, held)
        try:
            self.end = os.pidfd_open(self.process.pid)
        except OSError:  # no descriptor is left, or the system is older: the pipe's end has to tell
            pass

    end = None  # a descriptor that is ready when the process has ended, whoever else holds the worker's pipes
    gone = False  # it has ended

    def close(self):
        self.sender.close()
        self.receiver.close()
        self.forget_end()

    def forget_end(self):
        end, self.end = self.end, None
        if end is not None:
            os.close(end)

    def has_ended(self, seconds):
        """Waits for the end of the process. Not by join(), whose sentinel may be closed, or held by a child of the worker."""
        limit = time.monotonic() + seconds
        while self.process.exitcode is None and (left := limit - time.monotonic()) > 0:
            if self.end is not None:
                multiprocessing.connection.wait([self.end], left)
            else:
                time.sleep(min(left, 0.01))
        return self.process.exitcode is not None

    def send(self, task):
        try:
            self.sender.send(task)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it is dead, which its other pipe will tell

    def fate(self):
        """Why the process is no more."""
        if not self.has_ended(worker.PATIENCE):
            return f"DataLoader worker (pid {self.process.pid}) closed its connection to the main process."
        code = self.process.exitcode
        if code >= 0:
            return (
                f"DataLoader worker (pid {self.process.pid}) exited unexpectedly with exit code {code}. Details are lost due to "
                "multiprocessing. Rerunning with num_workers=0 may give better error trace."
            )
        hint = " It was perhaps out of memory." if code in (-signal.SIGBUS, -signal.SIGKILL) else ""
        return f"DataLoader worker (pid {self.process.pid}) is killed by signal: {signal.strsignal(-code)}.{hint}"


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Gives tasks to the workers in turn, prefetch_factor ahead for each, and hands out their results, in order if asked."""

    def __init__(self, loader):
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._prefetch_factor, self._in_order, self._worker_init_fn = loader.prefetch_factor, loader.in_order, loader.worker_init_fn
        self._pid = os.getpid()
        self._peers = []
        context = loader.multiprocessing_context or multiprocessing.get_context()
        try:
            for i in range(self._num_workers):
                self._peers.append(_Worker(context, self, i))
        except BaseException:
            self._shutdown_workers()
            raise
        self._share_seed(loader)  # not used, but drawn: PyTorch does, and what is drawn next should be the same
        self._begin()

    @property
    def _workers(self):
        return [w.process for w in self._peers]

    def _begin(self):
        self._sent = self._given = 0  # numbers of the next task, and of the next result to hand out
        self._pending = {}  # number of a task that was sent: its worker
        self._ready = {}  # number of a result that came too early: the result
        self._turn = itertools.cycle(self._peers)
        for w in self._peers:
            w.active, w.tasks = True, 0
        for _ in range(self._prefetch_factor * self._num_workers):
            self._send_task()

    def _reset(self, loader):
        super()._reset(loader)
        for w in self._peers:
            w.send((None, self._shared_seed))
        waiting = set(self._peers)
        while waiting:  # what is left of the epoch before arrives first
            w, (number, answer) = self._receive()
            if number is None:
                waiting.discard(w)
                if answer is not None:
                    answer.reraise()
        self._begin()

    def _send_task(self):
        try:
            keys = next(self._sampler_iter)
        except StopIteration:
            return
        share = self._prefetch_factor * self._num_workers // max(1, sum(w.active for w in self._peers))
        for w in itertools.islice(self._turn, self._num_workers):
            if w.active and (self._in_order or w.tasks < share):
                w.send((self._sent, keys))
                self._pending[self._sent] = w
                w.tasks += 1
                self._sent += 1
                return

    def _timed_out(self):
        return RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _wait_for(self, peers, until):
        """One of the workers, whose pipe can be read: there is something in it, or the worker has ended."""
        while True:
            if gone := next((w for w in peers if w.gone), None):
                return gone
            ends = {w.end: w for w in peers if w.end is not None}
            left = None if until is None else max(until - time.monotonic(), 0)
            there = multiprocessing.connection.wait([w.receiver for w in peers] + list(ends), left)
            for end in ends.keys() & there:  # what it has sent can be read, but nobody waits for more
                os.set_blocking(ends[end].receiver.fileno(), False)
                ends[end].forget_end()
                ends[end].gone = True
                there.remove(end)
            if there:
                return next(w for w in peers if w.receiver is there[0])
            if until is not None and time.monotonic() >= until:
                raise TimeoutError

    def _receive(self):
        """The next result of any worker."""
        end = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            open_peers = [w for w in self._peers if not w.receiver.closed]
            try:
                w = self._wait_for(open_peers, end)
            except TimeoutError:
                raise self._timed_out() from None
            try:
                return w, worker.receive(w.receiver, lambda w=w: self._wait_for([w], end))
            except TimeoutError:  # in the middle of a message, the rest of which nobody could tell from the next one
                w.receiver.close()
                w.active = False
                raise self._timed_out() from None
            except (EOFError, OSError, RuntimeError) as e:
                if getattr(e, "errno", None) == errno.EMFILE or "ancdata" in str(e):
                    raise RuntimeError(
                        "Too many open files. Communication with the workers is no longer possible. Please increase the limit using "
                        "`ulimit -n` in the shell or change the sharing strategy by calling "
                        "`torch.multiprocessing.set_sharing_strategy('file_system')` at the beginning of your code"
                    ) from None
                if isinstance(e, RuntimeError):  # of the data
                    raise
                w.receiver.close()
                if w.active:  # otherwise it ended because its stream did
                    w.active = False
                    raise RuntimeError(f"DataLoader worker (pid(s) {w.process.pid}) exited unexpectedly: {w.fate()}") from e

    def _next_data(self):
        with self._lock:
            return self._next_result()

    def _next_result(self):
        while True:
            while self._given < self._sent and self._given not in self._ready:
                w = self._pending.get(self._given)
                if w is not None and w.active:
                    break
                self._pending.pop(self._given, None)  # handed out before, or never to come: its worker's stream has ended
                self._given += 1
            if self._given >= self._sent:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if self._given in self._ready:
                self._given += 1
                return self._hand_out(self._given - 1, self._ready.pop(self._given - 1))
            w, (number, answer) = self._receive()
            if isinstance(answer, worker.Ended):
                w.active = False
                if not self._persistent_workers:
                    w.send(None)
                self._send_task()
            elif number == self._given or not self._in_order:
                self._given += number == self._given
                return self._hand_out(number, answer)
            else:
                self._ready[number] = answer

    def _hand_out(self, number, answer):
        self._pending.pop(number).tasks -= 1
        self._send_task()
        if isinstance(answer, ExceptionWrapper):
            answer.reraise()
        return answer

    def _shutdown_workers(self):
        if sys.is_finalizing() or os.getpid() != self._pid:  # multiprocessing ends them, or they are another process's
            return
        peers, self._peers = self._peers, []
        for w in peers:
            w.sender.close()
            w.receiver.close()
        end = time.monotonic() + worker.PATIENCE
        for w in peers:
            if not w.has_ended(end - time.monotonic()):
                w.process.kill()
                w.has_ended(worker.PATIENCE)
            w.forget_end()

    def __del__(self):
        if hasattr(self, "_peers"):
            self._shutdown_workers()
