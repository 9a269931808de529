#!/usr/bin/env python3
"""The rules of Grafana's dashboard-linter, by their names there, as checks of our own: the linter itself is a Go
program that Debian doesn't have. Left out are those for Loki, and those that are off until configured."""
import re
import subprocess
import tempfile
import unittest

import yaml

import panels

COMPOSE = panels.GRAFANA.parent.parent / "packaging" / "container" / "compose.yaml"
# Those of Grafana's units that we use.
UNITS = {"short", "none", "s", "percentunit", "ops", "reqps", "bytes", "locale", "string"}
SELECTOR = re.compile(r"\b(?:baton|grpc_server|process)_\w+(\{[^}]*\})?")


class Lint(unittest.TestCase):
    def each(self, things):
        for dashboard in panels.dashboards():
            for thing in things(dashboard):
                with self.subTest(dashboard=dashboard["title"], of=thing.get("title") or thing.get("name")):
                    yield dashboard, thing

    def variables(self, dashboard):
        return {one["name"]: one for one in dashboard["templating"]["list"]}

    def targets(self):
        for _, panel in self.each(panels.panels):
            yield from ((panel, target["expr"]) for target in panel["targets"])

    def test_template_datasource_rule(self):
        for dashboard in panels.dashboards():
            found = [one for one in dashboard["templating"]["list"] if one["type"] == "datasource"]
            self.assertEqual([(one["name"], one["label"], one["query"]) for one in found],
                             [("datasource", "Data source", "prometheus")])

    def check_label_variable(self, name):
        for dashboard in panels.dashboards():
            one = self.variables(dashboard)[name]
            self.assertEqual((one["type"], one["label"], one["multi"], one["allValue"], one["datasource"]["uid"]),
                             ("query", name.capitalize(), True, ".+", "${datasource}"))

    def test_template_job_rule(self):
        self.check_label_variable("job")

    def test_template_instance_rule(self):
        self.check_label_variable("instance")

    def test_template_label_promql_rule(self):
        """The queries of variables are read by Grafana's functions, and what is in them by Prometheus."""
        expressions = []
        for dashboard in panels.dashboards():
            for one in dashboard["templating"]["list"]:
                if one["type"] == "query":
                    found = re.fullmatch(r"label_values\((.+), (\w+)\)|query_result\((.+)\)", one["query"])
                    self.assertIsNotNone(found, one["query"])
                    expressions.append(found[1] or found[3])
        self.parse(expressions)

    def test_template_on_time_change_reload_rule(self):
        for dashboard in panels.dashboards():
            for one in dashboard["templating"]["list"]:
                self.assertTrue(one["type"] != "query" or one["refresh"] == 2, one["name"])

    def test_uneditable_dashboard(self):
        self.assertEqual({dashboard["editable"] for dashboard in panels.dashboards()}, {False})

    def test_panel_datasource_rule(self):
        for _, panel in self.each(panels.panels):
            for one in [panel, *panel["targets"]]:
                self.assertEqual(one["datasource"], {"type": "prometheus", "uid": "${datasource}"})

    def test_panel_title_description_rule(self):
        for _, panel in self.each(panels.panels):
            self.assertTrue(panel["title"].strip() and panel["description"].strip())

    def test_panel_units_rule(self):
        for _, panel in self.each(panels.panels):
            self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS)

    def test_panel_no_targets_rule(self):
        for _, panel in self.each(panels.panels):
            self.assertTrue(panel["targets"])

    def test_target_promql_rule(self):
        self.parse([expression for _, expression in self.targets()])

    def test_target_rate_interval_rule(self):
        for panel, expression in self.targets():
            for function, window in re.findall(r"\b(i?rate|increase)\([^()]*\[([^\]]+)\]", expression):
                self.assertEqual(window, "$__rate_interval", f"{panel['title']}: {function}")

    def check_matcher(self, matcher):
        for panel, expression in self.targets():
            for found in SELECTOR.finditer(expression):
                self.assertIn(matcher, found[1] or "", f"{panel['title']}: {found[0]}")

    def test_target_job_rule(self):
        self.check_matcher("job=~")

    def test_target_instance_rule(self):
        self.check_matcher("instance=~")

    def test_target_counter_agg_rule(self):
        """But for a count that is shown as it is: a shard's series begin with their first gain, which no rate sees."""
        for panel, expression in self.targets():
            if panel["title"] == "Why they are led there":
                continue
            for found in re.finditer(r"(\w*\()?\b\w+_total\{[^}]*\}(\[)?", expression):
                self.assertIn(found[1], ("rate(", "irate(", "increase("), panel["title"])
                self.assertEqual(found[2], "[", panel["title"])

    def parse(self, expressions):
        """By Prometheus, as rules."""
        rules = [{"record": f"parsed:{number}", "expr": panels.filled(expression)}
                 for number, expression in enumerate(expressions)]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}, file)
            file.flush()
            answer = subprocess.run(("promtool", "check", "rules", "--lint=none", file.name), check=False,
                                    capture_output=True, text=True)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)


class Files(unittest.TestCase):
    def test_are_what_build_py_writes(self):
        answer = subprocess.run(("/usr/bin/python3", panels.GRAFANA / "build.py", "--check"), check=False,
                                capture_output=True, text=True)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))

    def test_have_ids_of_their_own_and_panels_that_don_t_overlap(self):
        self.assertEqual(len({dashboard["uid"] for dashboard in panels.dashboards()}), 2)
        for dashboard in panels.dashboards():
            self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}), len(dashboard["panels"]))
            taken = set()
            for panel in dashboard["panels"]:
                place = panel["gridPos"]
                cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                         for y in range(place["y"], place["y"] + place["h"])}
                self.assertFalse(taken & cells, panel["title"])
                taken |= cells
                self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])

    def test_runbooks_name_panels_that_exist(self):
        titles = {panel["title"] for dashboard in panels.dashboards() for panel in panels.panels(dashboard)}
        text = (panels.GRAFANA.parent / "runbooks.md").read_text(encoding="utf-8")
        named = {name for some in re.findall(r"[Pp]anels? ((?:\*[^*]+\*(?:, | and )?)+)", text)
                 for name in re.findall(r"\*([^*]+)\*", some)}
        self.assertTrue(named)
        self.assertEqual(named - titles, set())

    def test_compose_example_mounts_what_is_there(self):
        folder = COMPOSE.parent
        compose = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
        mounted = [volume.split(":")[0] for service in compose["services"].values()
                   for volume in service.get("volumes", ()) if volume.startswith(".")]
        self.assertTrue(mounted)
        for path in mounted:
            self.assertTrue((folder / path).exists(), path)

    def test_compose_example_runs_the_targets_of_the_scrape_configuration(self):
        compose = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
        scrapes = yaml.safe_load((panels.GRAFANA.parent / "prometheus" / "prometheus.yaml").read_text(encoding="utf-8"))
        named = {target.split(":")[0] for job in scrapes["scrape_configs"] for some in job["static_configs"]
                 for target in some["targets"]}
        self.assertEqual(named - set(compose["services"]), set())

    def test_provisioning_names_where_compose_puts_the_dashboards(self):
        provider = yaml.safe_load((panels.GRAFANA / "provisioning" / "dashboards" / "baton.yaml")
                                  .read_text(encoding="utf-8"))["providers"][0]
        compose = COMPOSE.read_text(encoding="utf-8")
        for name in ("fleet.json", "shards.json"):
            self.assertIn(f":{provider['options']['path']}/{name}:ro", compose)


if __name__ == "__main__":
    unittest.main()
