"""Stuck shards: a group in which five of each hundred shards misbehave, beside the same group in which none does.

Both go through the same joins, deaths and drains, one after the other. `stuckness.py` judges what that cost the shards that
behave.
"""
import dataclasses
import json
import random
import re
import signal
import subprocess
import time

import deployment
import etcd
import stuckness
import world
from deployment import HOSTS, KV, MEMBERS, node_of

STEPS = ("kill", "stop", "drain")
CALLBACK_TIMEOUT = 2.0  # seconds
QUIET = 1.5  # seconds without a change of a good shard: more than the delay of balance and the cooldown
PATIENCE = 120  # seconds until the group is at rest again
TIMED_OUT = re.compile(r"shard (\d+): releasing timed out")


@dataclasses.dataclass
class Options:
    seed: int
    minutes: float
    shards: int
    ttl: int
    build: str
    case: str = "stuck_shards"
    kept_revisions: int = 1000
    bound: float = 0.0  # how much longer good shards may be without a leader, as a share
    remembered: int = 1000


class Deployment(deployment.Deployment):
    """The members of etcd, and one group's nodes at a time."""
    quota = 1 << 30  # thousands of records change with each step, and etcd compacts every five minutes

    def __init__(self, the_world, options):
        super().__init__(the_world, options)
        self.group, self.nodes, self.changed = "", {}, {}

    def start(self):
        for name in MEMBERS:
            self.start_member(name)
        world.until("etcd has a leader", lambda: self.member_answers(MEMBERS[0]))
        self.reader = etcd.Reader(self.members[:1], self.folder / "etcd.jsonl")

    def start_node(self, host):
        node = node_of(host)
        number = self.incarnations[node] = self.incarnations.get(node, 0) + 1
        name = f"{self.group}-{node}.{number}"
        history = self.folder / "nodes" / f"{name}.jsonl"
        self.nodes[host] = world.Process(self.world, host, name, [
            self.program("tests/chaos_stuck_node"), "--etcd", self._endpoints(host), "--group", self.group, "--shards",
            self.options.shards, "--node", node, "--listen", f"{self.world.address(host)}:{KV}", "--ttl", self.options.ttl,
            "--expect-nodes", len(HOSTS), "--state-dir", self._state(self.group, host), "--callback-timeout-ms",
            int(CALLBACK_TIMEOUT * 1000), "--misbehave", "yes" if self.group == "with" else "no", "--history", history])
        self.tail.follow(node, history)

    def _endpoints(self, host):
        return ",".join(f"{self.world.address(member)}:{deployment.CLIENT}" for member in MEMBERS)

    def raft_term(self):
        return self.cluster.insist("etcd says its term", lambda member: int(member.status()["raftTerm"]))

    def member_key(self, host):
        return f"/baton/v1/{self.group}/members/{node_of(host)}"

    def at_rest(self):
        """Every good shard has one leader, which has activated it, and nothing changed for a while."""
        leaders = {shard: tuple(nodes) for shard, nodes in self.tail.leaders().items() if stuckness.is_good(shard)}
        if leaders != self.changed.get("leaders"):
            self.changed = {"leaders": leaders, "at": time.monotonic()}
        good = sum(stuckness.is_good(shard) for shard in range(self.options.shards))
        return len(leaders) == good and all(len(nodes) == 1 for nodes in leaders.values()) \
            and time.monotonic() - self.changed["at"] > QUIET

    def leads_good(self, host):
        return any(stuckness.is_good(shard) for shard in list(self.tail.leads[node_of(host)]))

    def listed(self, host):
        """The host's node's word on the shards that it leads: only a leader knows whether it has activated one."""
        done = subprocess.run([self.program("bin/batonctl"), "--endpoint", f"{self.world.address(host)}:{KV}", "-o", "json",
                               "shards", "list"], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError(done.stderr)
        return [shard for shard in json.loads(done.stdout)["shards"] if shard["leader"] == node_of(host)]


    def stopping(self, host):
        """The shards that the host's node gave up, and says that it has not stopped."""
        done = subprocess.run([self.program("bin/batonctl"), "--endpoint", f"{self.world.address(host)}:{KV}", "-o", "json",
                               "status"], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError(done.stderr)
        return {"at": world.now(), "shards": [shard["shard"] for shard in json.loads(done.stdout)["stopping_shards"]]}


class Run:
    def __init__(self, the_world, options, say):
        self.world, self.options, self.say = the_world, options, say
        self.there = Deployment(the_world, options)
        self.random = random.Random(options.seed)
        self.plan = []
        self.record = {"options": dataclasses.asdict(options), "ttl": options.ttl, "shards": options.shards, "phases": [],
                       "world": "namespaces" if the_world.namespaces else "loopback"}

    def go(self):
        self.there.start()
        self.phase("without")
        self.phase("with")
        self.there.tail.stop()
        self.there.reader.stop()
        with open(self.world.folder / "run.json", "w", encoding="ascii") as file:
            json.dump(self.record, file)

    def phase(self, group):
        there = self.there
        there.group, there.incarnations, there.changed = group, {}, {}
        for host in HOSTS:
            there.start_node(host)
        world.until(f"the group {group} is at rest", there.at_rest, PATIENCE)
        phase = {"name": group, "begin": world.now(), "steps": [], "callback_timeout": CALLBACK_TIMEOUT,
                 "raft_terms": [there.raft_term()]}
        self.say(f"group {group}: {self.options.shards} shards are at rest")
        if group == "without":
            self.draw_while_there_is_time(phase)
        else:
            for kind, host in self.plan:
                self.step(phase, kind, host)
        phase["end"] = world.now()
        phase["raft_terms"].append(there.raft_term())
        phase["failing"] = self.failing(group)
        phase["stopping"] = {self.there.nodes[host].name: self.there.stopping(host) for host in HOSTS}
        phase["ended_by_themselves"] = [process.name for process in there.nodes.values() if not process.running()]
        for process in there.nodes.values():
            process.kill()
        phase["timed_out"] = {log.stem: sorted(map(int, TIMED_OUT.findall(log.read_text(errors="replace"))))
                              for log in (self.world.folder / "logs").glob(f"{group}-n*.log")}
        self.record["phases"].append(phase)

    def failing(self, group):
        """(shard, error) of each that its leader fails to activate. One may be on its way to another node just now, so this
        looks again until all that should be there are."""
        wanted = {shard for shard in range(self.options.shards) if stuckness.kind_of(shard) in stuckness.NAMED}
        ends = time.monotonic() + PATIENCE / 4
        while True:
            found = sorted((shard["shard"], shard["failing"]["last_error"]) for host in HOSTS
                           for shard in self.there.listed(host) if shard.get("failing"))
            if group == "without" or wanted <= {shard for shard, _ in found} or time.monotonic() > ends:
                return found

    def draw_while_there_is_time(self, phase):
        ends = time.monotonic() + 30 * self.options.minutes  # the other group takes as long
        while not self.plan or time.monotonic() < ends:
            for kind in self.random.sample(STEPS, len(STEPS)):
                self.plan.append((kind, self.random.choice(HOSTS)))
                self.step(phase, *self.plan[-1])

    def step(self, phase, kind, host):
        begin = world.now()
        getattr(self, kind)(host)
        world.until(f"all is at rest after {kind} of {host}", self.there.at_rest, PATIENCE)
        phase["steps"].append({"kind": kind, "node": node_of(host), "begin": begin, "end": world.now()})
        self.say(f"group {phase['name']}: {kind} {node_of(host)}, {(world.now() - begin) / 1e9:.1f} s")

    def kill(self, host):
        """And a join, once its shards are led by others."""
        self.there.nodes[host].kill()
        world.until("its lease has run out", lambda: self.there.member_key(host) not in self.there.reader.live(
            self.there.member_key(host)), PATIENCE)
        self.there.tail.leads[node_of(host)].clear()
        world.until("others lead its shards", self.there.at_rest, PATIENCE)
        self.join(host)

    def stop(self, host):
        self.there.nodes[host].expected = True
        self.there.nodes[host].signal(signal.SIGTERM)
        self.there.nodes[host].process.wait(PATIENCE)
        self.join(host)

    def join(self, host):
        self.there.start_node(host)
        world.until("it has got its share", lambda: self.there.leads_good(host), PATIENCE)

    def drain(self, host):
        asked = f"{self.world.address(host)}:{KV}"
        for word in ("drain", "undrain"):
            detach = ["--detach"] if word == "drain" else []  # a shard may never go, if its release hangs at its target
            world.until(f"nodes {word} {node_of(host)} is done", lambda word=word, detach=detach: self.there.ctl(
                asked, "nodes", word, node_of(host), *detach) == 0)
            if word == "drain":
                world.until("it leads nothing that is good", lambda: not self.there.leads_good(host), PATIENCE)
        world.until("it has got its share", lambda: self.there.leads_good(host), PATIENCE)
