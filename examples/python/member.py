#!/usr/bin/python3
"""A member of a Baton group in Python: it leads shards through the batond that runs it.

    examples/python/generate.sh stubs
    batond run --group orders --shards 16 --node n1 -- examples/python/member.py --stubs stubs

The class keeps the rules of proto/baton/v1/sidecar.proto; below it stands a program that does nothing
with its shards but say so.
"""
import argparse
import concurrent.futures
import json
import os
import queue
import signal
import sys
import threading
import time
import urllib.parse
import urllib.request

FINAL = ("INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "UNIMPLEMENTED")
LONGEST_PAUSE = 2.0
MOST_ANSWERED = 100_000  # operations are numbered one after another


def boottime_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Member:
    """Takes part from start() on. `application` has prepare(shard), acquired(shard, term),
    releasing(shard, term) and lost(shard, term): for one shard they are called one after another, and
    may block and raise. Whether the shard may be acted on is said by leads() alone. Thread-safe."""

    def __init__(self, address, application, workers=4):
        import grpc  # here, so that stubs can be found by an argument of the program
        from baton.v1 import sidecar_pb2, sidecar_pb2_grpc
        self._grpc, self._pb = grpc, sidecar_pb2
        self._stub = sidecar_pb2_grpc.SidecarServiceStub(grpc.insecure_channel(address))
        self._application = application
        # A shard has one worker, which keeps its order.
        self._workers = [concurrent.futures.ThreadPoolExecutor(1) for _ in range(workers)]
        self._lock = threading.Lock()  # guards what follows
        self._terms = {}  # by shard: what may be acted on, before the deadline
        self._acquired = {}  # by shard: the operation by which it was
        self._deadline_ns = 0
        self._token = b""
        self._answers = queue.SimpleQueue()
        self._answered = {}  # by operation: told again where the answer was lost on the way

    def leads(self, shard):
        """The term by which this process may act on the shard right now, else 0. Ask before each
        effect, and give the term to what stores it: it must refuse an older one."""
        with self._lock:
            return self._terms.get(shard, 0) if boottime_ns() < self._deadline_ns else 0

    def led(self):
        """All shards led right now, with their terms."""
        with self._lock:
            return dict(self._terms) if boottime_ns() < self._deadline_ns else {}

    def run(self):
        """Attaches, again and again. Raises grpc.RpcError where that is useless."""
        pause = 0.05
        while True:
            try:
                for message in self._stub.Attach(self._requests()):
                    pause = 0.05
                    self._take(message)
            except self._grpc.RpcError as error:
                if error.code().name in FINAL:
                    raise
            time.sleep(pause)  # what is led is led on until the deadline
            pause = min(2 * pause, LONGEST_PAUSE)

    def _requests(self):
        answers = queue.SimpleQueue()
        with self._lock:
            self._answers.put(None)  # ends the requests of the stream before
            self._answers = answers
            token = self._token
        hello = self._pb.AttachHello(protocol=1, client="examples/python", token=token,
                                     boottime_ns=boottime_ns())
        yield self._pb.AttachRequest(hello=hello)
        while (answer := answers.get()) is not None:
            yield self._pb.AttachRequest(answers=[answer])

    def _take(self, message):
        work = []
        with self._lock:
            if message.HasField("welcome"):
                self._token = message.welcome.token
                if not message.welcome.resumed:  # all that was led is over, and nobody asks
                    work = [(0, "lost", shard, term) for shard, term in self._terms.items()]
                    self._answered.clear()
                self._terms.clear()
            for event in message.events:
                work += self._hear(event)
            self._deadline_ns = message.deadline.boottime_ns
            answers = self._answers
        for operation, name, shard, term in work:
            worker = self._workers[shard % len(self._workers)]
            worker.submit(self._call, answers, operation, name, shard, term)

    def _hear(self, event):
        """What holds at once; and what is to be done then. With the lock held."""
        kind = self._pb.AttachEvent.Kind
        if event.kind in (kind.KIND_ACQUIRED, kind.KIND_LED):
            self._terms[event.shard] = event.term
            self._acquired[event.shard] = event.operation
        elif event.kind in (kind.KIND_STOP, kind.KIND_LOST):
            self._terms.pop(event.shard, None)
        names = {kind.KIND_PREPARE: "prepare", kind.KIND_ACQUIRED: "acquired",
                 kind.KIND_RELEASING: "releasing", kind.KIND_LOST: "lost"}
        if event.operation == 0:
            return []
        return [(event.operation, names.get(event.kind), event.shard, event.term)]

    def _call(self, answers, operation, name, shard, term):
        ok = self._answered.get(operation, True)
        try:
            if operation in self._answered:
                pass
            elif name == "prepare":
                self._application.prepare(shard)
            elif name is not None:
                getattr(self._application, name)(shard, term)
        except Exception as error:  # the application's: it fails this one operation
            print(f"{name} of shard {shard} failed: {error}", file=sys.stderr)
            ok = False
        if name == "releasing":  # from the answer on it is not led, unless it was acquired since
            with self._lock:
                if self._terms.get(shard) == term and self._acquired[shard] < operation:
                    del self._terms[shard]
        if operation != 0:
            self._answered[operation] = ok
            self._answered.pop(operation - MOST_ANSWERED, None)
            answers.put(self._pb.AttachAnswer(operation=operation, ok=ok))


def lookup(http, key):
    """Who leads the shard of a key, as a node's or relay's HTTP address tells it: a dict with shard,
    leader, address, term and state."""
    query = urllib.parse.urlencode({"key": key})
    with urllib.request.urlopen(f"http://{http}/v1/lookup?{query}", timeout=5) as answer:
        return json.load(answer)


class Sayer:
    """An application that only says what it is told."""

    def __init__(self):
        self._lock = threading.Lock()

    def _say(self, *words):
        with self._lock:
            print(*words, flush=True)

    def prepare(self, shard):
        self._say("prepare", shard)

    def acquired(self, shard, term):
        self._say("acquired", shard, term)

    def releasing(self, shard, term):
        self._say("releasing", shard, term)

    def lost(self, shard, term):
        self._say("lost", shard, term)


def main():
    parser = argparse.ArgumentParser(description="A member of a Baton group, or a look at one.")
    parser.add_argument("--stubs", help="the folder that generate.sh was given")
    parser.add_argument("--sidecar", default=os.environ.get("BATON_SIDECAR"),
                        help="batond's sidecar address; default: BATON_SIDECAR, as batond run sets it")
    parser.add_argument("--lookup", metavar="KEY", help="say who leads this key's shard, and end")
    parser.add_argument("--http", default="127.0.0.1:7401", help="for --lookup: a node's HTTP address")
    options = parser.parse_args()
    if options.lookup is not None:
        print(json.dumps(lookup(options.http, options.lookup)))
        return 0
    if options.sidecar is None:
        parser.error("no sidecar: give --sidecar, or start this by batond run")
    if options.stubs is not None:
        sys.path.insert(0, options.stubs)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # batond has handed the shards over
    Member(options.sidecar, Sayer()).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
