#!/usr/bin/env python3
"""Every alert, fired by a fault of real nodes on a real etcd, scraped by a real Prometheus with the rules that are
shipped. Only their durations are shortened (SHORTER), since nobody waits six hours for a test.

Not fired here, and why:

| alert | why |
| --- | --- |
| StaleTerms | No program of this repository exports a guard's counter: the application that owns the fence does, by `baton/prometheus.h`. What its collectable exports is compared in tests/runtime/collectables_test.cc, the alert on it in alerts_test.yaml. |
"""
import pathlib
import re
import shutil
import tempfile
import unittest

import yaml

import fleet
from rules_test import ALERTS, PROMETHEUS

NOT_FIRED = {"StaleTerms"}

# Scrapes and evaluations come each second. A range holds several of them.
SHORTER = {"15s": "1s", "30s": "2s", "1m": "3s", "2m": "4s", "5m": "6s", "10m": "8s", "15m": "30s", "30m": "8s",
           "1h": "30s", "6h": "40s", "1d": "2m"}


def shortened(path):
    """A rule file with other durations, and nothing else changed."""
    rules = yaml.safe_load(path.read_text(encoding="utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            if "for" in rule:
                rule["for"] = SHORTER[rule["for"]]
            rule["expr"] = re.sub(r"(\[|offset )(\w+)", lambda found: found[1] + SHORTER[found[2]], rule["expr"])
    return path.name, yaml.safe_dump(rules)


class AlertsLive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(fleet.Fleet())
        cls.etcd = cls.fleet.etcd()
        cls.prometheus = cls.fleet.start_prometheus(
            [shortened(PROMETHEUS / name) for name in ("rules.yaml", "alerts.yaml")])
        cls.fired = set()

    def setUp(self):
        self.group = self.id().rsplit(".", 1)[1].removeprefix("test_")[:60]

    def tearDown(self):
        for node in [node for node in self.fleet.nodes if node.group == self.group]:
            self.fleet.forget(node)

    def start(self, *names, **flags):
        """Nodes of this test's group, with no alert firing for it; scraped a few times."""
        nodes = [self.fleet.node(self.etcd, self.group, name, **flags) for name in names]
        fleet.await_balanced(nodes)
        scraped = f'count(count_over_time(baton_shards{{group="{self.group}"}}[10s]) >= 4) == {len(names)}'
        fleet.until("every node was scraped", lambda: self.prometheus.query(scraped))
        fleet.until("no alert fires", lambda: not self.prometheus.firing(self.group))
        return nodes

    def await_firing(self, *names, instance=None):
        """Until those alerts fire for the group (and instance), with texts that say so."""
        def found():
            firing = self.prometheus.firing(self.group)
            return [[one for one in firing.get(name, ())
                     if instance is None or one["labels"].get("instance") == instance] for name in names]
        try:
            fleet.until(f"{names} fire for {self.group}", lambda: all(found()))
        except fleet.Unmet as unmet:
            seen = self.prometheus.query(f'ALERTS{{group="{self.group}"}}[2m]') + self.prometheus.query("up")
            raise fleet.Unmet(f"{unmet}\n" + "\n".join(map(str, seen))) from unmet
        for alert in [one for some in found() for one in some]:
            self.fired.add(alert["labels"]["alertname"])
            for text in alert["annotations"].values():
                self.assertNotRegex(text, r"<no value>|<error|%!|\{\{")
            self.assertIn(self.group, alert["annotations"]["summary"] + alert["annotations"]["description"])

    def await_quiet(self, *names):
        fleet.until(f"{names} don't fire for {self.group}",
                    lambda: not set(names) & set(self.prometheus.firing(self.group)))

    def test_weightless(self):
        """The only node that takes shards dies; one of weight 0 is left. It ends when another one comes."""
        first, _ = [self.fleet.node(self.etcd, self.group, name, weight=weight)
                    for name, weight in (("n1", 1), ("n2", 0))]
        led = f'baton:leaderless:ratio{{group="{self.group}"}} == 0'
        fleet.until("all shards are seen with a leader", lambda: self.prometheus.query(led))
        self.fleet.forget(first)
        self.await_firing("ShardWithoutLeader", "RecoveryTooSlow")
        self.fleet.node(self.etcd, self.group, "n3")
        self.await_quiet("ShardWithoutLeader", "RecoveryTooSlow")

    def two_etcds(self, kind, writes_before):
        """A group of the same name on two etcds, in one job: an operator's mistake, and really two leaders. Both etcds
        are new, so that only the writes before tell their terms apart."""
        for count, name in enumerate(("n1", "n2")):
            etcd = self.fleet.etcd(f"{self.group}-{name}")
            for _ in range(count * writes_before):
                etcd.ctl("put", "before", value=b"the group")
            self.fleet.node(etcd, self.group, name)
        self.await_firing("ShardHasTwoLeaders")
        self.assertLessEqual(kind, {alert["labels"]["kind"] for alert in
                                    self.prometheus.firing(self.group)["ShardHasTwoLeaders"]})

    def test_two_etcds_one_term(self):
        self.two_etcds({"same_term"}, 0)

    def test_two_etcds_two_terms(self):
        self.two_etcds({"two_terms"}, 50)

    def test_flapping(self):
        """An operator moves one shard back and forth; Prometheus sees each of its terms."""
        nodes = self.start("n1", "n2")
        term = f'baton:shard_term:max{{group="{self.group}",shard="3"}}'
        leader = next(one["leader"] for one in nodes[0].shards() if one["shard"] == 3)
        names = [leader, next(node.name for node in nodes if node.name != leader)]
        self.fleet.ctl(nodes[0], "pause")  # balance would move it back, and refuse the next one
        for turn in range(1, 9):
            before = fleet.until("a term is seen", lambda: self.prometheus.value(term))
            self.fleet.ctl(nodes[0], "shards", "transfer", "3", "--to", names[turn % 2])
            fleet.until("the new term is seen", lambda: (self.prometheus.value(term) or 0) > before)
        self.await_firing("LeadershipFlapping")
        self.await_quiet("LeadershipFlapping")

    def test_cut_off(self):
        """One node's way to etcd is cut, while others take its shards and move on; then it is mended."""
        relay = self.fleet.relay(self.etcd.endpoint)
        self.start("n1", "n2")
        lonely = self.fleet.node(relay, self.group, "n3")
        fleet.await_balanced([node for node in self.fleet.nodes if node.group == self.group])
        relay.cut()
        self.await_firing("RenewalStalled", "ViewStale", instance=lonely.http)
        relay.mend()
        self.await_quiet("RenewalStalled", "ViewStale")

    def test_paused(self):
        """Balance is paused while a node joins; it goes on, and all is even."""
        first, = self.start("n1")
        self.fleet.ctl(first, "pause")
        self.fleet.node(self.etcd, self.group, "n2")
        self.await_firing("Imbalanced")
        self.fleet.ctl(first, "resume")
        self.await_quiet("Imbalanced")

    def test_unprepared(self):
        """The application of a node that joins never finishes preparing: its moves time out."""
        self.start("n1", prepare_timeout="1s", callback_timeout="1s")
        self.fleet.node(self.etcd, self.group, "n2", program=fleet.BUILD / "tests" / "hanging_node",
                        mode="prepare", shard=0, ttl=3, callback_ms=1000)
        self.await_firing("MovesStuck")

    def test_failing(self):
        """The application of the only node fails to take its shards up, until the cause is gone."""
        with tempfile.TemporaryDirectory() as folder:
            cause = pathlib.Path(folder) / "down"
            cause.touch()
            self.fleet.node(self.etcd, self.group, "n1", program=fleet.BUILD / "tests" / "hanging_node",
                            mode="throw-all", shard=0, ttl=3, callback_ms=30000, **{"while": cause})
            self.await_firing("ActivationFailing")
            named = r"the worst is shard \d+ on \S+, after \d+ attempts, last error: the database is down\."
            fleet.until("the alert names a shard and its last error", lambda: any(
                re.search(named, one["annotations"]["description"])
                for one in self.prometheus.firing(self.group).get("ActivationFailing", ())))
            cause.unlink()
            self.await_quiet("ActivationFailing")

    def test_deadly(self):
        """The only node that takes shards dies each time it leads them, until it stays. Another one tells."""
        watcher = self.fleet.node(self.etcd, self.group, "n1", weight=0)

        def led():
            return all(shard["leader"] == "n2" and shard["state"] == "led" for shard in watcher.shards())

        for _ in range(4):
            node = self.fleet.node(self.etcd, self.group, "n2")
            fleet.until("n2 leads", led)
            self.fleet.forget(node)
            fleet.until("n2's shards have no leader", lambda: not led())
        self.await_firing("ShardKillsItsLeaders")
        self.fleet.node(self.etcd, self.group, "n2")
        fleet.until("n2 leads", led)
        self.await_quiet("ShardKillsItsLeaders")

    def test_missing(self):
        """An operator says how many nodes there should be; one is killed, and replaced."""
        nodes = self.start("n1", "n2", "n3")
        self.fleet.ctl(nodes[0], "group", "set", "expected-nodes", "3")
        nodes[2].kill()
        self.await_firing("NodesMissing")
        self.fleet.forget(nodes[2])
        self.fleet.node(self.etcd, self.group, "n4")
        self.await_quiet("NodesMissing")

    def test_waited_for(self):
        """Only the node that led a shard may lead it, and it is stopped. It ends when that node is back."""
        nodes = self.start("n1", "n2")
        self.fleet.ctl(nodes[0], "group", "set", "failover=never")
        self.fleet.forget(nodes[1])
        self.await_firing("ShardsWaitForTheirNode")
        self.fleet.node(self.etcd, self.group, "n2")
        self.await_quiet("ShardsWaitForTheirNode")

    def test_unguarded(self):
        """A batond that was copied without baton-guard, beside one that shall have none. It ends with the node."""
        alone = self.fleet.folder / "batond-alone"  # Fleet gives its own one --guard off
        shutil.copy(fleet.BUILD / "bin" / "batond", alone)
        nodes = self.start("n1")
        unguarded = self.fleet.node(self.etcd, self.group, "n2", program=alone)
        self.await_firing("GuardMissing", instance=unguarded.http)
        self.assertEqual(len(self.prometheus.firing(self.group)["GuardMissing"]), len(nodes))
        self.fleet.forget(unguarded)
        self.await_quiet("GuardMissing")

    def test_killed(self):
        """A node is killed; it comes back at the same address."""
        nodes = self.start("n1", "n2", "n3")
        nodes[2].kill()
        self.await_firing("NodeDown", instance=nodes[2].http)
        self.fleet.nodes.remove(nodes[2])
        self.fleet.node(self.etcd, self.group, "n3", http=nodes[2].http)
        self.await_quiet("NodeDown")

    def test_all_killed(self):
        """All nodes are killed, so that nobody is left to say anything; one comes back, at another address."""
        for node in self.start("n1", "n2"):
            node.kill()
        self.await_firing("GroupDown", "NodeDown")
        self.fleet.node(self.etcd, self.group, "n1", http="127.0.0.1:0")
        self.await_quiet("GroupDown")

    def test_ruled_out(self):
        """A rule wants a node that never was, and then one that is gone. It ends when the rule does."""
        nodes = self.start("n1", "n2")
        with tempfile.TemporaryDirectory() as folder:
            rules = pathlib.Path(folder) / "rules.yaml"
            rules.write_text("rules: [{shards: 3, node: n9}]", encoding="utf-8")
            self.fleet.ctl(nodes[0], "placement", "set", str(rules))
            self.await_firing("ShardsLedAgainstRules")
            rules.write_text("rules: [{shards: 3, node: n2}]", encoding="utf-8")
            self.fleet.ctl(nodes[0], "placement", "set", str(rules))
            fleet.until("n2 leads shard 3", lambda: any(
                shard["shard"] == 3 and shard["leader"] == "n2" for shard in nodes[0].shards()))
            self.fleet.forget(nodes[1])
            self.await_firing("ShardsNobodyMayLead")
            rules.write_text("rules: []", encoding="utf-8")
            self.fleet.ctl(nodes[0], "placement", "set", str(rules))
            self.await_quiet("ShardsNobodyMayLead", "ShardsLedAgainstRules")

    def test_unattended(self):
        """A rule asks for standbys in other zones, and no node has a zone; then the leader's node is the last one. It
        ends when the rule does."""
        nodes = self.start("n1", "n2")
        with tempfile.TemporaryDirectory() as folder:
            rules = pathlib.Path(folder) / "rules.yaml"
            rules.write_text("rules: [{standbys: 1, spread: zone}]", encoding="utf-8")
            self.fleet.ctl(nodes[0], "placement", "set", str(rules))
            self.await_firing("ShardsNotApart")
            self.fleet.forget(nodes[1])
            self.await_firing("ShardsWithoutReadyStandby", "ShardsWithFewerStandbys")
            rules.write_text("rules: []", encoding="utf-8")
            self.fleet.ctl(nodes[0], "placement", "set", str(rules))
            self.await_quiet("ShardsWithoutReadyStandby", "ShardsWithFewerStandbys")

    def test_newer_balancer(self):
        """The balancer's record is of a newer schema, as after a rollback: no node replaces it."""
        self.start("n1", "n2")
        self.etcd.ctl("put", f"/baton/v1/{self.group}/balancer", value=b"\x08\x02")
        self.await_firing("BalancerMissing")
        self.etcd.ctl("del", f"/baton/v1/{self.group}/balancer")
        self.await_quiet("BalancerMissing")

    def test_damaged(self):
        """Somebody writes something else into a shard's record."""
        self.start("n1", "n2")
        self.etcd.ctl("put", f"/baton/v1/{self.group}/shards/3", value=b"\xff\xffno record")
        self.await_firing("RecordsQuarantined")

    def test_too_many(self):
        """A node leads more shards than it may show."""
        self.fleet.node(self.etcd, self.group, "n1", max_shard_series=5)
        self.await_firing("SeriesCut")

    def test_zz_all_but_those_of_the_table_fired(self):
        """Runs last, as its name sorts last."""
        self.assertEqual(self.fired | NOT_FIRED, set(ALERTS))


if __name__ == "__main__":
    unittest.main()
