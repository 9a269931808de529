#!/usr/bin/env python3
"""The rules and alerts as files: promtool and amtool accept them, and each alert is complete."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROMETHEUS = ROOT / "dashboards" / "prometheus"

# The alerts that the interface promises, in its order.
ALERTS = ["ShardWithoutLeader", "ShardKillsItsLeaders", "ShardHasTwoLeaders", "LeadershipFlapping",
          "RecoveryTooSlow", "RenewalStalled", "Imbalanced", "MovesStuck", "ActivationFailing", "StaleTerms",
          "ViewStale", "NodeDown", "NodesMissing", "GuardMissing", "ShardsWaitForTheirNode", "ShardsNobodyMayLead",
          "ShardsLedAgainstRules", "ShardsWithoutReadyStandby", "ShardsWithFewerStandbys", "ShardsNotApart", "GroupDown",
          "BalancerMissing", "RecordsQuarantined", "SeriesCut"]


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def alerts():
    return [rule for group in load(PROMETHEUS / "alerts.yaml")["groups"] for rule in group["rules"]]


class Tools(unittest.TestCase):
    def accept(self, *command, folder=ROOT):
        answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)

    def test_promtool_accepts_the_rules(self):
        self.accept("promtool", "check", "rules", "--lint=all", "--lint-fatal",
                    str(PROMETHEUS / "rules.yaml"), str(PROMETHEUS / "alerts.yaml"))

    def test_promtool_accepts_the_scrape_configuration(self):
        self.accept("promtool", "check", "config", str(PROMETHEUS / "prometheus.yaml"))

    def test_promtool_accepts_the_lines_for_nodes_with_tls(self):
        text = (PROMETHEUS / "prometheus.yaml").read_text(encoding="utf-8")
        with_tls, lines = re.subn(r"# (scheme|tls_config): ", r"\1: ", text)
        self.assertEqual(lines, 2 * len(yaml.safe_load(text)["scrape_configs"]))
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            for file in ("rules.yaml", "alerts.yaml"):
                shutil.copy(PROMETHEUS / file, here)
            self.accept("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=prometheus",
                        "-keyout", "prometheus.key", "-out", "prometheus.pem", folder=here)
            shutil.copy(here / "prometheus.pem", here / "ca.pem")
            (here / "prometheus.yaml").write_text(with_tls, encoding="utf-8")
            self.accept("promtool", "check", "config", "prometheus.yaml", folder=here)

    def test_promtool_finds_each_alert_firing_and_quiet_as_expected(self):
        self.accept("promtool", "test", "rules", "alerts_test.yaml", "alerts_day_test.yaml", folder=HERE)

    def test_amtool_accepts_the_alertmanager_configuration(self):
        self.accept("amtool", "check-config", str(PROMETHEUS / "alertmanager.yaml"))

    def test_amtool_routes_by_severity(self):
        for severity, receiver in (("critical", "on-call"), ("warning", "team"), ("info", "nobody")):
            self.accept("amtool", "config", "routes", "test", f"--verify.receivers={receiver}",
                        f"--config.file={PROMETHEUS / 'alertmanager.yaml'}", f"severity={severity}")


class Alerts(unittest.TestCase):
    def test_are_those_that_the_interface_promises(self):
        self.assertEqual(list(dict.fromkeys(rule["alert"] for rule in alerts())), ALERTS)

    def test_have_severity_summary_description_and_a_runbook(self):
        for rule in alerts():
            with self.subTest(rule["alert"]):
                self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"))
                self.assertEqual(sorted(rule["annotations"]), ["description", "runbook_url", "summary"])
                self.assertEqual(rule["annotations"]["runbook_url"],
                                 f"dashboards/runbooks.md#{rule['alert'].lower()}")

    def test_have_a_row_with_their_severities_in_the_readme(self):
        text = (ROOT / "dashboards" / "README.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| ([A-Z]\w+) \| ([a-z, ]+) \|", text, re.MULTILINE)
        severities = {}
        for rule in alerts():
            severities.setdefault(rule["alert"], set()).add(rule["labels"]["severity"])
        self.assertEqual([alert for alert, _ in rows], ALERTS)
        self.assertEqual({alert: set(named.split(", ")) for alert, named in rows}, severities)

    def test_have_a_firing_and_a_quiet_case(self):
        names = [case["name"] for case in load(HERE / "alerts_test.yaml")["tests"]]
        for alert in ALERTS:
            with self.subTest(alert):
                self.assertTrue(any(name.startswith(f"{alert} fires") for name in names))
                self.assertTrue(any(name.startswith(f"{alert} is quiet") or
                                    name.startswith(f"{alert} fires") and ", and not for" in name
                                    for name in names))

    def test_are_the_only_ones_that_the_alertmanager_example_names(self):
        named = re.findall(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+",
                           (PROMETHEUS / "alertmanager.yaml").read_text(encoding="utf-8"))
        self.assertEqual(set(named) - set(ALERTS), set())


class Runbooks(unittest.TestCase):
    def entries(self):
        text = (ROOT / "dashboards" / "runbooks.md").read_text(encoding="utf-8")
        return dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))

    def test_has_an_entry_for_each_alert_and_no_other(self):
        self.assertEqual(list(self.entries()), ALERTS)

    def test_says_what_it_means_how_to_look_and_what_to_do(self):
        for alert, entry in self.entries().items():
            with self.subTest(alert):
                self.assertEqual(re.findall(r"^\*\*(.+?)\*\*", entry, re.MULTILINE),
                                 ["What it means.", "How to look.", "What to do."])

    def test_links_lead_to_entries(self):
        for alert, entry in self.entries().items():
            for anchor in re.findall(r"\]\(#(\w+)\)", entry):
                self.assertIn(anchor, [name.lower() for name in ALERTS], alert)


if __name__ == "__main__":
    unittest.main()
