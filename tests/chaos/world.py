"""The machines of a run: hosts with an address, processes, rules of nftables, control groups and disks of their own.

In a world of namespaces each host has a network namespace behind one bridge, all inside a network and a mount namespace
that the run made. On loopback hosts are addresses of 127/8, and the proxy alone can cut them. Whatever is made outside
of these namespaces (control groups, loop devices, files) lies below one folder, or is named after it, and goes with it.
Processes are ended by ids that were written down when they were started.
"""
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

HARNESS = 1  # the last number of the harness's own address
NUMBERS = {"e1": 11, "e2": 12, "e3": 13, "h1": 21, "h2": 22, "h3": 23, "h4": 24, "h5": 25, "c": 200}
DISK = "4G"  # of which little is used: an hour leaves 600 MiB of etcd's log
PATIENCE = 60  # seconds; far above what anything takes on a loaded machine


class Unmet(Exception):
    """A condition that did not hold in time."""


class NotMounted(OSError):
    """This machine has no control groups of that kind."""


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def until(what, condition, bound=PATIENCE):
    """Polls until `condition()` is true, and returns what it gave."""
    ends = time.monotonic() + bound
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > ends:
            raise Unmet(f"not within {bound:.0f} s: {what}")
        time.sleep(0.02)


def call(*words, text=None):
    """Runs a command; its output. One that fails raises with what it said."""
    done = subprocess.run([str(word) for word in words], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def cgroup_mounts(text):
    """From /proc/self/mountinfo: where the controllers of version 1 are, and version 2 under 'v2'."""
    mounts = {}
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind == "cgroup2":
            mounts["v2"] = left.split()[4]
        elif kind == "cgroup":
            mounts.update({name: left.split()[4] for name in options.split(",") if name in ("freezer", "cpu", "memory")})
    return mounts


class Process:
    """A program on a host, in its control groups from its first instruction on: the host's, or the folders in `groups`."""

    def __init__(self, world, host, name, command, environment=None, groups=None):
        self.name, self.host = name, host
        self.expected = False  # to end now
        groups = world.groups.get(host, {}).values() if groups is None else groups
        joins = "".join(f"echo $$ >{folder}/cgroup.procs; " for folder in groups)
        command = [str(word) for word in command]
        if world.namespaces:
            command = ["nsenter", f"--net=/run/netns/{host}"] + command
        with open(world.folder / "logs" / f"{name}.log", "ab") as log:
            self.process = subprocess.Popen(["sh", "-c", joins + 'exec "$@"', "sh", *command], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True,
                                            env={**os.environ, **(environment or {})})
        with open(world.folder / "pids", "a", encoding="ascii") as pids:
            pids.write(f"{self.process.pid}\n")

    def running(self):
        return self.process.poll() is None

    def signal(self, number):
        if self.running():
            self.process.send_signal(number)

    def kill(self):
        self.expected = True
        self.signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def terminate(self):
        """SIGTERM; its exit code."""
        self.expected = True
        self.signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


class World:
    def __init__(self, folder, namespaces):
        self.folder, self.namespaces = pathlib.Path(folder), namespaces
        self.base = "10.77.0." if namespaces else f"127.{77 + os.getpid() % 100}.{os.getpid() // 100 % 250}."
        self.able = {"proxy"}  # what this machine allows
        self.why_not = {}  # the rest
        self.without_v1 = set()  # of the rest, what takes control groups of version 1, if they are not mounted
        self.groups = {}  # by host: what kind of group, and its folder
        self.disks = {}
        self._rules = {host: {} for host in NUMBERS}
        self._lock = threading.Lock()
        (self.folder / "logs").mkdir()
        if namespaces:
            self._make_network()
        self.attempt("freezer_v1", lambda: self._make_groups("freezer", "freezer_v1"))
        self.attempt("freezer_v2", lambda: self._make_groups("v2", "freezer_v2"))
        self.attempt("cpu", lambda: self._make_groups("cpu", "cpu"))
        if namespaces:
            self.attempt("nftables", self._make_tables)
            self.attempt("disk", self._make_disks)
            self.attempt("time_namespace", lambda: call("unshare", "-T", "--boottime", "100", "true"))
        else:
            self.why_not |= dict.fromkeys(("nftables", "disk", "time_namespace"), "there are no namespaces of the run's own")

    def address(self, host):
        return f"{self.base}{NUMBERS[host]}"

    def attempt(self, ability, make):
        try:
            make()
            self.able.add(ability)
        except OSError as error:
            self.why_not[ability] = str(error)

    # The network.
    def _make_network(self):
        call("mount", "-t", "tmpfs", "tmpfs", "/run")  # for /run/netns; our mount namespace's alone
        lines = ["link set lo up", "link add br0 type bridge", "link set br0 up", f"addr add {self.base}{HARNESS}/24 dev br0"]
        call("ip", "-batch", "-", text="\n".join(lines) + "\n")
        for host in NUMBERS:
            call("ip", "netns", "add", host)
            call("ip", "-batch", "-", text=f"link add v-{host} type veth peer name eth0 netns {host}\n"
                                           f"link set v-{host} master br0 up\n")
            call("ip", "-n", host, "-batch", "-", text=f"link set lo up\naddr add {self.address(host)}/24 dev eth0\n"
                                                       "link set eth0 up\n")

    def _make_tables(self):
        for host in NUMBERS:
            self._nft(host, "table inet chaos {\nchain in {\ntype filter hook input priority 0;\n}\n}\n")

    def _nft(self, host, text):
        return call("nsenter", f"--net=/run/netns/{host}", "nft", "-f", "-", text=text)

    def _apply(self, host):
        lines = "".join(f"add rule inet chaos in {rule}\n" for rule in self._rules[host].values())
        self._nft(host, f"flush chain inet chaos in\n{lines}")

    def rule(self, host, token, rule):
        """Adds a rule to what comes in at the host, or takes it away (None), under a token."""
        with self._lock:
            if rule is None:
                self._rules[host].pop(token, None)
            else:
                self._rules[host][token] = rule
            self._apply(host)

    def cut(self, token, source, target):
        """Nothing that `source` sends reaches `target` any more."""
        self.rule(target, (token, source), f"ip saddr {self.address(source)} counter drop")

    def mend(self, token):
        for host, rules in self._rules.items():
            for key in [key for key in rules if key[0] == token]:
                self.rule(host, key, None)

    def isolate(self, token, host):
        """From everybody but the harness."""
        self.rule(host, (token, "in"), f"ip saddr != {self.base}{HARNESS} ip saddr != 127.0.0.0/8 "
                                       f"ip saddr != {self.address(host)} counter drop")

    def lose(self, token, host, permille):
        self.rule(host, (token, "loss"), f"ip saddr != {self.base}{HARNESS} ip saddr != 127.0.0.0/8 "
                                         f"numgen random mod 1000 < {permille} counter drop")

    def dropped(self, host):
        """Packets that the host's rules of now dropped."""
        listed = json.loads(call("nsenter", f"--net=/run/netns/{host}", "nft", "-j", "list", "table", "inet", "chaos"))
        return sum(expression["counter"]["packets"] for entry in listed["nftables"] if "rule" in entry
                   for expression in entry["rule"]["expr"] if "counter" in expression)

    # Control groups.
    def top_group(self, controller):
        """The folder of the run's own control groups."""
        with open("/proc/self/mountinfo", encoding="ascii") as mountinfo:
            mounts = cgroup_mounts(mountinfo.read())
        if controller not in mounts:
            raise NotMounted(f"no control group of {controller} is mounted")
        top = pathlib.Path(mounts[controller]) / self.folder.name
        if not top.exists():
            top.mkdir()
            with open(self.folder / "groups", "a", encoding="ascii") as made:
                made.write(f"{top}\n")
        return top

    def _make_groups(self, controller, kind):
        try:
            top = self.top_group(controller)
        except NotMounted:
            if controller != "v2":
                self.without_v1.add(kind)
            raise
        for host in NUMBERS:
            (top / host).mkdir()
            self.groups.setdefault(host, {})[kind] = top / host

    def freeze(self, host, kind):
        group = self.groups[host][kind]
        if kind == "freezer_v1":
            (group / "freezer.state").write_text("FROZEN")
        else:
            (group / "cgroup.freeze").write_text("1")

    def thaw(self, host, kind):
        group = self.groups[host][kind]
        if kind == "freezer_v1":
            (group / "freezer.state").write_text("THAWED")
        else:
            (group / "cgroup.freeze").write_text("0")

    def starve(self, host, percent):
        """At most so much of one processor; None: as much as there is."""
        quota = -1 if percent is None else percent * 1000
        (self.groups[host]["cpu"] / "cpu.cfs_period_us").write_text("100000")
        (self.groups[host]["cpu"] / "cpu.cfs_quota_us").write_text(str(quota))

    # Disks.
    def _make_disks(self):
        for host in ("e1", "e2", "e3"):
            self.make_disk(host, DISK)

    def make_disk(self, host, size):
        image, folder = self.folder / f"disk-{host}.img", self.folder / f"disk-{host}"
        call("truncate", "-s", size, image)
        call("mkfs.ext4", "-q", "-F", image)
        folder.mkdir()
        call("mount", "-o", "loop", image, folder)
        self.disks[host] = folder

    def data_folder(self, host):
        if host in self.disks:
            return self.disks[host] / "etcd"
        return self.folder / f"data-{host}"

    def freeze_disk(self, host):
        call("fsfreeze", "-f", self.disks[host])

    def thaw_disk(self, host):
        call("fsfreeze", "-u", self.disks[host])


def clean_up(folder):
    """Ends and frees what a world in `folder` made, however it ended. For the process that adopts its orphans."""
    folder = pathlib.Path(folder)
    tops = [pathlib.Path(line) for line in _lines(folder / "groups")]
    for top in tops:
        for path, word in ((path, word) for name, word in (("freezer.state", "THAWED"), ("cgroup.freeze", "0"))
                           for path in top.glob(f"*/{name}")):
            path.write_text(word)
    for disk in folder.glob("disk-*/"):
        subprocess.run(["fsfreeze", "-u", disk], check=False, capture_output=True)
    for pid in {int(line) for line in _lines(folder / "pids")}:
        _end(pid)
    for top in tops:
        for group in top.glob("*/cgroup.procs"):  # the rest of what was started in them, such as guards
            for pid in _lines(group):
                kill(int(pid))
    for top in tops:
        for group in [*top.glob("*/"), top]:
            _remove(group)
    for disk in folder.glob("disk-*/"):
        if os.path.ismount(disk):
            until(f"{disk} is unmounted", lambda disk=disk: subprocess.run(
                ["umount", disk], check=False, capture_output=True).returncode == 0, 10)
    for image in folder.glob("disk-*.img"):
        image.unlink()


def _lines(path):
    return path.read_text().split() if path.exists() else []


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _end(pid):
    """A child of ours, also by adoption: nobody else's process can have its number."""
    try:
        if os.waitpid(pid, os.WNOHANG) == (0, 0):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    except ChildProcessError:
        pass


def _remove(group):
    def removed():
        try:
            group.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            return False
        return True
    until(f"{group} is empty", removed, 10)
