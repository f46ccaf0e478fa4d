"""Plain sockets: RESP bytes and MessagePack frames without a client library in between."""

import socket
import struct

import msgpack

from polling import PATIENCE_S


class Raw:
    """A TCP connection with a deadline on every read."""

    def __init__(self, address, timeout_s=PATIENCE_S):
        self.socket = socket.create_connection(address, timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def send_byte_by_byte(self, data):
        for at in range(len(data)):
            self.socket.sendall(data[at : at + 1])

    def read_exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            assert more, f"closed after {data!r}, {count - len(data)} bytes early"
            data += more
        return data

    def read_line(self):
        """Up to CRLF, without it."""
        line = b""
        while not line.endswith(b"\r\n"):
            line += self.read_exactly(1)
        return line[:-2]

    def read_to_end(self):
        """Everything until the server closes."""
        data = b""
        while True:
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                return data
            if not more:
                return data
            data += more

    def exchange(self, data, expected):
        """Sends, and reads exactly as much as is expected."""
        self.send(data)
        got = self.read_exactly(len(expected))
        assert got == expected, f"{got!r} instead of {expected!r}"


def resp(*words):
    """A RESP array of bulk strings."""
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def resp_integers(*numbers):
    """A RESP array of integers, as THROTTLE answers."""
    return b"*%d\r\n" % len(numbers) + b"".join(b":%d\r\n" % number for number in numbers)


def frame(value):
    """One MessagePack value with its length before it."""
    payload = msgpack.packb(value)
    return struct.pack(">I", len(payload)) + payload


def read_frame(raw):
    (length,) = struct.unpack(">I", raw.read_exactly(4))
    return msgpack.unpackb(raw.read_exactly(length))
