# SPDX-License-Identifier: Apache-2.0
"""The worker processes of a DataLoader.

Every worker has two pipes of its own and shares no lock with anybody. Tasks come through one; a thread reads them at
once, so that the main process never waits for a busy worker, and learns from its end that the main process has no more
use for the worker or is dead. Results leave through the other, a socket: their tensors lie in shared memory, whose
descriptors go along with the message. What is under way when either side ends, the kernel frees.
"""

import collections
import errno
import importlib.abc
import importlib.util
import io
import os
import pickle
import queue
import random
import signal
import socket
import sys
import threading
import traceback  # here, since a worker without a free descriptor could not import it when it fails
import weakref
from multiprocessing import reduction

import facula as torch
from facula import _C
from facula._utils import ExceptionWrapper
from facula.utils.data._utils import pipes

PATIENCE = 5.0  # seconds that a worker has to end before it is killed
_FDS_PER_MESSAGE = 200  # Linux sends at most 253

WorkerInfo = collections.namedtuple("WorkerInfo", ["id", "num_workers", "seed", "dataset"])
WorkerInfo.__doc__ = "What a worker process knows of itself."
_worker_info = None
_ends = weakref.WeakSet()  # the main process's ends of all pipes, which forked workers must not keep open


def get_worker_info():
    """In a worker process its WorkerInfo (id, num_workers, seed, dataset), elsewhere None."""
    return _worker_info


class Ended:
    """A worker's answer when its IterableDataset is exhausted."""


class _Pickler(reduction.ForkingPickler):
    """Collects the descriptors of the tensors' shared memory instead of sending each by a connection of its own."""

    def __init__(self, buffer):
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self.descriptors, self.numbers, self.kept = [], {}, []

    def reducer_override(self, o):
        if not isinstance(o, torch.Tensor) or o.device.type != "cpu" or type(o).__reduce_ex__ is not torch.Tensor.__reduce_ex__:
            return NotImplemented
        from facula.multiprocessing import get_sharing_strategy, reductions

        made = reductions.reduce_tensor(o)
        nbytes = o._storage_bytes()
        if get_sharing_strategy() != "file_descriptor" or nbytes == 0 or _C._has_shared_name(o):
            return made
        number = self.numbers.get(o._storage_id())
        if number is None:
            number = self.numbers[o._storage_id()] = len(self.descriptors)
            self.descriptors.append(_C._shared_descriptor(o))
            self.kept.append(o)  # and with it the descriptor
        rebuild, (cls, _, *rest), state = made
        return _rebuild, (cls, number, nbytes, *rest), state


_arriving = threading.local()  # the descriptors of the message that is read, then what they lead to


def _rebuild(cls, number, nbytes, *rest):
    from facula.multiprocessing import reductions
    from facula.storage import UntypedStorage

    found = _arriving.storages.get(number)
    if found is None:
        found = _arriving.storages[number] = UntypedStorage(_C._map_descriptor(_arriving.descriptors[number], nbytes, False))
    return reductions.rebuild_tensor(cls, found, *rest)


def pack(o):
    """The message for o: bytes, descriptors, and what keeps these open."""
    buffer = io.BytesIO(bytes(4))
    buffer.seek(4)
    pickler = _Pickler(buffer)
    pickler.dump(o)
    data = buffer.getbuffer()
    data[:4] = len(pickler.descriptors).to_bytes(4, "little")
    return data, pickler.descriptors, pickler.kept


def send(connection, message):
    data, descriptors, _ = message
    connection.send_bytes(data)
    if descriptors:
        with socket.socket(fileno=os.dup(connection.fileno())) as s:
            for i in range(0, len(descriptors), _FDS_PER_MESSAGE):
                reduction.sendfds(s, descriptors[i : i + _FDS_PER_MESSAGE])


def _exactly(connection, n, ready):
    data = memoryview(bytearray(n))
    at = 0
    while at < n:
        ready()
        got = os.readv(connection.fileno(), [data[at:]])
        if got == 0:
            raise EOFError
        at += got
    return data


def receive(connection, ready):
    """The next object. ready() is called before each read, which may be in the middle of a message: it comes back when there is
    something to read, and raises what is to be raised otherwise. EOFError: the other side has ended."""
    n = int.from_bytes(_exactly(connection, 4, ready), "big", signed=True)  # as Connection.send_bytes writes it
    if n < 0:
        n = int.from_bytes(_exactly(connection, 8, ready), "big")
    data = _exactly(connection, n, ready)
    count = int.from_bytes(data[:4], "little")
    descriptors = []
    try:
        if count:
            with socket.socket(fileno=os.dup(connection.fileno())) as s:
                while len(descriptors) < count:
                    ready()
                    descriptors += reduction.recvfds(s, min(count - len(descriptors), _FDS_PER_MESSAGE))
        _arriving.descriptors, _arriving.storages = descriptors, {}
        return pickle.loads(data[4:])
    finally:
        _arriving.descriptors = _arriving.storages = None
        for fd in descriptors:
            os.close(fd)


def _generate_state(base_seed, worker_id):
    """Words for numpy.random.seed that no other worker and no other generator gets: NumPy's SeedSequence, whose algorithm
    (O'Neill's seed_seq alternative) is written out here because PyTorch's workers use it whether or not NumPy has it."""
    mask, shift = 0xFFFFFFFF, 16
    factor = 0x43B0D7E5

    def hashed(value, multiplier):
        nonlocal factor
        value ^= factor
        factor = factor * multiplier & mask
        value = value * factor & mask
        return value ^ value >> shift

    pool = [hashed(word & mask, 0x931E8875) for word in (worker_id, base_seed, base_seed >> 32, 0)]
    for source in range(4):
        for target in range(4):
            if source != target:
                mixed = 0xCA01F9DD * pool[target] - 0x4973F715 * hashed(pool[source], 0x931E8875) & mask
                pool[target] = mixed ^ mixed >> shift
    factor = 0x8B51F9DD
    return [hashed(word, 0x58F38DED) for word in pool]


def _seed_numpy(words):
    """Seeds NumPy's generator: now, or when the dataset imports it, which takes longer than to start a worker."""
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(words)
        return

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path=None, target=None):
            if name != "numpy.random":
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            execute = spec.loader.exec_module

            def execute_and_seed(module):
                execute(module)
                module.seed(words)

            spec.loader.exec_module = execute_and_seed
            return spec

    sys.meta_path.insert(0, Finder())


class _Outbox(threading.Thread):
    """Sends results, so that the worker goes on while a large one waits for the main process."""

    def __init__(self, connection):
        super().__init__(daemon=True)
        self.connection, self.messages = connection, queue.SimpleQueue()

    def run(self):
        while (message := self.messages.get()) is not None:
            try:
                send(self.connection, message)
            except OSError as error:
                if error.errno == errno.EBADF:  # the program closed what it had not opened: nobody would ever hear of this worker
                    traceback.print_exc()
                    os._exit(1)
                return  # nobody reads any more

    def finish(self):
        self.messages.put(None)
        self.join()


class _Inbox(threading.Thread):
    """Reads tasks as they come; None is the last. `over`: the main process wants nothing more, or is dead."""

    def __init__(self, connection):
        super().__init__(daemon=True)
        self.connection, self.tasks, self.over = connection, queue.SimpleQueue(), threading.Event()

    def run(self):
        try:
            while (task := self.connection.recv()) is not None:
                self.tasks.put(task)
            self.tasks.put(None)
        except (EOFError, OSError):
            self.over.set()
            self.tasks.put(None)
            threading.Event().wait(2 * PATIENCE)  # for the batch that is being made; a dead main process kills nobody
            os._exit(1)


def run(dataset, make_fetcher, tasks, results, base_seed, init_fn, worker_id, num_workers, shared_seed):
    """The main function of a worker. A task is a number and keys; None and a seed for streams begin another epoch."""
    global _worker_info
    for end in list(_ends):
        end.close()
    inbox, outbox = _Inbox(tasks), _Outbox(results)
    inbox.start()
    outbox.start()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        torch.set_num_threads(1)
        seed = base_seed + worker_id
        random.seed(seed)
        torch.manual_seed(seed)
        _seed_numpy(_generate_state(base_seed, worker_id))
        _worker_info = WorkerInfo(worker_id, num_workers, seed, dataset)
        where = f"in DataLoader worker process {worker_id}"
        error = fetch = None
        try:
            if shared_seed is not None:
                pipes.set_seed(dataset, shared_seed)
                pipes.share(dataset, num_workers, worker_id)
            if init_fn is not None:
                init_fn(worker_id)
            fetch = make_fetcher(dataset)
        except Exception:
            error = ExceptionWrapper(where=where)
        ended = False
        while (task := inbox.tasks.get()) is not None:
            number, keys = task
            if inbox.over.is_set() or (number is not None and ended):
                continue
            try:
                if number is None:
                    if keys is not None:
                        pipes.set_seed(dataset, keys)
                    ended, answer, fetch = False, None, make_fetcher(dataset)
                elif error is not None:
                    answer, error = error, None
                else:
                    answer = fetch(keys)
            except Exception as e:
                ended = isinstance(e, StopIteration) and isinstance(dataset, torch.utils.data.IterableDataset)
                answer = Ended() if ended else ExceptionWrapper(where=where)
            try:
                message = pack((number, answer))
            except Exception:
                message = pack((number, ExceptionWrapper(where=where)))
            outbox.messages.put(message)
            del task, keys, answer, message
    except KeyboardInterrupt:
        pass  # the main process hears of it, too
    finally:
        _worker_info = None
        outbox.finish()
