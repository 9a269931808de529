"""Reads from the dashboards what their tests need."""
import json
import re

import fleet

GRAFANA = fleet.ROOT / "dashboards" / "grafana"
METRIC = re.compile(r"\b((?:baton|grpc_server|process)_\w+)(?=\s*[{\[])")


def dashboards():
    return [json.loads((GRAFANA / name).read_text(encoding="utf-8")) for name in ("fleet.json", "shards.json")]


def panels(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def filled(expression, group=".+", shard=".+", range_="1m"):
    """The expression, with what Grafana puts in place of its variables."""
    values = {"__rate_interval": "10s", "__range": range_, "job": ".+", "instance": ".+", "group": group, "shard": shard}
    return re.sub(r"\$([a-z_]+)", lambda found: values[found[1]], expression)


def family(name):
    """Of a series: a histogram's without what Prometheus appends."""
    return re.sub(r"_(bucket|sum|count)$", "", name)
