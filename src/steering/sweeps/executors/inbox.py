"""What a worker sends, put together from pieces: its owner never waits for the rest of a message.

A worker may be stopped in the middle of sending. `Connection.recv_bytes` would then wait for ever, and with it
everything else; here one call reads what has come and no more. A message is framed as `Connection.send_bytes` does it:
its length in four bytes, or -1 and its length in eight, the highest byte first.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

PIECE = 1 << 20
SHORT, LONG = struct.Struct("!i"), struct.Struct("!Q")


class Inbox:
    """Messages that come through a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._content = bytearray()

    def read(self) -> Iterator[bytes]:
        """Take what has come, and return the messages that are whole; EOFError when the other side is gone.

        To be called when the descriptor can be read.
        """
        piece = os.read(self._descriptor, PIECE)
        if not piece:
            raise EOFError
        self._content += piece
        return self._whole()

    def _whole(self) -> Iterator[bytes]:
        while len(self._content) >= SHORT.size:
            (length,), start = SHORT.unpack_from(self._content), SHORT.size
            if length == -1:
                if len(self._content) < start + LONG.size:
                    return
                (length,), start = LONG.unpack_from(self._content, start), start + LONG.size
            if len(self._content) < start + length:
                return
            message = bytes(self._content[start : start + length])
            del self._content[: start + length]
            yield message
