"""packaging/container/compose.yaml by podman-compose: etcd, three nodes and Prometheus come up by themselves, the group is
well, Prometheus scrapes it and has the rules, and a killed node's shards are led by the others.

etcd and Prometheus are Debian's, since no registry is reached here; Alertmanager and Grafana are not run. Skipped, with a
line that says why, where that is not possible.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse

import containers
from containers import fleet

HERE = pathlib.Path(__file__).resolve().parent
SERVICES = ("etcd", "node1", "node2", "node3", "prometheus")
SHARDS = 64


class Compose(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="baton-compose-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        (folder / "containers.conf").write_text(
            f'[engine]\nruntime = "{containers.RUNTIME}"\n'
            '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n')
        self.port, = fleet.free_ports(1)
        self.project = f"baton-test-{os.getpid()}"
        self.environment = {**os.environ, "CONTAINERS_CONF": str(folder / "containers.conf"),
                            "PROMETHEUS_PORT": str(self.port)}

    def run_here(self, *words):
        return subprocess.run(words, capture_output=True, text=True, env=self.environment, cwd=HERE)

    def compose(self, *words):
        return self.run_here("podman-compose", "--project-name", self.project, "--file",
                             str(containers.ROOT / "packaging/container/compose.yaml"), "--file",
                             str(HERE / "standins.yaml"), *words)

    def ctl(self, node, *words):
        return self.run_here("podman", "exec", f"{self.project}_{node}_1", "batonctl", *words)

    def query(self, expression):
        try:
            said = json.loads(fleet.fetch(f"http://127.0.0.1:{self.port}/api/v1/query?query="
                                          + urllib.parse.quote(expression)))
        except OSError:
            return None
        result = said["data"]["result"]
        return float(result[0]["value"][1]) if result else None

    def test_comes_up_and_survives_a_death(self):
        self.addCleanup(self.run_here, "podman", "network", "rm", "--force", f"{self.project}_default")
        self.addCleanup(self.compose, "down", "--volumes", "--timeout", "20")
        up = self.compose("up", "--detach", "--no-build", *SERVICES)
        self.assertEqual(up.returncode, 0, up.stderr)
        try:
            fleet.until("node1 answers", lambda: self.ctl("node1", "status").returncode == 0)
        except fleet.Unmet as unmet:
            raise fleet.Unmet(f"{unmet}: {up.stdout[-1500:]} {up.stderr[-1500:]} "
                              + self.run_here("podman", "logs", f"{self.project}_node1_1").stderr[-1500:])
        well = self.ctl("node1", "health", "--wait", "--timeout", "60s")
        self.assertEqual(well.returncode, 0, well.stdout + well.stderr)
        fleet.until("Prometheus sees three ready nodes", lambda: self.query("sum(baton_node_ready)") == 3)
        fleet.until("shards are scraped", lambda: self.query("count(baton_shard_leader == 1)") == SHARDS)
        rules = json.loads(fleet.fetch(f"http://127.0.0.1:{self.port}/api/v1/rules"))["data"]["groups"]
        self.assertTrue(any(group["name"] == "baton.alerts" for group in rules))
        # The second process of the container is the node: the guard ends its session, and the others lead.
        node = f"{self.project}_node2_1"
        first = int(self.run_here("podman", "inspect", "--format", "{{.State.Pid}}", node).stdout)
        child = [pid for pid, name in containers.processes_below(first).items() if name == "batond" and pid != first]
        os.kill(child[0], 9)
        fleet.until("a death is proven", lambda: (self.query('sum(baton_transitions_total{reason="process_died"})') or 0) > 0)
        again = self.ctl("node1", "health", "--wait", "--timeout", "60s")
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)


def main():
    why = containers.why_not() or (None if shutil.which("podman-compose") else "missing here: podman-compose")
    if why is None:
        containers.build_image()
        why = containers.host_can_run()
    if why is None:
        made = subprocess.run(("buildah", "build", "--layers", "--isolation=chroot", "--network=host", "--tag", "localhost/baton-standins",
                               "--file", HERE / "standins.Containerfile", HERE), capture_output=True, text=True)
        if made.returncode != 0:
            raise AssertionError(made.stderr[-2000:])
    if why is not None:
        print(f"compose: skipped, {why}")
        return containers.SKIPPED
    return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    raise SystemExit(main())
