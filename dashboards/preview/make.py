#!/usr/bin/env python3
"""Draws the previews of both dashboards: starts a group of real nodes that a real Prometheus scrapes, lets things happen
to it for a minute and a half, and leaves fleet.png and shards.png in FOLDER (default: here).

  make.py [FOLDER]

The last thing that happens makes shard 7 sick: its record becomes one of a newer version than the nodes are, so nobody
leads it. It must be named by the pictures. Needs the npm packages of this folder (npm ci), Chromium and Prometheus.
"""
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests" / "dashboards"))
import fleet  # noqa: E402 pylint: disable=wrong-import-position

GROUP, SICK = "orders", 7


def let_pass(seconds):
    """Nothing happens meanwhile, for the pictures' sake."""
    ends = time.monotonic() + seconds
    fleet.until("time passes", lambda: time.monotonic() >= ends)


def happen(cluster, etcd):
    """A joining, an operator's work, a death, a restart, a drain; then a sick shard."""
    nodes = {name: cluster.node(etcd, GROUP, name, shards=24) for name in ("n1", "n2", "n3")}
    fleet.await_balanced(list(nodes.values()))
    let_pass(15)
    nodes["n4"] = cluster.node(etcd, GROUP, "n4", shards=24)
    fleet.await_balanced(list(nodes.values()))
    for target in ("n4", "n1", "n4"):
        let_pass(4)
        cluster.ctl(nodes["n1"], "shards", "transfer", "3", "--to", target)
    let_pass(8)
    cluster.forget(nodes.pop("n2"))
    fleet.await_balanced(list(nodes.values()))
    let_pass(8)
    nodes["n2"] = cluster.node(etcd, GROUP, "n2", shards=24)
    let_pass(8)
    cluster.ctl(nodes["n1"], "nodes", "drain", "n3")
    let_pass(8)
    cluster.ctl(nodes["n1"], "nodes", "undrain", "n3")
    fleet.await_balanced(list(nodes.values()))
    let_pass(8)
    etcd.ctl("put", f"/baton/v1/{GROUP}/shards/{SICK}", value=b"\x08\x02")
    let_pass(15)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE)
    began = time.monotonic()
    with fleet.Fleet(named=True) as cluster:
        etcd = cluster.etcd()
        prometheus = cluster.start_prometheus()
        happen(cluster, etcd)
        for name in ("fleet", "shards"):
            subprocess.run(("node", HERE / "preview.mjs", "--prometheus", prometheus.url, "--dashboard",
                            HERE.parent / "grafana" / f"{name}.json", "--out", folder / f"{name}.png", "--interval", "1",
                            "--group", GROUP, "--seconds", str(round(time.monotonic() - began))), check=True)


if __name__ == "__main__":
    main()
