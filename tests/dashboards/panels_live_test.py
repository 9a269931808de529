#!/usr/bin/env python3
"""Every query of the dashboards, run by a real Prometheus that scrapes a real group to which things happen: each must
give something. And metrics and panels know each other: what a panel, rule or alert names is exported, and what is
exported is on a panel, or in a table that says why not.
"""
import re
import unittest

import fleet
import panels
from rules_test import PROMETHEUS

# Exported by applications that use the library, so on no panel for nodes. Put them on the application's own dashboard.
OF_APPLICATIONS = {
    "baton_stale_terms_total": "a fence's guard; there is an alert on it",
    "baton_misroutes_total": "an owner's guard",
    "baton_router_calls_total": "a router", "baton_router_attempts_total": "a router",
    "baton_router_misroutes_total": "a router", "baton_router_redirects_total": "a router",
    "baton_router_waits_total": "a router", "baton_router_superseded_total": "a router",
    "baton_router_intercepted_calls_total": "a router", "baton_router_intercepted_misroutes_total": "a router",
    "baton_router_reconnects_total": "a router", "baton_router_streams_total": "a router",
    "baton_sidecar_bounds_reached_total": "a batond with a sidecar", "baton_router_revision": "a router", "baton_router_stale": "a router", "baton_router_age_seconds": "a router",
}
# Exported by nodes, and on no panel.
ON_NO_PANEL = {
    "baton_shard_failed_activations": "only while a shard fails; how many fail is shown, and `batonctl status` names the worst",
    "baton_worst_failing_shard": "likewise; the alert ActivationFailing shows it",
    "baton_build_info": "the version; the variables of the dashboard Fleet and the alert NodeDown are made from it",
    "baton_grpc_limit": "the same always; compare with it what is open",
    "baton_guard_running": "of nodes that shall have a guard; the alert GuardMissing says if one has none",
    "baton_guard_starts_total": "likewise",
    "baton_expected_nodes": "set by few; the alert NodesMissing compares it with the live nodes",
    "baton_shards_suspended": "the panel of leases and the alert RenewalStalled show the cause",
    "grpc_server_started_total": "what is handled is shown; the difference is what is open",
    "baton_standbys": "of groups whose rules ask for standbys; how many shards lack a ready one is shown",
    "baton_standbys_ready": "likewise",
    "process_virtual_memory_bytes": "mostly address space that is never touched; resident memory is shown",
    "process_threads": "moves with the callback pool, which grows by itself; no trouble follows from it",
}


class PanelsLive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(fleet.Fleet())
        cls.etcd = cls.fleet.etcd()
        cls.prometheus = cls.fleet.start_prometheus()
        cls.nodes = [cls.fleet.node(cls.etcd, "live", name, guard="own") for name in ("n1", "n2", "n3")]
        cls.fleet.node(cls.etcd, "live", "bystander", weight=0)
        fleet.await_balanced(cls.nodes)
        cls.exported = {name for path in ("/metrics", "/metrics/shards")
                        for name in fleet.series_names(cls.nodes[0].get(path))}

    def queries(self):
        return {(dashboard["title"], panel["title"], panels.filled(target["expr"], "live"))
                for dashboard in panels.dashboards() for panel in panels.panels(dashboard)
                for target in panel["targets"]}

    def await_answers(self, pending, meanwhile=lambda: None):
        """Takes those off that have an answer now, until none is left."""
        def left():
            meanwhile()
            pending.difference_update([one for one in pending if self.prometheus.query(one[2])])
            return not pending
        try:
            fleet.until("queries give something", left)
        except fleet.Unmet as unmet:
            self.fail("\n".join(map(str, [unmet, *pending])))

    def test_every_query_gives_something(self):
        """Transitions and moves come from an operator's transfers; what wants attention, from the death of all nodes
        that take shards."""
        pending = self.queries()
        attention = {one for one in pending if one[1] == "Shards that want attention"}
        pending -= attention
        def transfer():
            leader = self.nodes[0].shards()[3]["leader"]
            target = next(node.name for node in self.nodes if node.name != leader)
            try:
                self.fleet.ctl(self.nodes[0], "shards", "transfer", "3", "--to", target)
            except fleet.Unmet:
                pass  # balance is moving it just now, which serves as well
        self.await_answers(pending, transfer)
        for node in self.nodes:
            node.kill()
        self.await_answers(attention)

    def test_panels_rules_and_alerts_name_what_is_exported(self):
        texts = [expression for _, _, expression in self.queries()]
        texts += [one["query"] for dashboard in panels.dashboards() for one in dashboard["templating"]["list"]]
        named = {panels.family(name) for text in texts for name in panels.METRIC.findall(text)}
        for name in ("rules.yaml", "alerts.yaml"):
            text = (PROMETHEUS / name).read_text(encoding="utf-8")
            named |= {panels.family(found) for found in re.findall(r"(?<![\w:])baton_\w+", text)}
        self.assertEqual(named - self.exported - set(OF_APPLICATIONS), set())

    def test_what_is_exported_is_on_a_panel_or_excepted(self):
        shown = {panels.family(name) for _, _, expression in self.queries() for name in panels.METRIC.findall(expression)}
        self.assertEqual(self.exported - shown - set(ON_NO_PANEL), set())
        self.assertEqual(set(ON_NO_PANEL) - (self.exported - shown), set(), "excepted for nothing")

    def test_what_the_source_exports_is_seen_here_or_excepted(self):
        """Also what no node exports."""
        found = set()
        for path in (fleet.ROOT / "src").rglob("*.cc"):
            found |= set(re.findall(r'"(baton_[a-z_]+)"', path.read_text(encoding="utf-8")))
        found = {name for name in found if not name.endswith("_")}
        self.assertEqual(found - self.exported - set(OF_APPLICATIONS), set())
        self.assertEqual(set(OF_APPLICATIONS) - found, set(), "excepted for nothing")


if __name__ == "__main__":
    unittest.main()
