"""The processes of guard_storms.py: an etcd, guarded nodes, and what the kernel says of them."""
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import time

BUILD = pathlib.Path(os.environ.get("BATON_BUILD_DIR", pathlib.Path(__file__).resolve().parent.parent.parent / "build"))
SHARDS = 40
TTL = 60  # seconds
PATIENCE = 150  # seconds; far above what anything takes on a loaded machine, a lease included
PIDFD_GETFD = 438
LIBC = ctypes.CDLL(None, use_errno=True)


class Unmet(Exception):
    """A condition that did not hold in time."""


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def until(what, condition, bound=PATIENCE):
    ends = now() + bound
    while True:
        answer = condition()
        if answer:
            return answer
        if now() > ends:
            raise Unmet(f"not within {bound} s: {what}")
        time.sleep(0.01)


def stat_of(pid):
    """Name, state and parent of a process; None: there is none."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name, rest = text[text.index("(") + 1:].rsplit(") ", 1)
    state, parent = rest.split()[:2]
    return name, state, int(parent)


def processes():
    for each in os.listdir("/proc"):
        if each.isdigit() and (found := stat_of(each)):
            yield int(each), *found


def children(parent):
    return [(pid, name, state) for pid, name, state, its in processes() if its == parent]


def descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def living_in(folder):
    """Processes that were started in the folder, and are no zombies."""
    found = []
    for pid, name, state, _ in processes():
        with contextlib.suppress(OSError):
            if state != "Z" and os.readlink(f"/proc/{pid}/cwd") == str(folder):
                found.append((pid, name))
    return found


class Incarnation:
    """One process of a node."""

    def __init__(self, group, node, number):
        self.node, folder = node, group.folder
        self.log = folder / f"{node}.{number}.log"
        self.ready_file = folder / f"{node}.{number}.ready"
        self.asked_to_end = None  # when it was killed or asked to leave
        self.lock_free = None  # when nobody held its lock any more: the kernel frees it a moment before that
        self.borrowed = False  # the harness had its lock, as a forked child would
        self.ports = None
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [BUILD / "bin" / "batond", "--group", group.name, "--shards", str(SHARDS), "--node", node, "--etcd",
                 group.etcd, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state-dir", folder / f"{node}.state",
                 "--ready-file", self.ready_file, "--ttl", f"{TTL}s", "--settle", "100ms", "--rebalance-delay", "200ms",
                 "--cooldown", "500ms", "--expect-nodes", "3", "--guard", "own"],
                cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.pid = self.process.pid

    def ready(self):
        if self.process.poll() is not None:
            raise Unmet(f"{self.node} ended by itself, see {self.log}")
        with contextlib.suppress(OSError, ValueError, KeyError):
            said = json.loads(self.ready_file.read_text())
            self.http = said["http"]
            return True
        return False

    def guard(self):
        for pid, name, state in children(self.pid):
            if name == "baton-guard" and state != "Z":
                return pid
        return None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.asked_to_end = self.asked_to_end or now()
        self.process.kill()
        self.process.wait(PATIENCE)
        self.lock_free = self.lock_free or now()

    def leave(self):
        self.asked_to_end = now()
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        self.lock_free = now()
        return code

    def borrow_lock(self):
        """A descriptor of the node's own open lock file, as a forked child has it."""
        handle = os.pidfd_open(self.pid)
        try:
            for number in os.listdir(f"/proc/{self.pid}/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{self.pid}/fd/{number}").endswith("/session.lock"):
                        lock = LIBC.syscall(PIDFD_GETFD, handle, int(number), 0)
                        return lock if lock >= 0 else None
        finally:
            os.close(handle)
        return None

    def owns(self, ports):
        """Whether a member key with these ports is this process's. One of them may have been another process's before."""
        if not self.ports:
            text = self.log.read_text(errors="replace")
            found = re.search(r"serving .*?grpc=\"?127\.0\.0\.1:(\d+).*?http=\"?127\.0\.0\.1:(\d+)", text)
            self.ports = set(found.groups()) if found else None
        return bool(self.ports) and self.ports <= ports


def start_etcd(folder):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        client, peer = (f"127.0.0.1:{each.getsockname()[1]}" for each in sockets)
    with open(folder / "etcd.log", "ab") as log:
        process = subprocess.Popen(
            ["etcd", "--name=e", f"--data-dir={folder / 'etcd'}", f"--listen-client-urls=http://{client}",
             f"--advertise-client-urls=http://{client}", f"--listen-peer-urls=http://{peer}",
             f"--initial-advertise-peer-urls=http://{peer}", f"--initial-cluster=e=http://{peer}", "--unsafe-no-fsync",
             "--logger=zap", "--log-outputs=stderr"], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def healthy():
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection(client, timeout=1)
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        return False
    until("etcd is healthy", healthy)
    return process, client
