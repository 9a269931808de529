"""The processes of a run: three members of etcd, five hosts with a node of the key-value store and a batond each, writers, and
those who write down what they see.
"""
import json
import mmap
import os
import pathlib
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import etcd
import world

MEMBERS = ("e1", "e2", "e3")
HOSTS = ("h1", "h2", "h3", "h4", "h5")
PROXIED = ("h1", "h2", "h3")  # the others connect to members directly
CLIENT, PEER, KV, PLAIN, HTTP = 2379, 2380, 7400, 7500, 7501
QUOTA = 24 << 20
SETTLE = 2.0  # seconds, batond's default
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def node_of(host):
    return "n" + host[1:]


def fetch(url, timeout=2.0):
    with OPENER.open(url, timeout=timeout) as answer:
        return json.load(answer)


class WrongClock:
    """The file by which clock_preload.cc makes a process's CLOCK_BOOTTIME wrong."""

    def __init__(self, path):
        path.write_bytes(bytes(32))
        with open(path, "r+b") as file:
            self._numbers = mmap.mmap(file.fileno(), 32)
        self._version = self._since = self._offset = self._rate = 0

    def set(self, jump=0, rate=None):
        """Jumps by so many nanoseconds; from now on it is so many parts per million too fast."""
        now = world.now()
        self._offset += jump + (now - self._since) // 1000 * self._rate // 1000
        self._since = now
        self._rate = self._rate if rate is None else rate
        self._version += 2
        self._numbers[0:8] = struct.pack("=q", self._version - 1)
        self._numbers[8:32] = struct.pack("=qqq", self._since, self._offset, self._rate)
        self._numbers[0:8] = struct.pack("=q", self._version)


class Tail:
    """The nodes of the store as they see themselves now, from what they append to their histories."""

    def __init__(self):
        self._files = {}
        self.leads = {}  # by node: by shard (term, activated)
        self.ticked = {}  # by node: when it last answered
        self.events = {}  # by node: names of its events, of this process
        self._stop = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self):
        self._stop = True
        self._thread.join(10)
        for file in self._files.values():
            file.close()

    def follow(self, node, path):
        path.touch()
        self._files[node] = open(path, "rb")
        self.leads[node], self.ticked[node], self.events[node] = {}, 0, []

    def _run(self):
        while not self._stop:
            for node, file in list(self._files.items()):
                place = file.tell()
                data = file.read()
                whole = data.rfind(b"\n") + 1
                file.seek(place + whole)
                for line in data[:whole].splitlines():
                    self._take(node, json.loads(line))
            time.sleep(0.02)

    def _take(self, node, line):
        if "t" in line:
            self.ticked[node] = line["t"][1]
            for shard, term, activated in line.get("leads", ()):
                if term:
                    self.leads[node][shard] = (term, activated)
                else:
                    self.leads[node].pop(shard, None)
        elif line["event"] != "status":
            self.events[node].append(line["event"])

    def leaders(self):
        """By shard: the nodes that lead it now, activated, and say so."""
        fresh = world.now() - 500_000_000
        leaders = {}
        for node, shards in list(self.leads.items()):
            if self.ticked[node] > fresh:
                for shard, (_, activated) in list(shards.items()):
                    if activated:
                        leaders.setdefault(shard, []).append(node)
        return leaders


class Deployment:
    quota = QUOTA  # bytes of each member's database

    def __init__(self, the_world, options):
        self.world, self.options = the_world, options
        self.folder, self.build = the_world.folder, pathlib.Path(options.build)
        for name in ("nodes", "writers", "store", "plain", "state", "clocks"):
            (self.folder / name).mkdir()
        self.members = [etcd.Member(name, the_world.address(name)) for name in MEMBERS]
        self.cluster = etcd.Cluster(self.members)
        self.etcd, self.kv, self.plain = {}, {}, {}
        self.etcd_programs = dict.fromkeys(MEMBERS, "etcd")  # what each member is started by
        self.incarnations = {}
        self.clocks = {host: WrongClock(self.folder / "clocks" / host) for host in HOSTS}
        self.tail = Tail()
        self.unexpected = []  # ends of processes that nobody ended
        self.drains_unanswered = set()
        self.reader = self.writer = self.proxy = None
        self._proxy_lock = threading.Lock()
        self._claims, self._claims_lock = {}, threading.Lock()
        self._plain_asked = (0, False)

    @property
    def ttl(self):
        return self.options.ttl

    def member(self, name):
        return self.members[MEMBERS.index(name)]

    def random_id(self, number):
        """A lease's id that nobody has."""
        return world.now() // 1000 * 10 + number

    # A host or member is struck by one fault at a time.
    def claim(self, target, fault):
        with self._claims_lock:
            if target in self._claims:
                return False
            self._claims[target] = fault
            return True

    def release(self, target):
        with self._claims_lock:
            self._claims.pop(target, None)

    # Starting.
    def start(self):
        for name in MEMBERS:
            self.start_member(name)
        world.until("etcd has a leader", lambda: self.member_answers(MEMBERS[0]))
        self.cluster.learn_ids()
        self.reader = etcd.Reader(self.members, self.folder / "etcd.jsonl")
        self.start_proxy()
        done = subprocess.run([self.program("tests/chaos_kv_node"), "--prepare", "yes", "--data", self.folder / "store",
                               "--shards", str(self.options.shards)], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise world.Unmet(f"the store can't be made: {done.stderr}")
        for host in HOSTS:
            self.start_kv(host)
            self.start_plain(host)
        world.until("all shards are led", self.all_led)
        self.writer = world.Process(self.world, "c", "writer", [
            self.program("tests/chaos_writer"), "--routes", ",".join(f"{self.world.address(host)}:{KV}" for host in HOSTS),
            "--clients", "8", "--rate", self.options.rate, "--history", self.folder / "writers" / "writer.jsonl"])

    def program(self, name):
        return str(self.build / name)

    def start_member(self, name):
        peers = ",".join(f"{each}=http://{self.world.address(each)}:{PEER}" for each in MEMBERS)
        client, peer = (f"http://{self.world.address(name)}:{port}" for port in (CLIENT, PEER))
        self.etcd[name] = world.Process(self.world, name, name, [
            self.etcd_programs[name], f"--name={name}", f"--data-dir={self.world.data_folder(name)}", f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster={peers}", f"--quota-backend-bytes={self.quota}", "--logger=zap", "--log-outputs=stderr",
            *(["--auto-compaction-mode=revision", f"--auto-compaction-retention={self.options.kept_revisions}"]
              if self.options.kept_revisions else [])])

    def member_answers(self, name):
        try:
            return int(self.members[MEMBERS.index(name)].status().get("leader", 0)) != 0
        except etcd.Refused:
            return False

    def start_proxy(self):
        links = [{"link": f"{host}-{member}", "ns": f"/run/netns/{host}" if self.world.namespaces else None,
                  "listen": self._proxy_address(host, member), "target": [self.world.address(member), CLIENT]}
                 for host in PROXIED for member in MEMBERS]
        with open(self.folder / "logs" / "proxy.log", "ab") as log:
            self.proxy = subprocess.Popen([sys.executable, pathlib.Path(__file__).parent / "proxy.py", json.dumps(
                {"seed": self.options.seed, "links": links})], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                text=True, start_new_session=True)
        with open(self.folder / "pids", "a", encoding="ascii") as pids:
            pids.write(f"{self.proxy.pid}\n")
        self.proxy.stdout.readline()

    def _proxy_address(self, host, member):
        return ["127.0.0.1" if self.world.namespaces else self.world.address(host), 12370 + MEMBERS.index(member)]

    def set_links(self, links, mode, ms=0):
        """Of each link what its modes have hit so far."""
        with self._proxy_lock:
            self.proxy.stdin.write(json.dumps({"links": links, "mode": mode, "ms": ms}) + "\n")
            self.proxy.stdin.flush()
            return json.loads(self.proxy.stdout.readline())

    def _endpoints(self, host):
        if host in PROXIED:
            return ",".join("{}:{}".format(*self._proxy_address(host, member)) for member in MEMBERS)
        return ",".join(f"{self.world.address(member)}:{CLIENT}" for member in MEMBERS)

    def _state(self, group, host):
        folder = self.folder / "state" / f"{group}-{host}"
        folder.mkdir(exist_ok=True)
        return folder

    def start_kv(self, host, node=None, offset=0):
        """A node of the store; `node`: a twin of another host's; `offset`: seconds, of a time namespace."""
        twin, node = node is not None, node or node_of(host)
        number = self.incarnations[node] = self.incarnations.get(node, 0) + 1
        name = f"{node}.{number}" + (".twin" if twin else "")
        history = self.folder / "nodes" / f"{name}.jsonl"
        command = [self.program("tests/chaos_kv_node"), "--etcd", self._endpoints(host), "--node", node,
                   "--listen", f"{self.world.address(host)}:{KV + twin}", "--data", self.folder / "store", "--shards",
                   self.options.shards, "--ttl", self.options.ttl, "--state-dir",
                   self._state("twin" if twin else "kv", host), "--history", history,
                   "--remembered", self.options.remembered, "--clock-offset-ns", offset * 10**9]
        if offset:
            command = ["unshare", "-T", "--boottime", offset] + command
        process = world.Process(self.world, host, f"kv-{name}", command, {
            "LD_PRELOAD": self.program("tests/libchaos_clock.so"), "CHAOS_CLOCK": str(self.folder / "clocks" / host)})
        if twin:
            self.tail.follow(name, history)
            return process, name
        self.tail.follow(node, history)
        self.kv[host] = process
        return process, name

    def start_plain(self, host):
        node = node_of(host)
        address = self.world.address(host)
        self.plain[host] = world.Process(self.world, host, f"batond-{node}", [
            self.program("bin/batond"), "--group", "plain", "--shards", self.options.shards, "--node", node, "--etcd",
            self._endpoints(host), "--listen", f"{address}:{PLAIN}", "--http", f"{address}:{HTTP}", "--state-dir",
            self._state("plain", host), "--ttl", f"{self.options.ttl}s", "--expect-nodes", len(HOSTS),
            "--rebalance-delay", "500ms", "--cooldown", "1s", "--history", self.options.remembered, "--allow-remote-admin",
            "--insecure", "--guard", "off"])  # the bounds of a killed node's shards are those of its lease

    def processes(self, host):
        return [self.kv[host], self.plain[host]]

    def ctl(self, endpoint, *words):
        """batonctl; its exit code."""
        return subprocess.run([self.program("bin/batonctl"), "--endpoint", endpoint, *words], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    # Looking.
    def all_led(self):
        """Each shard of both groups has a leader that is activated; of the store exactly one."""
        leaders = self.tail.leaders()
        if len(leaders) < self.options.shards or any(len(nodes) != 1 for nodes in leaders.values()):
            return False
        return self.plain_led()

    def plain_led(self):
        asked, led = self._plain_asked
        if time.monotonic() - asked > 0.1:
            led = False
            for host in HOSTS:
                try:
                    shards = fetch(f"http://{self.world.address(host)}:{HTTP}/v1/shards", 1.0)["shards"]
                except (OSError, ValueError, urllib.error.URLError):
                    continue
                led = led or (len(shards) == self.options.shards and all(shard["state"] == "led" for shard in shards))
            self._plain_asked = (time.monotonic(), led)
        return led

    def ended_by_themselves(self):
        """Processes that ended though nobody asked them to."""
        ended = []
        for process in [*self.etcd.values(), *self.kv.values(), *self.plain.values(), self.writer]:
            if process and not process.expected and not process.running():
                process.expected = True
                ended.append({"process": process.name, "code": process.process.returncode})
        self.unexpected += ended
        return ended

    def views(self):
        """Each node's word on all shards: (group, node) -> [[leader, term]]."""
        found = {}
        for host in HOSTS:
            url = f"http://{self.world.address(host)}:{HTTP}/v1/shards"
            found["plain " + node_of(host)] = [[each["leader"], each["term"]] for each in fetch(url)["shards"]]
            listed = subprocess.run([self.program("bin/batonctl"), "--endpoint", f"{self.world.address(host)}:{KV}", "-o",
                                     "json", "shards", "list"], check=False, capture_output=True, text=True)
            if listed.returncode != 0:
                raise OSError(listed.stderr)
            found["kv " + node_of(host)] = [[each["leader"], each["term"]] for each in json.loads(listed.stdout)["shards"]]
        return found

    def footprint(self):
        """Of each node: MiB resident, descriptors, threads."""
        found = {}
        for group, processes in (("kv", self.kv), ("plain", self.plain)):
            for host, process in processes.items():
                if process.running():
                    proc = pathlib.Path("/proc") / str(process.process.pid)
                    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
                    found[f"{group} {node_of(host)}"] = [int(status["VmRSS"].split()[0]) // 1024,
                                                         len(os.listdir(proc / "fd")), int(status["Threads"])]
        return found
