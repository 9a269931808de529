#!/usr/bin/python3
"""The proxy fails as it is told: one link to a server that this test is itself."""
import json
import pathlib
import select
import socket
import subprocess
import sys
import unittest

PATIENCE = 20  # seconds; far above what anything takes on a loaded machine
QUIET = 0.3  # seconds in which nothing may come


def receives(connection, seconds=PATIENCE):
    """The bytes that come next; b"": its end, None: nothing."""
    if not select.select([connection], [], [], seconds)[0]:
        return None
    try:
        return connection.recv(100)
    except ConnectionError:
        return b""


class Proxy(unittest.TestCase):
    def setUp(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(PATIENCE)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = free.getsockname()
        self.process = subprocess.Popen(
            [sys.executable, pathlib.Path(__file__).parent / "proxy.py", json.dumps({"seed": 1, "links": [
                {"link": "a", "listen": self.address, "target": self.server.getsockname()}]})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.near = self.connect()
        self.far, _ = self.server.accept()

    def tearDown(self):
        for each in (self.near, self.far, self.server):
            each.close()
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def connect(self):
        return socket.create_connection(self.address, PATIENCE)

    def tell(self, mode, ms=0):
        """Returns what the link's modes have hit."""
        self.process.stdin.write(json.dumps({"links": ["a"], "mode": mode, "ms": ms}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["a"]

    def test_passes_both_ways_and_the_end(self):
        self.near.sendall(b"up")
        self.assertEqual(receives(self.far), b"up")
        self.far.sendall(b"down")
        self.assertEqual(receives(self.near), b"down")
        self.near.close()
        self.assertEqual(receives(self.far), b"")

    def test_a_black_hole_keeps_what_comes_until_it_is_gone(self):
        self.tell("hold")
        self.near.sendall(b"up")
        self.far.sendall(b"down")
        self.assertIsNone(receives(self.far, QUIET))
        self.assertIsNone(receives(self.near, QUIET))
        self.assertEqual(self.tell("pass"), 2)
        self.assertEqual((receives(self.far), receives(self.near)), (b"up", b"down"))

    def test_cuts_one_way(self):
        for mode, cut, open_way in (("hold_up", (self.near, self.far), (self.far, self.near)),
                                    ("hold_down", (self.far, self.near), (self.near, self.far))):
            self.tell(mode)
            cut[0].sendall(b"held")
            open_way[0].sendall(b"passes")
            self.assertEqual(receives(open_way[1]), b"passes")
            self.assertIsNone(receives(cut[1], QUIET))
            self.tell("pass")
            self.assertEqual(receives(cut[1]), b"held")

    def test_loses_replies_and_then_the_connection(self):
        self.tell("lose_down")
        self.near.sendall(b"up")
        self.assertEqual(receives(self.far), b"up")
        self.far.sendall(b"lost")
        self.assertIsNone(receives(self.near, QUIET))
        self.assertEqual(self.tell("pass"), 1)
        self.assertEqual(receives(self.near), b"")

    def test_half_open_ends_only_the_far_side(self):
        self.tell("half_open")
        self.assertEqual(receives(self.far), b"")
        self.near.sendall(b"into nothing")
        second = self.connect()
        self.assertIsNone(receives(self.near, QUIET))
        self.assertIsNone(receives(second, QUIET))
        self.tell("pass")
        self.assertEqual(receives(self.near), b"")
        third, _ = self.server.accept()
        third.sendall(b"to the second")
        self.assertEqual(receives(second), b"to the second")
        second.close()
        third.close()

    def test_refuses(self):
        self.tell("refuse")
        self.assertEqual(receives(self.near), b"")
        second = self.connect()
        self.assertEqual(receives(second), b"")
        second.close()
        self.assertGreaterEqual(self.tell("pass"), 2)

    def test_delays_in_order(self):
        self.tell("delay", 20)
        self.near.sendall(b"first ")
        self.near.sendall(b"second")
        text = b""
        while len(text) < len(b"first second"):
            text += receives(self.far)
        self.assertEqual(text, b"first second")
        self.assertGreaterEqual(self.tell("pass"), 1)


if __name__ == "__main__":
    unittest.main()
