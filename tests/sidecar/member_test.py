#!/usr/bin/python3
"""The Python member of examples/python against a batond that this test plays: what its application is called for, what it
answers, and what it says of which standby. Run: member_test.py"""
import concurrent.futures
import contextlib
import io
import os
import pathlib
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

try:
    import grpc
except ImportError:
    print("python3-grpcio is not installed", file=sys.stderr)
    sys.exit(77)

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"
STUBS = tempfile.TemporaryDirectory()  # until the process ends  # pylint: disable=consider-using-with
subprocess.run([PYTHON / "generate.sh", STUBS.name], check=True)
sys.path[:0] = [str(PYTHON), STUBS.name]

import member  # noqa: E402  # pylint: disable=wrong-import-position
from baton.v1 import sidecar_pb2, sidecar_pb2_grpc  # noqa: E402  # pylint: disable=wrong-import-position

PATIENCE = 60  # seconds
NOBODY = 65534
KIND = sidecar_pb2.AttachEvent.Kind


class Batond(sidecar_pb2_grpc.SidecarServiceServicer):
    """Each stream that begins is put into `streams`."""

    refuses = False

    def __init__(self):
        self.streams = queue.Queue()

    def Attach(self, request_iterator, context):
        if self.refuses:
            self.streams.put(None)
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "no")
        stream = Stream(request_iterator)
        context.add_callback(stream.end)
        self.streams.put(stream)
        while (message := stream.to_send.get()) is not None:
            yield message

    def welcome(self, resumed):
        """Waits for the next stream, whose first message is a hello, and welcomes the member."""
        stream = self.streams.get(timeout=PATIENCE)
        hello = stream.hear()
        assert hello.HasField("hello") and not hello.standbys, hello
        stream.send(welcome=sidecar_pb2.AttachWelcome(group="g", token=b"t", resumed=resumed))
        return stream


class Stream:
    """One stream of the member."""

    def __init__(self, requests):
        self.to_send = queue.Queue()
        self._heard = queue.Queue()
        threading.Thread(target=self._read, args=(requests,), daemon=True).start()

    def _read(self, requests):
        try:
            for request in requests:
                self._heard.put(request)
        except grpc.RpcError:
            pass  # the stream has ended

    def hear(self):
        """Returns the member's next message."""
        return self._heard.get(timeout=PATIENCE)

    def send(self, *events, welcome=None, until=0):
        """Sends events, each as kind, shard, operation, whose term is 7. They may act until this time."""
        deadline = sidecar_pb2.AttachDeadline(boottime_ns=until)
        deadline.remaining.FromSeconds(PATIENCE)
        self.to_send.put(sidecar_pb2.AttachResponse(
            welcome=welcome, deadline=deadline,
            events=[sidecar_pb2.AttachEvent(kind=kind, shard=shard, operation=operation, term=7)
                    for kind, shard, operation in events]))

    def end(self):
        self.to_send.put(None)

    def answers(self, count):
        """Waits for so many answers and returns their operations, sorted. Nothing else may come."""
        operations = []
        while len(operations) < count:
            request = self.hear()
            assert not request.standbys, request
            operations += [answer.operation for answer in request.answers]
        return sorted(operations)

    def failures(self):
        """The next message's failed answers, as (operation, error)."""
        return [(answer.operation, answer.error) for answer in self.hear().answers if not answer.ok]

    def words(self):
        """The next message's words about standbys, as (operation, ready)."""
        request = self.hear()
        assert not request.answers, request
        return [(standby.operation, standby.ready) for standby in request.standbys]


class Application:
    """Puts its calls into `calls`."""

    def __init__(self):
        self.calls = queue.Queue()

    def __getattr__(self, name):
        return lambda shard, term=None: self.calls.put(f"{name} {shard}")

    def next(self):
        return self.calls.get(timeout=PATIENCE)


class WithoutStandbys:
    """An application that was written before there were standbys."""

    def acquired(self, shard, term):
        pass


class Loader:
    """An application whose acquired() waits until the test says how it ends."""

    def __init__(self):
        self.began = queue.Queue()
        self.ends = queue.Queue()

    def acquired(self, shard, term):
        self.began.put(shard)
        if (error := self.ends.get(timeout=PATIENCE)) is not None:
            raise error

    def releasing(self, shard, term):
        pass


class MemberOfAGroup(unittest.TestCase):
    # A member has no end, and goes on trying its port. So each test has an address of its own: ports come again.
    hosts = (f"127.0.0.{host}" for host in range(2, 255))

    def setUp(self):
        self.batond = Batond()
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        sidecar_pb2_grpc.add_SidecarServiceServicer_to_server(self.batond, server)
        host = next(self.hosts)
        self.address = f"{host}:{server.add_insecure_port(f'{host}:0')}"
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        self.application = Application()

    def attach(self, application=None):
        """Starts a member and returns it with its first stream."""
        its = member.Member(self.address, application or self.application)
        threading.Thread(target=its.run, daemon=True).start()
        stream = self.batond.welcome(resumed=False)
        self.addCleanup(self.end_all, stream)
        return its, stream

    def end_all(self, stream):
        stream.end()
        while not self.batond.streams.empty():
            self.batond.streams.get().end()

    def test_believes_no_server_of_another_user(self):
        its = member.Member(self.address, self.application, users=[4711])
        threading.Thread(target=its.run, daemon=True).start()
        for _ in range(2):  # it tries again
            stream = self.batond.welcome(resumed=False)
            stream.send((KIND.KIND_ACQUIRED, 1, 7))
        self.assertTrue(self.application.calls.empty())

    def test_a_refusal_is_final_if_batonds_user_says_it(self):
        self.batond.refuses = True
        with self.assertRaises(grpc.RpcError):
            member.Member(self.address, self.application).run()
        self.batond.streams.get(timeout=PATIENCE)
        its = member.Member(self.address, self.application, users=[4711])
        threading.Thread(target=its.run, daemon=True).start()
        for _ in range(2):  # it tries again
            self.batond.streams.get(timeout=PATIENCE)

    def test_says_a_change_once_and_only_while_the_standby_goes_on(self):
        its, stream = self.attach()
        its.set_standby_ready(1)  # it does not stand by yet
        stream.send((KIND.KIND_STANDBY, 1, 7))
        self.assertEqual(self.application.next(), "standby 1")
        self.assertEqual(stream.answers(1), [7])
        its.set_standby_ready(1)
        its.set_standby_ready(1)
        its.set_standby_ready(1, False)
        self.assertEqual(stream.words(), [(7, True)])
        self.assertEqual(stream.words(), [(7, False)])
        stream.send((KIND.KIND_STANDBY_ENDED, 1, 8))
        self.assertEqual(stream.answers(1), [8])
        its.set_standby_ready(1)
        stream.send((KIND.KIND_STANDBY, 1, 9))
        self.assertEqual(stream.answers(1), [9])
        its.set_standby_ready(1)
        self.assertEqual(stream.words(), [(9, True)])
        self.assertEqual([self.application.next() for _ in range(2)], ["standby_ended 1", "standby 1"])

    def test_a_leadership_ends_a_standby(self):
        its, stream = self.attach()
        stream.send((KIND.KIND_STANDBY, 1, 1), (KIND.KIND_ACQUIRED, 1, 2), (KIND.KIND_STANDBY, 2, 3),
                    (KIND.KIND_LOST, 2, 4))
        self.assertEqual(stream.answers(4), [1, 2, 3, 4])
        its.set_standby_ready(1)
        its.set_standby_ready(2)
        stream.send((KIND.KIND_STANDBY, 3, 5))  # its answer is the next message
        self.assertEqual(stream.answers(1), [5])

    def test_says_again_on_the_next_stream_what_the_last_one_may_have_lost(self):
        its, stream = self.attach()
        stream.send((KIND.KIND_STANDBY, 1, 1), (KIND.KIND_STANDBY, 2, 2), (KIND.KIND_STANDBY, 3, 3))
        self.assertEqual(stream.answers(3), [1, 2, 3])
        its.set_standby_ready(1)
        self.assertEqual(stream.words(), [(1, True)])
        stream.end()
        its.set_standby_ready(2)  # on a stream that ends, or on none
        stream = self.batond.welcome(resumed=True)
        self.addCleanup(self.end_all, stream)
        self.assertEqual(sorted(stream.words()), [(1, True), (2, True)])

    def test_standbys_end_if_the_attachment_does_not_go_on(self):
        its, stream = self.attach()
        stream.send((KIND.KIND_STANDBY, 1, 1), (KIND.KIND_STANDBY, 2, 2))
        self.assertEqual(stream.answers(2), [1, 2])
        its.set_standby_ready(1)
        self.assertEqual(stream.words(), [(1, True)])
        stream.end()
        stream = self.batond.welcome(resumed=False)
        self.addCleanup(self.end_all, stream)
        calls = sorted(self.application.next() for _ in range(4))
        self.assertEqual(calls, ["standby 1", "standby 2", "standby_ended 1", "standby_ended 2"])
        # Another batond's first number is the same, for another shard.
        its.set_standby_ready(1)
        stream.send((KIND.KIND_STANDBY, 3, 1))
        self.assertEqual(stream.answers(1), [1])
        its.set_standby_ready(3)
        self.assertEqual(stream.words(), [(1, True)])

    def test_each_leadership_is_lost_if_the_attachment_does_not_go_on(self):
        _, stream = self.attach()
        stream.send(*((KIND.KIND_ACQUIRED, shard, shard) for shard in (1, 2, 3, 4)))
        stream.send((KIND.KIND_RELEASING, 1, 5), (KIND.KIND_STOP, 2, 0), (KIND.KIND_LOST, 3, 6))
        self.assertEqual(stream.answers(6), [1, 2, 3, 4, 5, 6])
        stream.end()
        stream = self.batond.welcome(resumed=False)
        self.addCleanup(self.end_all, stream)
        calls = sorted(self.application.next() for _ in range(9))
        self.assertEqual(calls, [f"acquired {shard}" for shard in (1, 2, 3, 4)] +
                         [f"lost {shard}" for shard in (1, 2, 3, 4)] + ["releasing 1"])
        self.assertTrue(self.application.calls.empty())

    def test_whatever_a_callback_raises_fails_it(self):
        loader = Loader()
        _, stream = self.attach(loader)
        raised = (SystemExit("no disk"), KeyError(), ValueError("line\n" + 400 * "\N{EURO SIGN}"), ValueError("\udc80"))
        for operation, error in enumerate(raised, 1):
            loader.ends.put(error)
            with contextlib.redirect_stderr(io.StringIO()) as printed:
                stream.send((KIND.KIND_ACQUIRED, 1, operation))
                (answered, text), = stream.failures()
            self.assertEqual(answered, operation)
            self.assertTrue(text.startswith(f"{type(error).__name__}: "), text)
            self.assertLessEqual(len(text.encode()), 1000)
            self.assertIn("acquired of shard 1 failed: ", printed.getvalue())

    def test_a_shard_is_active_once_acquired_has_returned(self):
        loader = Loader()
        its, stream = self.attach(loader)
        until = member.boottime_ns() + PATIENCE * 10**9

        def acquire(operation, error):
            """Returns what the member says of the shard while acquired() runs, and afterwards."""
            stream.send((KIND.KIND_ACQUIRED, 1, operation), until=until)
            loader.began.get(timeout=PATIENCE)
            during = its.leads(1), its.active(1)
            loader.ends.put(error)
            stream.hear()
            return during, (its.leads(1), its.active(1))

        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(acquire(1, OSError()), ((7, 0), (0, 0)))
        self.assertEqual(acquire(2, None), ((7, 0), (7, 7)))
        stream.send((KIND.KIND_RELEASING, 1, 3), until=until)
        self.assertEqual(stream.answers(1), [3])
        self.assertEqual(its.active(1), 0)
        self.assertEqual(acquire(4, None), ((7, 0), (7, 7)))  # the handoff was given up
        stream.end()
        stream = self.batond.welcome(resumed=True)
        self.addCleanup(self.end_all, stream)
        stream.send((KIND.KIND_LED, 1, 0), (KIND.KIND_RELEASING, 2, 5), until=until)
        self.assertEqual(stream.answers(1), [5])
        self.assertEqual(its.active(1), 7)
        stream.send((KIND.KIND_RELEASING, 2, 6))  # the deadline has passed
        self.assertEqual(stream.answers(1), [6])
        self.assertEqual(its.active(1), 0)

    def test_a_failure_is_answered_again_with_its_error(self):
        loader = Loader()
        _, stream = self.attach(loader)
        loader.ends.put(OSError("no disk"))
        stream.send((KIND.KIND_ACQUIRED, 1, 1))
        self.assertEqual(stream.failures(), [(1, "OSError: no disk")])
        stream.end()
        stream = self.batond.welcome(resumed=True)
        self.addCleanup(self.end_all, stream)
        stream.send((KIND.KIND_ACQUIRED, 1, 1))
        self.assertEqual(stream.failures(), [(1, "OSError: no disk")])

    def test_the_oldest_answers_are_forgotten(self):
        with unittest.mock.patch.object(member, "MOST_ANSWERED", 2):
            _, stream = self.attach()
            for operation in (10, 20, 40):  # the node numbers other things, too
                stream.send((KIND.KIND_STANDBY, operation, operation))
                self.assertEqual(stream.answers(1), [operation])
            stream.send((KIND.KIND_STANDBY, 40, 40), (KIND.KIND_STANDBY, 10, 10))
            self.addCleanup(self.end_all, stream)
            self.assertEqual(stream.answers(2), [10, 40])
        self.assertEqual([self.application.next() for _ in range(4)],
                         ["standby 10", "standby 20", "standby 40", "standby 10"])

    def test_events_that_come_again_are_answered_and_not_called_again(self):
        _, stream = self.attach()
        stream.send((KIND.KIND_STANDBY, 1, 1))
        self.assertEqual(stream.answers(1), [1])
        stream.end()
        stream = self.batond.welcome(resumed=True)
        self.addCleanup(self.end_all, stream)
        # The end of a standby that this member never heard of is no call, either.
        stream.send((KIND.KIND_STANDBY, 1, 1), (KIND.KIND_STANDBY_ENDED, 2, 3), (KIND.KIND_STANDBY_ENDED, 1, 4))
        self.assertEqual(stream.answers(3), [1, 3, 4])
        self.assertEqual([self.application.next() for _ in range(2)], ["standby 1", "standby_ended 1"])
        self.assertTrue(self.application.calls.empty())

    def test_an_application_without_the_calls_is_a_standby_that_is_never_ready(self):
        _, stream = self.attach(WithoutStandbys())
        stream.send((KIND.KIND_STANDBY, 1, 1), (KIND.KIND_STANDBY_ENDED, 1, 2), (42, 1, 3))
        self.assertEqual(stream.answers(3), [1, 2, 3])


# Listens as another user, says at which port, and accepts. Then it writes more than the client's kernel takes, closes its end
# or resets it, and waits.
OTHER = """
import os, socket, struct, sys
os.setuid(int(sys.argv[1]))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
listener.settimeout(60)
accepted, _ = listener.accept()
print("accepted", flush=True)
sys.stdin.readline()
if sys.argv[2] == "reset":
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
else:
    accepted.setblocking(False)
    try:
        while True:
            accepted.send(bytes(1 << 16))
    except BlockingIOError:
        pass
accepted.close()
print("closed", flush=True)
sys.stdin.readline()
"""


@unittest.skipIf(os.getuid() != 0, "needs root, to have another user")
class WhoServes(unittest.TestCase):
    """Another user takes the port, as somebody may while batond is away."""

    def look(self, how):
        """The users who have the other end, before it is closed and after."""
        with subprocess.Popen([sys.executable, "-c", OTHER, str(NOBODY), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            port = int(other.stdout.readline())
            self.assertEqual(member.server_users(port), set())
            with socket.create_connection(("127.0.0.1", port)):
                other.stdout.readline()  # before, no process has the other end
                before = member.server_users(port)
                other.stdin.write(b"\n")
                other.stdin.flush()
                other.stdout.readline()
                after = member.server_users(port)
            other.stdin.close()
        return before, after

    def test_is_known_until_the_other_end_is_closed(self):
        self.assertEqual(self.look("close"), ({NOBODY}, {None}))

    def test_is_nobody_after_a_reset(self):
        self.assertEqual(self.look("reset"), ({NOBODY}, set()))


if __name__ == "__main__":
    unittest.main()
