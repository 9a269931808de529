"""The container image: who runs in it, what it may do, and what the others learn when it ends in each way.

It builds the image with debootstrap and buildah, and runs it with podman, beside a node and an etcd of the host. Skipped,
with a line that says why, where that is not possible.
"""
import json
import pathlib
import shutil
import tempfile
import unittest

import containers
from containers import Container, fleet

SHARDS = 12
STATE = "/var/lib/baton/node"
LONG = 600  # seconds of a lease that nothing in a test waits for: far more than fleet.PATIENCE
SHORT = 5


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="baton-container-"))
        cls.etcd = fleet.Etcd(cls.folder, "etcd")

    @classmethod
    def tearDownClass(cls):
        cls.etcd.kill()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def setUp(self):
        self.group = self._testMethodName
        self.place = self.folder / self.group
        self.place.mkdir()
        self.volume = containers.volume(self.place, "volume")

    def flags(self, node, ttl):
        return {"--group": self.group, "--shards": str(SHARDS), "--node": node, "--etcd": self.etcd.endpoint,
                "--ttl": f"{ttl}s", "--listen": "127.0.0.1:0", "--http": "127.0.0.1:0", "--rebalance-delay": "0s",
                "--settle": "200ms"}

    def on_host(self, ttl=LONG):
        """n1, which sees what becomes of the container's shards."""
        node = fleet.Node(self.place, fleet.BUILD / "bin" / "batond",
                          {**self.flags("n1", ttl), "--state-dir": str(self.place / "n1")})
        self.addCleanup(node.kill)
        return node

    def in_container(self, name, words, entrypoint=None):
        container = Container(f"{self.group}-{name}".lower(), self.volume, words, entrypoint)
        self.addCleanup(container.remove)
        return container

    def node_in_container(self, *more, ttl=LONG):
        """n2, with its port; it has half of the shards."""
        words = [word for pair in self.flags("n2", ttl).items() for word in pair]
        container = self.in_container("n2", [*words, "--ready-file", "/var/lib/baton/ready", *more])
        ready = self.volume / "ready"

        def reads():
            if not container.running():
                raise fleet.Unmet(container.log())
            return ready.exists() and ready.read_text()
        said = json.loads(fleet.until("the container's node is ready", reads))
        self.http = said["http"]
        return container

    def led(self, node):
        """By whom, how many shards."""
        count = {}
        for shard in node.shards():
            count[shard.get("leader")] = count.get(shard.get("leader"), 0) + 1
        return count

    def await_led(self, node, expected):
        fleet.until(f"shards of {self.group} are led {expected}", lambda: self.led(node) == expected)

    def pair(self, *more, ttl=LONG):
        node = self.on_host(ttl)
        container = self.node_in_container(*more, ttl=ttl)
        self.await_led(node, {"n1": SHARDS // 2, "n2": SHARDS // 2})
        return node, container

    def gained(self, node, reason):
        for line in node.get("/metrics").splitlines():
            if line.startswith("baton_transitions_total{") and f'reason="{reason}"' in line:
                return float(line.split()[-1])
        return 0

    def test_runs_without_rights(self):
        """The node's process has a user of its own, no capability, and nowhere to write but its volume."""
        container = self.node_in_container()
        node = container.descendant("batond", container.pid())
        container.descendant("baton-guard", node)
        said = pathlib.Path(f"/proc/{node}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
        self.assertEqual(fields["Uid"].split(), [str(containers.USER)] * 4)
        self.assertEqual({fields[f"Cap{kind}"] for kind in ("Eff", "Prm", "Bnd", "Amb")}, {"0" * 16})
        self.assertEqual(fields["NoNewPrivs"].strip(), "1")
        mounts = [line.split() for line in pathlib.Path(f"/proc/{node}/mounts").read_text().splitlines()]
        root = next(options for _, place, _, options, *_ in mounts if place == "/")
        self.assertIn("ro", root.split(","))
        self.assertEqual(fleet.fetch(f"http://{self.http}/livez").strip(), "ok")

    def test_guard_ends_the_session_of_a_killed_node(self):
        """kill -9 of the node in the container: its shards are led elsewhere long before its lease could end."""
        node, container = self.pair()
        container.kill(container.descendant("batond", container.pid()))
        self.await_led(node, {"n1": SHARDS})
        self.assertEqual(self.gained(node, "process_died"), SHARDS // 2)
        self.assertEqual(container.exit_code(), 128 + 9)

    def test_killed_container_leaves_it_to_the_lease(self):
        """kill -9 of all of the container: its guard dies too, so the lease decides, as docs/operating.md says."""
        node, container = self.pair(ttl=SHORT)
        container.kill()
        self.await_led(node, {"n1": SHARDS})
        self.assertEqual(self.gained(node, "process_died"), 0)
        self.assertEqual(self.gained(node, "lease_expired"), SHARDS // 2)

    def test_next_container_takes_over(self):
        """kill -9 of all of the container, and another one with the same volume: the lock file proves the death, so
        the new node goes on long before the old lease could end."""
        _, container = self.pair()
        container.kill()
        container.exit_code()
        container.remove()
        (self.volume / "ready").unlink(missing_ok=True)
        successor = self.node_in_container()
        self.assertNotIn("waits", successor.log())

    def test_guard_in_another_container(self):
        """The Helm chart's way: the guard is a container of its own, which shares the volume and no process ids. kill -9
        of all of the node's container: the kernel frees the lock, which the guard sees, and the session ends at once."""
        guard = self.in_container("guard", ["--state-dir", STATE, "--etcd", self.etcd.endpoint], "baton-guard")
        node, container = self.pair("--guard", "shared")
        self.assertEqual(set(containers.processes_below(container.pid()).values()), {"batond"})
        container.kill()
        self.await_led(node, {"n1": SHARDS})
        self.assertEqual(self.gained(node, "process_died"), SHARDS // 2)
        self.assertIn("its session was ended", guard.log())
        # It guards the next one, too.
        container.remove()
        (self.volume / "ready").unlink(missing_ok=True)
        successor = self.node_in_container("--guard", "shared")
        self.await_led(node, {"n1": SHARDS // 2, "n2": SHARDS // 2})
        successor.kill()
        self.await_led(node, {"n1": SHARDS})
        self.assertEqual(self.gained(node, "process_died"), SHARDS)
        guard.stop(30)
        self.assertEqual(guard.exit_code(), 0)

    def test_stop_hands_over(self):
        """SIGTERM to the first process: the node hands its shards over, ends with 0, and nothing is left to the guard."""
        node, container = self.pair()
        container.stop(60)
        self.assertEqual(container.exit_code(), 0, container.log())
        self.await_led(node, {"n1": SHARDS})
        self.assertEqual(self.gained(node, "shutdown"), SHARDS // 2)
        self.assertNotIn("its session was ended", container.log())

    def test_wrong_settings_end_it_with_2(self):
        """Exit codes reach whoever runs the container."""
        container = self.in_container("wrong", ["--group", "g"])
        self.assertEqual(container.exit_code(), 2)
        self.assertIn("--shards", container.log())


def main():
    why = containers.why_not()
    if why is None:
        containers.build_image()
        why = containers.host_can_run()
    if why is not None:
        print(f"containers: skipped, {why}")
        return containers.SKIPPED
    return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    raise SystemExit(main())
