#!/usr/bin/python3
"""A TCP proxy that fails as it is told: between nodes and members of etcd.

  proxy.py '{"seed": 7, "links": [{"link": "h1-e1", "ns": "/run/netns/h1", "listen": ["127.0.0.1", 30001],
                                   "target": ["10.77.0.11", 2379]}]}'

Each link listens, and connects, in its own network namespace (none: this process's). Commands come as JSON lines, each
answered by one: {"links": ["h1-e1"], "mode": "delay", "ms": 200}. A link's answer counts what its modes hit.

  pass        what was held goes on; connections that lost bytes are reset
  hold_up     requests stay here, replies pass: a cut in one direction
  hold_down   the other direction
  hold        both: a black hole with its connections alive
  lose_down   requests pass, replies are lost: writes of unknown outcome. Their connections are reset at the end
  half_open   the far side is reset, the near side hears nothing, nor do new connections
  refuse      connections are reset, new ones too
  delay       each read is passed on after ms, half to one and a half times, in order
"""
import asyncio
import contextlib
import ctypes
import json
import os
import random
import socket
import sys

CLONE_NEWNET = 0x40000000
CHUNK = 65536
MODES = ("pass", "hold_up", "hold_down", "hold", "lose_down", "half_open", "refuse", "delay")


@contextlib.contextmanager
def namespace(path):
    """This thread's sockets are made there."""
    if not path:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    home, there = os.open("/proc/thread-self/ns/net", os.O_RDONLY), os.open(path, os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {path}")
        yield
    finally:
        libc.setns(home, CLONE_NEWNET)
        os.close(home)
        os.close(there)


class Connection:
    def __init__(self, near, far):
        self.near, self.far = near, far
        self.lost = False

    def abort(self):
        for writer in (self.near, self.far):
            writer.transport.abort()


class Link:
    def __init__(self, options, seed):
        self.name, self.ns = options["link"], options.get("ns")
        self.listen, self.target = tuple(options["listen"]), tuple(options["target"])
        self.random = random.Random(f"{seed} {self.name}")
        self.mode, self.ms, self.hits = "pass", 0, 0
        self.changed = asyncio.Event()
        self.connections = set()

    async def open(self):
        with namespace(self.ns):
            server = socket.create_server(self.listen)
        await asyncio.start_server(self.serve, sock=server)

    def set(self, mode, ms):
        self.mode, self.ms = mode, ms
        self.changed.set()
        self.changed = asyncio.Event()
        for connection in list(self.connections):
            if mode == "pass" and connection.lost:
                connection.abort()
            elif mode in ("refuse", "half_open"):
                self.strike(connection)

    def strike(self, connection):
        self.hits += 1
        if self.mode == "refuse":
            connection.abort()
        else:
            connection.lost = True
            connection.far.transport.abort()

    async def connect(self):
        with namespace(self.ns):
            far = socket.socket()
        far.setblocking(False)
        await asyncio.get_running_loop().sock_connect(far, self.target)
        return await asyncio.open_connection(sock=far)

    async def serve(self, reader, writer):
        while self.mode in ("half_open", "hold", "hold_up", "hold_down"):
            self.hits += 1
            await self.changed.wait()
        try:
            if self.mode == "refuse":
                self.hits += 1
                raise ConnectionError
            far_reader, far_writer = await self.connect()
        except OSError:
            writer.transport.abort()
            return
        connection = Connection(writer, far_writer)
        self.connections.add(connection)
        if self.mode in ("refuse", "half_open"):  # the mode changed while this was connecting
            self.strike(connection)
        try:
            await asyncio.gather(self.pump(connection, reader, far_writer, "up"),
                                 self.pump(connection, far_reader, writer, "down"))
        finally:
            self.connections.discard(connection)
            connection.abort()

    async def pump(self, connection, reader, writer, direction):
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                if self.mode == "delay":
                    self.hits += 1
                    await asyncio.sleep(self.ms / 1000 * self.random.uniform(0.5, 1.5))
                while self.mode in ("hold", f"hold_{direction}"):
                    self.hits += 1
                    await self.changed.wait()
                if self.mode == f"lose_{direction}" or connection.lost:
                    self.hits += 1
                    connection.lost = True
                    continue
                writer.write(data)
                await writer.drain()
        if self.mode == "half_open" and connection.lost:
            while self.mode == "half_open":
                await self.changed.wait()
            connection.abort()
            return
        with contextlib.suppress(OSError, RuntimeError):
            writer.close()


async def main(options):
    links = {each["link"]: Link(each, options["seed"]) for each in options["links"]}
    for link in links.values():
        await link.open()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print(json.dumps({"links": sorted(links)}), flush=True)
    while line := await reader.readline():
        command = json.loads(line)
        if command["mode"] not in MODES:
            raise SystemExit(f"no such mode: {command['mode']}; expected one of {', '.join(MODES)}")
        for name in command["links"]:
            links[name].set(command["mode"], command.get("ms", 0))
        print(json.dumps({name: links[name].hits for name in command["links"]}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
