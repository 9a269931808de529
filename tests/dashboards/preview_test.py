#!/usr/bin/env python3
"""The previewer draws both dashboards from a real Prometheus, and the sick shard is named by each."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import fleet
import panels

PREVIEW = fleet.ROOT / "dashboards" / "preview"
GROUP, SICK = "orders", 7


class Preview(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(fleet.Fleet(named=True))
        etcd = cls.fleet.etcd()
        cls.prometheus = cls.fleet.start_prometheus()
        nodes = [cls.fleet.node(etcd, GROUP, name) for name in ("n1", "n2")]
        fleet.await_balanced(nodes)
        fleet.until("all shards are scraped",
                    lambda: cls.prometheus.value("sum(baton_shard_leader)") == len(nodes[0].shards()))
        # Of a newer version than the nodes are: nobody leads it.
        etcd.ctl("put", f"/baton/v1/{GROUP}/shards/{SICK}", value=b"\x08\x02")
        seen = f'max_over_time(baton_shard_leader{{shard="{SICK}"}}[10s])'
        fleet.until("it is seen nowhere", lambda: not cls.prometheus.query(seen))

    def run_preview(self, *words):
        return subprocess.run(("node", PREVIEW / "preview.mjs", *words), capture_output=True, text=True, check=False)

    def draw(self, name):
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder) / "picture.png"
            ran = self.run_preview("--prometheus", self.prometheus.url, "--dashboard", panels.GRAFANA / name,
                                   "--out", picture, "--seconds", "600", "--interval", "1")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            return ran.stdout

    def test_draws_both_dashboards_and_names_the_sick_shard(self):
        for name in ("fleet.json", "shards.json"):
            with self.subTest(name):
                shown = self.draw(name)
                self.assertIn("a preview, not Grafana", shown)
                self.assertRegex(shown, rf"(?m)^{SICK}\s+nobody\s+n\d$")

    def test_says_in_one_line_what_is_wrong(self):
        ran = self.run_preview("--prometheus", self.prometheus.url, "--dashboard", panels.GRAFANA / "fleet.json")
        self.assertEqual((ran.returncode, ran.stderr), (2, "preview: --out is missing\n"))
        ran = self.run_preview("--prometheus", self.prometheus.url, "--dashboard", panels.GRAFANA / "fleet.json",
                               "--out", "/dev/null", "--group", "g", "--seconds", "soon")
        self.assertEqual((ran.returncode, ran.stderr), (2, "preview: --seconds soon: a whole number is expected\n"))


def installed():
    """All that the lock file says, and the browser."""
    done_for = PREVIEW / "node_modules" / ".installed-lock.json"
    return (done_for.exists() and done_for.read_bytes() == (PREVIEW / "package-lock.json").read_bytes()
            and pathlib.Path("/usr/bin/chromium").exists())


if __name__ == "__main__":
    if not installed():
        print("skipped: no npm packages in dashboards/preview, or no Chromium; tests/run.sh installs them")
        sys.exit(77)
    unittest.main()
