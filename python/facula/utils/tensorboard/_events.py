# SPDX-License-Identifier: Apache-2.0
"""Event files as TensorBoard reads them: TFRecords, each with a CRC-32C, of `Event` messages in protobuf's wire format."""

import os
import socket
import struct
import threading
import time

_POLYNOMIAL = 0x82F63B78  # CRC-32C, bits reversed
_TABLE = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (_POLYNOMIAL if _n & 1 else 0)
    _TABLE.append(_n)


def crc32c(data):
    """Castagnoli's CRC of bytes."""
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc(data):
    """The CRC as TFRecords keep it: turned and shifted, so that the CRC of data with CRCs in it is none of them."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    """One record: length, its CRC, data, its CRC."""
    length = struct.pack("<Q", len(data))
    return b"".join((length, struct.pack("<I", masked_crc(length)), data, struct.pack("<I", masked_crc(data))))


# --- protobuf's wire format: a field is its number and kind, then its value ------------------------------------------


def _varint(n):
    n &= 0xFFFFFFFFFFFFFFFF  # negative numbers take ten bytes
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def integer(field, value):
    return _varint(field << 3) + _varint(int(value))


def double(field, value):
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def packed_single(value):
    try:
        return struct.pack("<f", value)
    except OverflowError:  # beyond float32
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def single(field, value):
    return _varint(field << 3 | 5) + packed_single(value)


def message(field, *parts):
    """A message, string or bytes as a field."""
    body = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def doubles(field, values):
    return message(field, struct.pack(f"<{len(values)}d", *values))


def integers(field, values):
    return message(field, *map(_varint, map(int, values))) if len(values) else b""


class EventFile:
    """Appends events to a file of its own in a folder; safe for threads. Written out when the queue is full or flushed."""

    def __init__(self, folder, max_queue=10, flush_secs=120, filename_suffix=""):
        os.makedirs(folder, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{filename_suffix}"
        self.path = os.path.join(folder, name)
        self._file = open(self.path, "ab")  # noqa: SIM115 -- closed by close()
        self._lock = threading.Lock()
        self._waiting, self._max_queue, self._flush_secs, self._flushed = 0, max_queue, flush_secs, time.monotonic()
        self.add(message(3, "brain.Event:2"))
        self.flush()

    def add(self, what, step=None, walltime=None):
        """An event with what is in it, a field of Event."""
        event = double(1, time.time() if walltime is None else walltime) + (b"" if step is None else integer(2, step)) + what
        with self._lock:
            if self._file.closed:
                raise ValueError(f"{self.path} is closed")
            self._file.write(record(event))
            self._waiting += 1
            if self._waiting > self._max_queue or time.monotonic() - self._flushed > self._flush_secs:
                self._flush()

    def _flush(self):
        self._file.flush()
        self._waiting, self._flushed = 0, time.monotonic()

    def flush(self):
        with self._lock:
            if not self._file.closed:
                self._flush()

    def close(self):
        with self._lock:
            self._file.close()


_numbers = iter(range(1 << 62))
