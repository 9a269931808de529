"""Real etcd, batond and Prometheus processes on loopback, on ports of their own, for the tests of the dashboards and
for their preview. All end with the Fleet, or with the thread that made it. Every wait polls a condition with a bound.

BATON_BUILD_DIR names the folder with the programs (default: build/ of the repository).
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("BATON_BUILD_DIR", ROOT / "build"))
PATIENCE = 60  # seconds; far above what anything takes on a loaded machine
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Unmet(AssertionError):
    """A condition that did not hold in time."""


def until(what, condition, bound=PATIENCE):
    """Polls until `condition()` is true, and returns what it gave."""
    ends = time.monotonic() + bound
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > ends:
            raise Unmet(f"not within {bound} s: {what}")
        time.sleep(0.05)


def fetch(url, timeout=10):
    with OPENER.open(url, timeout=timeout) as answer:
        return answer.read().decode()


def reachable(url):
    try:
        fetch(url, timeout=2)
        return True
    except (OSError, urllib.error.URLError):
        return False


def free_ports(count):
    """Ports that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Program:
    """A process that dies with the thread that started it."""

    def __init__(self, log, *command):
        self.log = log
        with open(log, "ab") as output:
            self.process = subprocess.Popen(("setpriv", "--pdeathsig", "KILL", *map(str, command)),
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def running(self):
        return self.process.poll() is None

    def kill(self):
        if self.running():
            self.process.kill()
        self.process.wait()

    def terminate(self):
        """SIGTERM, and its end."""
        if self.running():
            self.process.terminate()
        return self.process.wait(timeout=PATIENCE)


class Etcd(Program):
    def __init__(self, folder, name):
        client, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        self.endpoint = client.removeprefix("http://")
        super().__init__(folder / f"{name}.log", "etcd", f"--name={name}", f"--data-dir={folder / name}",
                         f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                         f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                         f"--initial-cluster={name}={peer}", "--unsafe-no-fsync", "--logger=zap",
                         "--log-outputs=stderr")
        until(f"{name} is healthy", lambda: reachable(client + "/health"))

    def ctl(self, *words, value=None):
        """etcdctl; `value` is what it reads from its standard input."""
        return subprocess.run(("etcdctl", "--endpoints", self.endpoint, *words), input=value, check=True,
                              capture_output=True, env={**os.environ, "ETCDCTL_API": "3"}).stdout.decode()


class Relay:
    """Passes TCP connections on until it is cut; then those that are open stay open, and silent."""

    def __init__(self, target):
        host, port = target.rsplit(":", 1)
        self.target = (host, int(port))
        self.open = threading.Event()
        self.open.set()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"127.0.0.1:{self.server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self.open.clear()

    def mend(self):
        self.open.set()

    def close(self):
        self.server.close()
        self.open.set()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.server.accept()
                try:
                    far = socket.create_connection(self.target)
                except OSError:
                    near.close()
                    continue
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source, sink):
        """Ends the other direction with itself; each closes what it reads from."""
        with source:
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    self.open.wait()
                    sink.sendall(data)
            for one in (source, sink):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


class Node(Program):
    """A batond, or a program that takes its flags; ready once made."""

    def __init__(self, folder, program, flags):
        self.name = flags["--node"]
        self.group = flags["--group"]
        ready = folder / f"{self.group}-{self.name}.ready"
        ready.unlink(missing_ok=True)
        words = [word for pair in {**flags, "--ready-file": ready}.items() for word in pair]
        super().__init__(folder / f"{self.group}-{self.name}.log", program, *words)
        until(f"{self.name} of {self.group} is ready (see {self.log})", lambda: self._read(ready))

    def _read(self, ready):
        if not self.running():
            raise Unmet(f"{self.name} ended: {pathlib.Path(self.log).read_text(errors='replace')[-2000:]}")
        with contextlib.suppress(OSError, ValueError, KeyError):
            said = json.loads(ready.read_text())
            self.grpc, self.http = said["grpc"], said["http"]
            return True
        return False

    def get(self, path):
        return fetch(f"http://{self.http}{path}")

    def shards(self):
        return json.loads(self.get("/v1/shards"))["shards"]


class Prometheus(Program):
    """Scrapes each second the targets that targets() got last."""

    def __init__(self, folder, rules=()):
        self.folder = folder / "prometheus"
        self.folder.mkdir()
        self.targets({})
        for name, text in rules:
            (self.folder / name).write_text(text)
        (self.folder / "prometheus.yaml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [name for name, _ in rules],
            "scrape_configs": [
                {"job_name": job, "metrics_path": path, "file_sd_configs": [{"files": ["targets.json"]}]}
                for job, path in (("baton", "/metrics"), ("baton-shards", "/metrics/shards"))],
        }))  # JSON is YAML
        port, = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        super().__init__(self.folder / "log", "prometheus", f"--config.file={self.folder / 'prometheus.yaml'}",
                         f"--storage.tsdb.path={self.folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
                         "--log.level=warn")
        until("Prometheus is ready", lambda: reachable(self.url + "/-/ready"))

    def targets(self, addresses):
        """Replaces all targets; read by Prometheus within moments. Of each address what its instance is called."""
        fresh = self.folder / "targets.json.new"
        fresh.write_text(json.dumps([{"targets": [address], "labels": {"instance": instance}}
                                     for address, instance in sorted(addresses.items())]))
        fresh.rename(self.folder / "targets.json")

    def _api(self, path, **parameters):
        try:
            answer = json.loads(fetch(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", 30))
        except urllib.error.HTTPError as refusal:
            raise Unmet(f"{path} {parameters}: {refusal.read().decode()}") from refusal
        return answer["data"]

    def query(self, expression):
        """The series of an instant query."""
        return self._api("query", query=expression)["result"]

    def query_range(self, expression, seconds, step):
        now = time.time()
        return self._api("query_range", query=expression, start=now - seconds, end=now, step=step)["result"]

    def value(self, expression):
        """The value of a query with one series; None if there is none."""
        series = self.query(expression)
        return float(series[0]["value"][1]) if series else None

    def alerts(self):
        return self._api("alerts")["alerts"]

    def firing(self, group):
        """Alerts that fire for a group, by name."""
        found = {}
        for alert in self.alerts():
            if alert["state"] == "firing" and alert["labels"].get("group") == group:
                found.setdefault(alert["labels"]["alertname"], []).append(alert)
        return found


class Fleet:
    """One folder, and all that runs in it. A context. With `named`, instances are called as the nodes are."""

    def __init__(self, named=False):
        self.named = named
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="baton-fleet-"))
        self.stack = contextlib.ExitStack()
        self.nodes = []
        self.prometheus = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stack.close()
        for node in self.nodes:
            node.kill()
        if kind is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            print(f"logs are kept in {self.folder}")

    def etcd(self, name="etcd"):
        started = Etcd(self.folder, name)
        self.stack.callback(started.kill)
        return started

    def relay(self, target):
        made = Relay(target)
        self.stack.callback(made.close)
        return made

    def start_prometheus(self, rules=()):
        self.prometheus = Prometheus(self.folder, rules)
        self.stack.callback(self.prometheus.kill)
        return self.prometheus

    def node(self, etcd, group, name, shards=12, program=BUILD / "bin" / "batond", state=None, **flags):
        """Starts a node and has it scraped. Flags by their names, with _ for -."""
        line = {"--group": group, "--shards": shards, "--node": name, "--etcd": etcd.endpoint,
                "--listen": "127.0.0.1:0", "--http": "127.0.0.1:0",
                "--state-dir": self.folder / (state or f"{group}-{name}"), "--ttl": "3s", "--settle": "500ms",
                "--rebalance-delay": "500ms", "--cooldown": "1s"}
        if pathlib.Path(program).name == "batond":
            line["--guard"] = "off"  # what is judged here follows the end of a lease
        line.update({"--" + flag.replace("_", "-"): value for flag, value in flags.items()})
        self.nodes.append(Node(self.folder, program, line))
        self.scrape()
        return self.nodes[-1]

    def scrape(self):
        """All nodes except the forgotten ones."""
        if self.prometheus is not None:
            self.prometheus.targets({node.http: node.name if self.named else node.http for node in self.nodes})

    def forget(self, node):
        """Ends a node, and its being scraped."""
        node.kill()
        self.nodes.remove(node)
        self.scrape()

    def ctl(self, node, *words):
        """batonctl; what it wrote."""
        ran = subprocess.run((BUILD / "bin" / "batonctl", "--endpoint", node.grpc, "--no-color", *words),
                             capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise Unmet(f"batonctl {' '.join(words)}: {ran.returncode}: {ran.stderr}")
        return ran.stdout


def await_balanced(nodes):
    """Until each leads its share, and all shards are led."""
    def balanced():
        shards = nodes[0].shards()
        led = [sum(shard["leader"] == node.name and shard["state"] == "led" for shard in shards) for node in nodes]
        return sum(led) == len(shards) and max(led) - min(led) <= 1
    until(f"{', '.join(node.name for node in nodes)} lead all, evenly", balanced)


def series_names(text):
    """The metric names (families) of an exposition, with their types."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
