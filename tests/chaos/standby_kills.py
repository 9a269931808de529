#!/usr/bin/python3
"""Kills of nodes whose shards have ready standbys: who takes over?

  standby_kills.py --count 12        in continuous integration
  standby_kills.py --count 1000      by hand; --seed draws the same nodes again

Guarded batonds lead 60 shards on a real etcd, in two kinds of groups, in turn: five nodes in two zones, where a rule
asks for a standby in the other zone; and six nodes in three zones, where three rules ask for two or three standbys
spread over the zones, and each of them prefers other zones. Once each shard has all its ready standbys, a node is
killed. Each of its shards must go to a standby that was ready for it when it claimed the shard, whatever the balance;
and of the standbys that were ready before the kill, and still then, to one in the zone that the rule prefers most.
Then the node is started again. A round of kills is a group of its own, in which each node dies once at most: nodes
that die again and again get nothing for a while, and shards whose leaders do wait. Exit codes: 0 each shard went where
it should, 1 one did not, 77 this machine can't.
"""
import argparse
import base64
import dataclasses
import itertools
import json
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "dashboards"))
import fleet  # noqa: E402

SHARDS = 60
OF_A_ROUND = 4  # kills
EXCUSED_PART = 10  # at most one in so many shards may have been moved or passed over, and is not judged


@dataclasses.dataclass(frozen=True)
class Rule:
    """Shards whose standbys are spread by zone."""
    first: int
    last: int
    standbys: int
    prefers: str = ""  # zones, the best one first

    def place(self, zone):
        """The smaller, the better. (There are no more replicas than zones, or the best zone alone has two: so each zone's first
        ready standby has no other replica of its zone before it, and the preference decides between zones.)"""
        return self.prefers.index(zone) if zone in self.prefers else len(self.prefers)

    def text(self):
        zones = ", ".join(f"{{zone: {zone}}}" for zone in self.prefers)
        prefer = f"prefer: [{zones}], " if zones else ""
        return f"  - {{shards: {self.first}-{self.last}, {prefer}standbys: {self.standbys}, spread: zone}}\n"


@dataclasses.dataclass(frozen=True)
class Layout:
    count: int  # nodes
    zones: str
    rules: tuple

    def nodes(self):
        return [f"n{number}" for number in range(1, self.count + 1)]

    def zone(self, node):
        return self.zones[int(node[1:]) % len(self.zones)]

    def rule(self, shard):
        return next(rule for rule in self.rules if rule.first <= shard <= rule.last)


LAYOUTS = (
    Layout(5, "ab", (Rule(0, SHARDS - 1, 1),)),
    Layout(6, "abc", (Rule(0, 19, 2, "ab"), Rule(20, 39, 2, "bc"), Rule(40, SHARDS - 1, 3, "ca"))),
)


class Group:
    def __init__(self, running, etcd, name, layout):
        self.running, self.etcd, self.name, self.layout = running, etcd, name, layout
        self.later = 0  # shards that went to a node that became ready while they waited
        self.moved = 0  # shards that a planned move, which ended right before the kill, had given to another node
        self.chosen = 0  # shards that had ready standbys in several zones, of which the rule prefers one
        self.passed = 0  # of these, shards that their best standby did not claim for a second
        self.nodes = {name: self.start(name) for name in layout.nodes()}
        rules = running.folder / "rules.yaml"
        rules.write_text("rules:\n" + "".join(rule.text() for rule in layout.rules))
        running.ctl(self.nodes["n1"], "placement", "set", rules)

    def start(self, name):
        # The lease lasts so long that no death is known by its end.
        return self.running.node(self.etcd, self.name, name, shards=SHARDS, guard="own", ttl="60s", zone=self.layout.zone(name))

    def all_ready(self):
        """The shards as one node has them, if all nodes live and each shard is led and has all its ready standbys; else None."""
        node = next(node for node in self.nodes.values() if node.running())
        status, shards = json.loads(node.get("/v1/status")), node.shards()
        rested = len(status["nodes"]) == len(self.nodes) and not status["moves"]
        good = rested and all(shard["leader"] and len(ready(shard)) == self.layout.rule(shard["shard"]).standbys for shard in shards)
        return shards if good else None

    def kill(self, name):
        """Returns how many shards the node led, how long the group had one of them without a leader, and the shards that went
        astray."""
        before = fleet.until("each shard has its ready standbys", self.all_ready)
        other = next(node for each, node in self.nodes.items() if each != name)
        lost = [shard for shard in before if shard["leader"] == name]
        self.nodes[name].kill()
        begun = time.monotonic()
        fleet.until(f"the shards of {name} are led", lambda: self.led_by_others(other, name))
        took = time.monotonic() - begun
        wrong = [self.judge(shard, self.heir(other, shard)) for shard in lost]
        self.running.forget(self.nodes[name])
        self.nodes[name] = self.start(name)
        return len(lost), took, [f"shard {shard['shard']} of {name} {why}" for shard, why in zip(lost, wrong) if why]

    def judge(self, lost, taken):
        """Says why the shard went astray; None: it did not."""
        heir, number = taken["to"], lost["shard"]
        if taken["reason"] in ("rebalance", "drain"):
            self.moved += 1
            return None
        if heir not in ready(lost):
            if not self.was_ready(heir, number, taken["term"]):
                return f"went to {heir} ({taken['reason']}), and {' and '.join(ready(lost))} was ready"
            self.later += 1
        rule = self.layout.rule(number)
        place = {node: rule.place(self.layout.zone(node)) for node in ready(lost) + [heir]}
        self.chosen += len(set(place.values())) > 1
        better = [node for node in ready(lost) if place[node] < place[heir] and self.was_ready(node, number, taken["term"])]
        if better and (taken["cause"] or {}).get("kind") == "passed_over":
            self.passed += 1
        elif better:
            return f"went to {heir} in zone {self.layout.zone(heir)}, and {' and '.join(better)} was ready in a better one"
        return None

    def end(self):
        for node in self.nodes.values():
            self.running.forget(node)

    @staticmethod
    def heir(node, lost):
        """How the first node took the shard: balance may have moved it since."""
        seen = [each for each in json.loads(node.get("/v1/status"))["recent"]
                if each["shard"] == lost["shard"] and each["term"] > lost["term"] and each["to"] is not None]
        unknown = {"to": "a node that nobody saw", "term": 0, "reason": "not known", "cause": None}
        return min(seen, key=lambda each: each["term"], default=unknown)

    def was_ready(self, node, shard, term):
        """Whether the node's record said so when the shard was claimed in this term. A shard whose leaders died soon waits, and
        another node may have become ready meanwhile."""
        if term == 0:
            return False
        stored = json.loads(self.etcd.ctl("get", f"/baton/v1/{self.name}/members/{node}", "--rev", str(term - 1), "-w", "json"))
        record = subprocess.run(("protoc", f"-I{fleet.ROOT / 'proto'}", "--decode=baton.v1.MemberRecord", "baton/v1/records.proto"),
                                input=base64.b64decode(stored["kvs"][0]["value"]), capture_output=True, check=True).stdout.decode()
        gaps = [int(gap) for gap in re.findall(r"^ready_gaps: (\d+)$", record, re.MULTILINE)]
        return shard in itertools.accumulate(gaps)

    @staticmethod
    def led_by_others(node, dead):
        shards = node.shards()
        return shards if all(shard["leader"] not in (None, dead) for shard in shards) else None


def ready(shard):
    return [standby["node"] for standby in shard.get("standbys", []) if standby["ready"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    missing = [program for program in ("etcd", "etcdctl", "protoc", "setpriv") if shutil.which(program) is None]
    if missing:
        print(f"skipped: no {' and no '.join(missing)}")
        sys.exit(77)
    print(f"seed {options.seed}", flush=True)
    draw = random.Random(options.seed)
    shards, times, astray, groups = 0, [], [], []
    with fleet.Fleet() as running:
        etcd = running.etcd()
        for first in range(0, options.count, OF_A_ROUND):
            layout = LAYOUTS[len(groups) % len(LAYOUTS)]
            groups.append(Group(running, etcd, f"round{len(groups)}", layout))
            for victim in draw.sample(layout.nodes(), OF_A_ROUND)[:options.count - first]:
                count, took, wrong = groups[-1].kill(victim)
                shards += count
                times.append(took)
                astray += wrong
            groups[-1].end()
    for line in astray[:20]:
        print(line)
    later, moved, chosen, passed = (sum(getattr(group, what) for group in groups) for what in ("later", "moved", "chosen", "passed"))
    print(f"{options.count} kills, {shards} shards: {len(astray)} not led by a ready standby in the best zone, {later} by one that "
          f"became ready while they waited, {moved} moved right before; {chosen} had ready standbys in zones of which the rule "
          f"prefers one, and {passed} of these were passed over by the best; led again within {statistics.median(times):.2f} s "
          f"(median), {max(times):.2f} s (longest)")
    if moved + passed > shards / EXCUSED_PART:
        print(f"{moved + passed} of {shards} shards were excused: too many")
    sys.exit(1 if astray or moved + passed > shards / EXCUSED_PART else 0)


if __name__ == "__main__":
    main()
