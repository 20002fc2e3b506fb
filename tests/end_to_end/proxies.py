"""Links between nodes that go through proxies of the test's, for machines that permit no network namespaces: a node listens
at `listen[name]` and is reached at `address[name]`, where its proxy holds back or resets what others send. The interface is
that of network.Network. Needs a data lane over TLS, whose addresses name a host."""
import asyncio
import os
import socket
import struct
import threading
from pathlib import Path

PIECE = 64 << 10


class ProxyNetwork:
    """A context manager. `pids` gives the processes of the nodes, by name: a connection belongs to the node that opened it."""

    def __init__(self, names, ports):
        self.address = {name: f"127.0.2.{10 + i}" for i, name in enumerate(names)}
        self.listen = {name: f"127.0.1.{10 + i}" for i, name in enumerate(names)}
        self.ports = ports
        self.pids = dict
        self.rules = set()  # (sender, receiver) whose bytes are held back
        self.open = {}  # the two writers of a connection -> (dialling node, dialled node)
        self.loop = asyncio.new_event_loop()
        self.changed = asyncio.Event()

    def __enter__(self):
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self._call(self._serve())
        return self

    def __exit__(self, *failure):
        self.loop.call_soon_threadsafe(self.loop.stop)

    def inside(self, name):
        return []

    def partition(self, pairs):
        """Holds back the bytes of (sender, receiver) pairs; returns what `heal` takes."""
        added = set(pairs) - self.rules
        self._call(self._set(self.rules | added))
        return added

    def cut(self, a, b, seconds=0.4):
        """Resets every connection between two nodes, also those that are opened meanwhile."""
        self._call(self._reset({a, b}, seconds))

    def heal(self, rules):
        self._call(self._set(self.rules - rules))

    # ---- in the loop's thread ----

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    async def _set(self, rules):
        self.rules = rules
        self.changed.set()
        self.changed = asyncio.Event()

    async def _reset(self, pair, seconds):
        end = self.loop.time() + seconds
        while self.loop.time() < end:
            for writers, between in list(self.open.items()):
                if set(between) == pair:
                    for w in writers:
                        w.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        w.transport.abort()
            await asyncio.sleep(0.02)

    async def _serve(self):
        for name, address in self.address.items():
            for port in self.ports:
                await asyncio.start_server(lambda r, w, name=name, port=port: self._link(name, port, r, w), address, port)

    async def _link(self, name, port, reader, writer):
        sender = await self.loop.run_in_executor(None, self._owner, writer.get_extra_info("peername"))
        try:
            while (sender, name) in self.rules or (name, sender) in self.rules:  # no connection is established
                await self.changed.wait()
            to_reader, to_writer = await asyncio.open_connection(self.listen[name], port)
        except OSError:
            writer.transport.abort()
            return
        writers = (writer, to_writer)
        self.open[writers] = (sender, name)
        try:
            await asyncio.gather(self._forward(sender, name, reader, to_writer), self._forward(name, sender, to_reader, writer))
        except OSError:
            pass
        finally:
            del self.open[writers]
            for w in writers:
                w.transport.abort()

    async def _forward(self, sender, receiver, reader, writer):
        while piece := await reader.read(PIECE):
            while (sender, receiver) in self.rules:
                await self.changed.wait()
            writer.write(piece)
            await writer.drain()
        writer.write_eof()

    def _owner(self, peer):
        """The node whose process has the socket with this address; empty: another process."""
        address, port = peer
        here = f"{int.from_bytes(socket.inet_aton(address), 'little'):08X}:{port:04X}"
        fields = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
        inode = next((f[9] for f in fields if f[1] == here and f[9] != "0"), None)
        for name, pid in self.pids().items():
            try:
                if any(os.readlink(f"/proc/{pid}/fd/{fd}") == f"socket:[{inode}]" for fd in os.listdir(f"/proc/{pid}/fd")):
                    return name
            except OSError:
                continue
        return ""
