#!/usr/bin/python3
"""Kills of nodes whose shards have ready standbys: who takes over?

  standby_kills.py --count 12        in continuous integration
  standby_kills.py --count 1000      by hand; --seed draws the same nodes again

Five guarded batonds in two zones lead 60 shards on a real etcd. A rule asks for a standby in the other zone. Once
each shard has a ready standby, a node is killed. Each of its shards must go to a standby that was ready for it when
it claimed the shard, whatever the balance. Then the node is started again. A round of kills is a group of its own, in
which each node dies once at most: nodes that die again and again get nothing for a while, and shards whose leaders do
wait. Exit codes: 0 each shard went where it should, 1 one did not, 77 this machine can't.
"""
import argparse
import base64
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
NODES = [f"n{number}" for number in range(1, 6)]
OF_A_ROUND = 4  # kills


class Group:
    def __init__(self, running, etcd, name):
        self.running, self.etcd, self.name = running, etcd, name
        self.later = 0  # shards that went to a node that became ready while they waited
        self.moved = 0  # shards that a planned move, which ended right before the kill, had given to another node
        self.nodes = {name: self.start(name) for name in NODES}
        rules = running.folder / "rules.yaml"
        rules.write_text("rules: [{standbys: 1, spread: zone}]")
        subprocess.run((fleet.BUILD / "bin" / "batonctl", "--endpoint", self.nodes["n1"].grpc, "placement", "set", rules),
                       stdout=subprocess.DEVNULL, check=True)

    def start(self, name):
        # The lease lasts so long that no death is known by its end.
        return self.running.node(self.etcd, self.name, name, shards=SHARDS, guard="own", ttl="60s",
                                 zone="ab"[int(name[1:]) % 2])

    def all_ready(self, members):
        """The shards as one node has them, if `members` nodes live and each shard is led and has a ready standby; else None."""
        node = next(node for node in self.nodes.values() if node.running())
        status, shards = json.loads(node.get("/v1/status")), node.shards()
        rested = len(status["nodes"]) == members and not status["moves"]
        return shards if rested and all(shard["leader"] and ready(shard) for shard in shards) else None

    def kill(self, name):
        """Returns how long the group had a shard of the node without a leader, and the shards that went astray."""
        before = fleet.until("each shard has a ready standby", lambda: self.all_ready(len(NODES)))
        other = next(self.nodes[each] for each in NODES if each != name)
        lost = {shard["shard"]: shard for shard in before if shard["leader"] == name}
        self.nodes[name].kill()
        begun = time.monotonic()
        fleet.until(f"the shards of {name} are led", lambda: self.led_by_others(other, name))
        took = time.monotonic() - begun
        astray = []
        for number, shard in lost.items():
            heir, term, reason = self.heir(other, shard)
            if reason in ("rebalance", "drain"):
                self.moved += 1
            elif heir in ready(shard):
                continue
            elif self.was_ready(heir, number, term):
                self.later += 1
            else:
                astray.append(f"shard {number} of {name} went to {heir} ({reason}), and {' and '.join(ready(shard))} was ready")
        self.running.forget(self.nodes[name])
        self.nodes[name] = self.start(name)
        return len(lost), took, astray

    def end(self):
        for node in self.nodes.values():
            self.running.forget(node)

    @staticmethod
    def heir(node, lost):
        """The node that took the shard first, in which term and why: balance may have moved it since."""
        seen = [each for each in json.loads(node.get("/v1/status"))["recent"]
                if each["shard"] == lost["shard"] and each["term"] > lost["term"] and each["to"] is not None]
        first = min(seen, key=lambda each: each["term"], default={"to": "a node that nobody saw", "term": 0, "reason": "not known"})
        return first["to"], first["term"], first["reason"]

    def was_ready(self, node, shard, term):
        """Whether the node's record said so when it claimed the shard. A shard whose leaders died soon waits, and another node may
        have become ready meanwhile."""
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
    shards, later, moved, times, astray = 0, 0, 0, [], []
    with fleet.Fleet() as running:
        etcd = running.etcd()
        for first in range(0, options.count, OF_A_ROUND):
            group = Group(running, etcd, f"round{first // OF_A_ROUND}")
            for victim in draw.sample(NODES, OF_A_ROUND)[:options.count - first]:
                count, took, wrong = group.kill(victim)
                shards += count
                times.append(took)
                astray += wrong
            later += group.later
            moved += group.moved
            group.end()
    for line in astray[:20]:
        print(line)
    print(f"{options.count} kills, {shards} shards: {len(astray)} not led by a ready standby, {later} by one that became "
          f"ready while they waited, {moved} moved right before; led again within {statistics.median(times):.2f} s (median), "
          f"{max(times):.2f} s (longest)")
    sys.exit(1 if astray else 0)


if __name__ == "__main__":
    main()
