#!/usr/bin/python3
"""A member of a Baton group in Python: it leads shards through the batond that runs it.

    examples/python/generate.sh stubs
    batond run --group orders --shards 16 --node n1 -- examples/python/member.py --stubs stubs

The class Member keeps the rules of proto/baton/v1/sidecar.proto. The program below it only prints what
happens to its shards.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import http.client
import json
import os
import pathlib
import pwd
import queue
import signal
import ssl
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

FINAL = ("INVALID_ARGUMENT", "NOT_FOUND", "PERMISSION_DENIED", "UNIMPLEMENTED")
CANNOT_REACH = 3  # exit code, as batonctl's
LONGEST_PAUSE = 2.0
MOST_ANSWERED = 100_000
MOST_WORDS = 10_000  # in a message
LONGEST_ERROR = 200  # characters: batond keeps 256 bytes
ESTABLISHED = "01"
MAPPED = "0000000000000000FFFF0000"


def boottime_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Tls(collections.namedtuple("Tls", "ca cert key name", defaults=(None, None, None))):
    """PEM files for a batond with TLS: the authority of its certificate; your own certificate and its key, if it
    asks for one. `name`: the name in its certificate, if that is not the address by which you attach."""

    def context(self):
        """For lookup. Reads the files."""
        context = ssl.create_default_context(cafile=self.ca)
        if self.cert is not None:
            context.load_cert_chain(self.cert, self.key)
        return context

    def read(self):
        """The contents for gRPC: the authority, the key, the certificate."""
        return [path and pathlib.Path(path).read_bytes() for path in (self.ca, self.key, self.cert)]


def unmapped_user():
    """In a user namespace that lacks some users, the number of all of these; else None."""
    if pathlib.Path("/proc/self/uid_map").read_text(encoding="ascii").split() == ["0", "0", "4294967295"]:
        return None
    return int(pathlib.Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii"))


def server_users(port):
    """Returns the users who have the other ends of this process's connections to a port of this host, as Linux
    knows them. None stands for an end that no process has any more, and for a user who has no number here."""
    nobody = unmapped_user()
    ours = set()
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            ours.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    rows = []
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(table, encoding="ascii") as lines:
            rows += [line.split() for line in list(lines)[1:]]
    # local address, remote address, state, ..., user, ..., inode; a socket of IPv6 that talks IPv4 has mapped addresses
    ends = {(row[1].removeprefix(MAPPED), row[2].removeprefix(MAPPED)): (int(row[7]), row[9], row[3]) for row in rows}
    users = set()
    for (local, remote), (_, inode, state) in ends.items():
        if state == ESTABLISHED and int(remote.rpartition(":")[2], 16) == port and f"socket:[{inode}]" in ours:
            user, its_inode, _ = ends.get((remote, local), (None, "0", None))
            users.add(None if its_inode == "0" or user == nobody else user)
    return users


@dataclasses.dataclass
class Standby:
    """A shard for which the application stands by."""
    operation: int  # of the event that began it
    answered: dict  # the member's at that time: another batond uses the same numbers
    ready: bool | None = None  # what the application said last


class Member:
    """Takes part in the group while run() runs. `application` has prepare(shard), acquired(shard, term),
    releasing(shard, term) and lost(shard, term). For one shard they are called one after another; they
    may block and raise: what one raises is printed, and batond's operator sees it. Only leads() says whether
    the program may act on a shard, also inside acquired(), which loads the shard's state. Work that needs this
    state asks active(). Both turn 0 just before releasing(), which waits for work that has begun.

    It may also have standby(shard) and standby_ended(shard). As a standby the program loads the shard's
    state, keeps it fresh and does not act on it; it calls set_standby_ready() once the state is loaded. A
    standby ends with standby_ended(), which drops the state, with acquired() or with lost().

    `tls`: a Tls, if batond's port has TLS; unix sockets have none. Its files are read at each attach;
    OSError: not even once. `users`: the numbers of the users as which batond may run, if its port has no TLS;
    by default root's and this process's. While batond is away, any user of the host can take its port, and would
    say what to lead. Thread-safe."""

    def __init__(self, address, application, workers=4, tls=None, users=None):
        import grpc  # here, because an argument of the program names the stubs' folder
        from baton.v1 import sidecar_pb2, sidecar_pb2_grpc
        self._grpc, self._pb, self._stub = grpc, sidecar_pb2, sidecar_pb2_grpc.SidecarServiceStub
        self._address, self._tls = address, tls
        self._users = {0, os.getuid()} if users is None else set(users)
        self._pems = tls and tls.read()
        self._application = application
        # Each shard has one worker, so its calls stay in order.
        self._workers = [concurrent.futures.ThreadPoolExecutor(1) for _ in range(workers)]
        self._lock = threading.Lock()  # guards what follows
        self._terms = {}  # by shard: the term by which it is led, until the deadline
        self._deadline_ns = 0
        self._token, self._group = b"", ""
        self._alive = True  # a sign of life that batond has not been sent yet
        self._said = False  # in the last hello
        self._watched = False  # by batond
        self._welcomed = False  # on the present stream
        self._standbys = {}  # by shard: its Standby, from the call of standby to the call that ends it
        self._answers = queue.SimpleQueue()
        self._begin_anew()

    def _begin_anew(self):
        self._acquired = {}  # by shard: the operation that acquired it
        self._activated = {}  # by shard: the operation of the acquired() that returned last
        self._led = {}  # by shard: the term of the last acquired() that no lost() has followed
        self._ended = {}  # by shard: the operation that ended it, which may come again
        self._answered = {}  # by operation: the answer, which is sent again if it was lost

    def leads(self, shard):
        """Returns the term by which this process may act on the shard right now, else 0. Ask before each
        effect, and pass the term to the storage, which must refuse an older one. It may be a term before
        acquired() has begun, and while it runs."""
        with self._lock:
            return self._terms.get(shard, 0) if boottime_ns() < self._deadline_ns else 0

    def active(self, shard):
        """Like leads(), but 0 until acquired() has returned: the shard's state is loaded."""
        with self._lock:
            loaded = self._activated.get(shard, 0) == self._acquired.get(shard)
            return self._terms.get(shard, 0) if loaded and boottime_ns() < self._deadline_ns else 0

    def led(self):
        """Returns all shards led right now, with their terms; active() says for which acquired() has returned."""
        with self._lock:
            return dict(self._terms) if boottime_ns() < self._deadline_ns else {}

    def set_standby_ready(self, shard, ready=True):
        """Says whether the program could serve the shard at once for which standby() was called last. Call it
        when the answer changes, also from inside standby(). Does nothing if that standby has ended."""
        with self._lock:
            standby = self._standbys.get(shard)
            if standby is not None and standby.ready != ready:
                standby.ready = ready
                self._say_ready([standby])

    def _say_ready(self, standbys):
        """REQUIRES: the lock is held."""
        if not self._welcomed:
            return  # after the welcome all is said again, if they go on
        words = [self._pb.AttachStandby(operation=standby.operation, ready=standby.ready)
                 for standby in standbys if standby.ready is not None and standby.answered is self._answered]
        for i in range(0, len(words), MOST_WORDS):
            self._answers.put(self._pb.AttachRequest(standbys=words[i:i + MOST_WORDS]))

    def alive(self):
        """Says that the program does its work. With `batond --watchdog` it must call this again within that
        time, where the work is done; else it leads nothing any more until the next call."""
        with self._lock:
            if not self._alive:
                self._alive = True
                self._say_alive()

    def _say_alive(self):
        if self._alive and self._watched:
            self._answers.put(self._pb.AttachRequest(alive=True))

    def run(self):
        """Attaches to batond, again and again. Raises grpc.RpcError if trying again is useless."""
        pause = 0.05
        complaint = ""
        while True:
            problem = ""
            believed = not self._is_open()  # who answers at another port is batond
            with self._connect() as channel:
                try:
                    for message in self._stub(channel).Attach(self._requests()):
                        if not believed and (problem := self._stranger()):
                            break
                        believed = True
                        pause = 0.05
                        complaint = ""
                        self._take(message)
                except self._grpc.RpcError as error:
                    if error.code().name in FINAL and (believed or not self._stranger()):
                        raise
                    problem = f"batond is not connected: {error.details()}"
            if problem and problem != complaint:
                complain(problem + "; trying again")
                complaint = problem
            time.sleep(pause)  # shards stay led until the deadline
            pause = min(2 * pause, LONGEST_PAUSE)

    def _connect(self):
        if self._tls is None:
            return self._grpc.insecure_channel(self._address)
        try:
            self._pems = self._tls.read()  # a renewed certificate has the same path
        except OSError as error:
            complain(f"{error}; the certificates that were read last are tried")
        name = [("grpc.ssl_target_name_override", self._tls.name)] if self._tls.name else []
        return self._grpc.secure_channel(self._address, self._grpc.ssl_channel_credentials(*self._pems), name)

    def _is_open(self):
        """Whether any user of this host may have taken the port."""
        return self._tls is None and not self._address.startswith("unix:")

    def _stranger(self):
        """Why it is not known that batond has the other end of the stream; empty if it is."""
        users = server_users(int(self._address.rpartition(":")[2]))
        if users and users <= self._users:
            return ""
        others = ", ".join(f"user {user}" for user in users - self._users if user is not None) or "nobody who is known"
        return f"{self._address} is served by {others}: name batond's user (--server-user), or use TLS or a unix socket"

    def _requests(self):
        answers = queue.SimpleQueue()
        with self._lock:
            self._answers.put(None)  # ends the former stream's requests
            self._answers = answers
            self._welcomed = False
            hello = self._pb.AttachHello(protocol=1, client="examples/python", group=self._group,
                                         token=self._token, pid=os.getpid(), alive=self._alive)
            self._said = self._alive
        hello.boottime_ns = boottime_ns()
        yield self._pb.AttachRequest(hello=hello)
        while (request := answers.get()) is not None:
            if request.alive:
                with self._lock:
                    if answers is not self._answers:
                        return  # the next stream's hello says it
                    self._alive = False
            yield request

    def _take(self, message):
        work = []
        with self._lock:
            until = message.deadline.boottime_ns
            if boottime_ns() < until - message.deadline.remaining.ToNanoseconds():
                self._deadline_ns = 0
                raise RuntimeError("CLOCK_BOOTTIME is not batond's: run both in one time namespace")
            if message.HasField("welcome"):
                self._token, self._group = message.welcome.token, message.welcome.group
                self._watched = message.welcome.HasField("watchdog")
                self._alive = self._alive and not self._said
                self._say_alive()
                self._welcomed = True
                if message.welcome.resumed:
                    self._say_ready(self._standbys.values())
                else:  # all leaderships and standbys are over, without further events
                    work = [(0, "lost", shard, term) for shard, term in self._led.items()]
                    work += [(0, "standby_ended", shard, 0) for shard in self._standbys]
                    self._begin_anew()
                self._terms.clear()
            for event in message.events:
                work += self._hear(event)
            self._deadline_ns = until
            answers, answered = self._answers, self._answered
        for operation, name, shard, term in work:
            self._workers[shard % len(self._workers)].submit(
                self._call, answers, answered, operation, name, shard, term)

    def _hear(self, event):
        """Records an event and returns the calls that it needs. REQUIRES: the lock is held."""
        kind = self._pb.AttachEvent.Kind
        if event.kind in (kind.KIND_ACQUIRED, kind.KIND_LED):
            ended = self._ended.get(event.shard, 0)
            if event.operation > ended or ended == 0:
                self._terms[event.shard] = event.term
            if event.operation > ended:
                self._acquired[event.shard] = event.operation
                if event.kind == kind.KIND_ACQUIRED:
                    self._led[event.shard] = event.term
                self._ended.pop(event.shard, None)
        elif event.kind in (kind.KIND_STOP, kind.KIND_LOST):
            self._terms.pop(event.shard, None)
            if event.kind == kind.KIND_LOST:
                self._led.pop(event.shard, None)
        names = {kind.KIND_PREPARE: "prepare", kind.KIND_ACQUIRED: "acquired",
                 kind.KIND_RELEASING: "releasing", kind.KIND_LOST: "lost",
                 kind.KIND_STANDBY: "standby", kind.KIND_STANDBY_ENDED: "standby_ended"}
        work = [(event.operation, names.get(event.kind), event.shard, event.term)]
        return work if event.operation != 0 else []

    def _end(self, answered, operation, shard):
        """Ends a leadership, unless the shard was acquired again since, or from another batond."""
        with self._lock:
            if answered is self._answered and self._acquired.get(shard, 0) <= operation:
                self._terms.pop(shard, None)
                self._ended[shard] = operation

    def _stand_by(self, answered, operation, name, shard):
        """Records that this call begins or ends a standby. False: it has ended before, so nothing is called."""
        with self._lock:
            if name == "standby":
                if answered is not self._answered:
                    return False
                self._standbys[shard] = Standby(operation, answered)
            elif name in ("standby_ended", "acquired", "lost"):
                began = self._standbys.pop(shard, None) is not None
                return began or name != "standby_ended"
            return True

    def _tell(self, name, shard, term):
        """Calls the application."""
        if name in ("standby", "standby_ended"):
            getattr(self._application, name, lambda _: None)(shard)
        else:
            getattr(self._application, name)(*([shard] if name == "prepare" else [shard, term]))

    def _call(self, answers, answered, operation, name, shard, term):
        failed = answered.get(operation)  # the error, or None
        if name == "releasing":  # no new work begins while it waits for work that has begun
            self._end(answered, operation, shard)
        try:
            if name is not None and operation not in answered and self._stand_by(answered, operation, name, shard):
                self._tell(name, shard, term)
        except BaseException as error:  # whatever it is, also SystemExit: it fails this one operation
            failed = f"{type(error).__name__}: {error}"[:LONGEST_ERROR].encode(errors="replace").decode()
            complain(f"{name} of shard {shard} failed: {failed}")
        if name == "acquired" and failed is not None:
            self._end(answered, operation, shard)
        if operation != 0:
            with self._lock:
                answered[operation] = failed
                if name == "acquired" and failed is None and answered is self._answered:
                    self._activated[shard] = operation
                while len(answered) > MOST_ANSWERED:
                    del answered[next(iter(answered))]  # the oldest
            answer = self._pb.AttachAnswer(operation=operation, ok=failed is None, error=failed)
            answers.put(self._pb.AttachRequest(answers=[answer]))


def lookup(http, key, tls=None):
    """Asks a node's or relay's HTTP address who leads the shard of a key. Returns a dict with shard,
    leader, address, term and state. `tls`: an ssl.SSLContext, if the node has TLS."""
    query = urllib.parse.urlencode({"key": key})
    scheme = "https" if tls else "http"
    with urllib.request.urlopen(f"{scheme}://{http}/v1/lookup?{query}", timeout=5, context=tls) as answer:
        return json.load(answer)


def complain(what):
    """Prints one line, whatever bytes a foreign server sent."""
    line = "".join(c if c.isascii() and c.isprintable() else " " for c in str(what))
    print("member.py:", " ".join(line.split()), file=sys.stderr, flush=True)


def tls_of(options):
    """The options' Tls; None without --tls-ca."""
    if options.tls_ca is None:
        if options.tls_cert is not None:
            raise ValueError("--tls-cert needs --tls-ca")
        return None
    return Tls(options.tls_ca, options.tls_cert, options.tls_key, options.tls_name)


def answer_lookup(options):
    try:
        tls = tls_of(options)
        print(json.dumps(lookup(options.http, options.lookup, tls and tls.context())))
        return 0
    except urllib.error.HTTPError as refusal:  # its body is one line of JSON, or another server's page
        complain(f"{options.http} answered {refusal.code}: {refusal.read(200).decode(errors='replace')}")
        return 1
    except http.client.HTTPException:
        complain(f"{options.http} does not speak HTTP: is it a node's gRPC address?")
        return CANNOT_REACH
    except (OSError, ValueError) as error:
        complain(f"no node's HTTP address answers at {options.http}: {getattr(error, 'reason', error)}")
        return CANNOT_REACH


def job(shard, term):
    """Stands for work on a shard that no request asks for. It gives the term to its storage."""


def work(member):
    """Stands for the program's work. It says as it goes that it is alive, not on a thread that does nothing else."""
    while True:
        member.alive()
        for shard in member.led():
            if term := member.active(shard):
                job(shard, term)
        time.sleep(1)


class Sayer:
    """An application that only prints its calls. It has nothing to load: as a standby it is ready at once."""

    member = None  # set it before run()

    def _say(self, *words):
        print(" ".join(map(str, words)) + "\n", end="", flush=True)  # whole lines: threads

    prepare = functools.partialmethod(_say, "prepare")
    acquired = functools.partialmethod(_say, "acquired")
    releasing = functools.partialmethod(_say, "releasing")
    lost = functools.partialmethod(_say, "lost")
    standby_ended = functools.partialmethod(_say, "standby_ended")

    def standby(self, shard):
        self._say("standby", shard)
        self.member.set_standby_ready(shard)


def main():
    parser = argparse.ArgumentParser(description="A member of a Baton group, or a look at one.")
    parser.add_argument("--stubs", help="the folder that generate.sh was given")
    parser.add_argument("--sidecar", default=os.environ.get("BATON_ATTACH"),
                        help="batond's sidecar address; default: BATON_ATTACH, as batond run sets it")
    parser.add_argument("--lookup", metavar="KEY", help="say who leads this key's shard, and end")
    parser.add_argument("--http", default="127.0.0.1:7401", help="for --lookup: a node's HTTP address")
    for name, what in (("ca", "PEM file: the authority of a node's certificate; turns TLS on, except for unix sockets"),
                       ("cert", "PEM file: your certificate, if the node asks for one"), ("key", "PEM file: its key"),
                       ("name", "the name in the node's certificate, if it is not the sidecar's address")):
        parser.add_argument(f"--tls-{name}", default=os.environ.get(f"BATON_TLS_{name.upper()}"), help=what)
    parser.add_argument("--server-user", help="as which user batond runs (a name or a number), if "
                        "that is neither root nor this program's user; for a port without TLS")
    options = parser.parse_args()
    if options.lookup is not None:
        return answer_lookup(options)
    if options.sidecar is None:
        parser.error("no sidecar: give --sidecar, or start this by batond run")
    if options.stubs is not None:
        sys.path.insert(0, options.stubs)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # batond has handed the shards over
    try:
        # The variables of TLS may be batond's own, in whose environment this program runs.
        tls = None if options.sidecar.startswith("unix:") else tls_of(options)
        sayer = Sayer()
        users = None
        if options.server_user is not None:
            users = [int(options.server_user) if options.server_user.isdigit() else pwd.getpwnam(options.server_user).pw_uid]
        member = sayer.member = Member(options.sidecar, sayer, tls=tls, users=users)
    except (OSError, ValueError) as error:
        complain(error)
        return 1
    except KeyError:
        complain(f"there is no user {options.server_user}")
        return 1
    except ImportError as error:
        complain(f"{error}; install python3-grpcio and python3-protobuf, run "
                 "examples/python/generate.sh DIR, and give --stubs DIR")
        return 1
    import grpc
    threading.Thread(target=work, args=(member,), daemon=True).start()
    try:
        member.run()
    except grpc.RpcError as error:
        complain(f"batond at {options.sidecar} refuses this member: {error.code().name} {error.details()}")
    except RuntimeError as error:
        complain(error)
    except KeyboardInterrupt:
        os._exit(130)
    os._exit(1)  # the workers' callbacks may hang


if __name__ == "__main__":
    sys.exit(main())
