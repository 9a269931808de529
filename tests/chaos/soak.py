"""The soak: every second an operator moves a shard of each group while all goes on, and each process is looked at."""
import collections
import http.client
import json
import os
import pathlib
import random
import threading
import time

import deployment
import etcd
import harness
import records
import world
from deployment import HOSTS, node_of
from nemeses.fault import GROUPS

EVERY = 1.0  # seconds from one move of a group to the next, and from one look to the next
REMEMBERED = 100  # transitions that a node keeps: full well before the first look counts
KEPT_REVISIONS = 1000  # by etcd, which compacts every five minutes
CATCH_UP = 10.0  # seconds of moves that a busy machine held up, and that are made at once when it is free
TICKS = os.sysconf("SC_CLK_TCK")


def footprint(pid):
    """KiB resident, descriptors, threads, seconds of processors, and KiB that are no file's: to tell where growth is."""
    proc = pathlib.Path("/proc") / str(pid)
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    times = (proc / "stat").read_text().rpartition(")")[2].split()
    return [int(status["VmRSS"].split()[0]), len(os.listdir(proc / "fd")), int(status["Threads"]),
            (int(times[11]) + int(times[12])) / TICKS, int(status["RssAnon"].split()[0])]


class Mover(threading.Thread):
    """Each second one transfer of a group's shard, from a node with the most to the one with the fewest: so the balancer
    has nothing to mend, and every change is the operator's."""

    def __init__(self, there, group, port, generator, stop):
        super().__init__(daemon=True)
        self.there, self.group, self.port, self.random, self.stopped = there, group, port, generator, stop
        self.codes = collections.Counter()
        self.errors = []

    def run(self):
        due = time.monotonic()
        while not self.stopped.wait(max(0, due - time.monotonic())):
            try:
                self.move()
            except Exception as why:  # pylint: disable=broad-except  # `errors` ends the run
                self.errors.append(f"moves of {self.group}: {why!r}")
                self.stopped.set()
            due = max(due + EVERY, time.monotonic() - CATCH_UP)

    def move(self):
        held = {node_of(host): [] for host in HOSTS}
        for key, line in self.there.reader.live(GROUPS[self.group] + "shards/").items():
            shard = int(key.rsplit("/", 1)[1])
            record = records.leadership(line["value"], shard)
            if record and record["leader"] in held:
                held[record["leader"]].append(shard)
        most = max(len(shards) for shards in held.values())
        source = self.random.choice([node for node, shards in held.items() if len(shards) == most])
        others = {node: len(shards) for node, shards in held.items() if node != source}
        target = self.random.choice([node for node, count in others.items() if count == min(others.values())])
        asked = f"{self.there.world.address(self.random.choice(HOSTS))}:{self.port}"
        self.codes[self.there.ctl(asked, "--timeout", "5s", "shards", "transfer", str(self.random.choice(held[source])), "--to",
                                  target)] += 1


class Soak(harness.Run):
    def go(self):
        self.there.start()
        world.until("the group is at rest", self.at_rest)
        self.record["begin"] = world.now()
        self.say(f"at rest; {self.options.minutes:g} minutes of moves begin, seed {self.options.seed}")
        movers = [Mover(self.there, group, port, random.Random(f"{self.options.seed} {group}"), self.stop)
                  for group, port in (("kv", deployment.KV), ("plain", deployment.PLAIN))]
        for mover in movers:
            mover.start()
        self.look_on()
        self.stop.set()
        for mover in movers:
            mover.join()
            self.record["errors"] += mover.errors
        self.record["end"] = world.now()
        self.record["moves"] = sum((mover.codes for mover in movers), collections.Counter())
        self.record["footprints"].append([world.now(), self.there.footprint()])
        self.finish()

    def look_on(self):
        begin = due = time.monotonic()
        minute = 0
        with open(self.world.folder / "footprints.jsonl", "a", encoding="ascii") as file:
            while due < begin + 60 * self.options.minutes and not self.stop.is_set():
                if self.there.ended_by_themselves():
                    return
                sample = self.look()
                file.write(json.dumps(sample) + "\n")
                file.flush()
                if (due - begin) // 60 >= minute:
                    minute += 10
                    self.say(", ".join(f"{name} {rss // 1024} MiB {fds} fds {threads} threads"
                                       for name, (rss, fds, threads, *_) in sample["processes"].items()))
                due = max(due + EVERY, time.monotonic())
                self.stop.wait(max(0, due - time.monotonic()))

    def look(self):
        """And each batond is scraped, as Prometheus would."""
        for host in HOSTS:
            try:
                with deployment.OPENER.open(f"http://{self.world.address(host)}:{deployment.HTTP}/metrics", timeout=5) as answer:
                    answer.read()
            except (OSError, http.client.HTTPException) as why:
                self.record["errors"].append(f"scrape of {host}: {why}")
        running = {f"kv {node_of(host)}": process for host, process in self.there.kv.items()}
        running |= {f"batond {node_of(host)}": process for host, process in self.there.plain.items()}
        running |= {"writer": self.there.writer}
        running |= {f"etcd {name}": process for name, process in self.there.etcd.items()}
        sample = {"at": world.now(), "processes": {}}
        for name, process in running.items():
            try:
                sample["processes"][name] = footprint(process.process.pid)
            except (OSError, KeyError) as why:  # it ends; a process without memory has no VmRSS
                self.record["errors"].append(f"{name}: {why}")
        try:
            status = self.there.members[0].status()
            sample["etcd"] = {"revision": int(status["header"]["revision"]), "bytes": int(status["dbSize"]),
                              "term": int(status["raftTerm"])}
        except etcd.Refused:
            pass
        return sample
