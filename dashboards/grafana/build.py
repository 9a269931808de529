#!/usr/bin/env python3
"""Writes fleet.json and shards.json, Grafana's classic dashboards: each panel is a line or two here, and some forty
there. `build.py --check` only says whether they are what it would write (1 where not).

S stands for what every selector has: the dashboard's job, group and instance. In expressions that are no f-strings it
is written {S}, or {S,label="value"}.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
S = 'job=~"$job",group="$group",instance=~"$instance"'
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
GOOD, WARN, BAD, NEUTRAL = "green", "orange", "red", "blue"


def steps(*pairs):
    """Thresholds: (from, colour), the first from None."""
    return {"mode": "absolute", "steps": [{"value": value, "color": colour} for value, colour in pairs]}


BAD_ABOVE_0 = steps((None, GOOD), (0.000001, BAD))
WARN_ABOVE_0 = steps((None, GOOD), (0.000001, WARN))
PLAIN = steps((None, NEUTRAL))


def target(expression, legend="", ref="A", **more):
    whole = expression.replace("{S}", "{" + S + "}").replace("{S,", "{" + S + ",")
    return {"datasource": DATASOURCE, "expr": whole, "legendFormat": legend, "refId": ref, "editorMode": "code",
            "range": True, **more}


def panel(kind, title, description, targets, unit="short", **more):
    """`targets`: expressions, or (expression, legend)."""
    made = []
    for place, one in enumerate(targets):
        expression, legend, *rest = one if isinstance(one, tuple) else (one, "")
        made.append(target(expression, legend, "ABCDEFGHIJKLM"[place], **(rest[0] if rest else {})))
    defaults = {"unit": unit, "color": {"mode": more.pop("colour", "palette-classic")}, **more.pop("defaults", {})}
    return {"type": kind, "title": title, "description": description, "datasource": DATASOURCE, "targets": made,
            "fieldConfig": {"defaults": defaults, "overrides": more.pop("overrides", [])},
            "options": more.pop("options", {}), **more}


def stat(title, description, expression, unit="short", thresholds=PLAIN, **defaults):
    return panel("stat", title, description, [(expression, "", {"instant": True, "range": False})], unit,
                 colour="thresholds", defaults={"thresholds": thresholds, **defaults},
                 options={"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                          "colorMode": "background", "graphMode": "none", "textMode": "value", "justifyMode": "auto"})


def lines(title, description, targets, unit="short", stacked=False, bars=False, legend=True, reds=(), **defaults):
    """`reds`: legends that are drawn in red."""
    custom = {"drawStyle": "bars" if bars else "line", "lineWidth": 1,
              "fillOpacity": 70 if bars else 30 if stacked else 0, "showPoints": "never", "spanNulls": False,
              "stacking": {"mode": "normal" if stacked else "none"}}
    return panel("timeseries", title, description, targets, unit,
                 defaults={"custom": custom, "min": 0, **defaults},
                 overrides=[{"matcher": {"id": "byName", "options": name},
                             "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": BAD}}]}
                            for name in reds],
                 options={"legend": {"displayMode": "list", "placement": "bottom", "showLegend": legend},
                          "tooltip": {"mode": "multi", "sort": "desc"}})


def bars(title, description, targets, unit="short", **defaults):
    return lines(title, description, targets, unit, stacked=True, bars=True, **defaults)


def heatmap(title, description, expression):
    return panel("heatmap", title, description, [(expression, "{{le}}", {"format": "heatmap"})], "s",
                 options={"calculate": False, "yAxis": {"unit": "s"}, "cellGap": 1, "legend": {"show": True},
                          "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64, "exponent": 0.5},
                          "tooltip": {"mode": "single", "showColorScale": False, "yHistogram": False}})


def mappings(*pairs):
    """(word, colour) for values that are words."""
    return [{"type": "value", "options": {word: {"color": colour, "text": word, "index": place}
                                          for place, (word, colour) in enumerate(pairs)}}]


def place(rows):
    """Rows of (height, [(width, panel)...]), or a row's title, put on the grid of 24 columns."""
    placed, y = [], 0
    for row in rows:
        if isinstance(row, str):
            placed.append({"type": "row", "title": row, "collapsed": False, "panels": [],
                           "gridPos": {"h": 1, "w": 24, "x": 0, "y": y}})
            y += 1
            continue
        height, panels = row
        x = 0
        for width, one in panels:
            placed.append({**one, "gridPos": {"h": height, "w": width, "x": x, "y": y}})
            x += width
        assert x <= 24, f"{x} columns"
        y += height
    return [{"id": number, **one} for number, one in enumerate(placed, 1)]


def variable(name, label, query, many=False, **more):
    answer = {"type": "query", "name": name, "label": label, "datasource": DATASOURCE, "query": query,
              "definition": query, "refresh": 2, "sort": 1, "multi": many, "includeAll": many,
              "current": {"text": "All", "value": "$__all"} if many else {}, "hide": 0, "options": [], "regex": ""}
    if many:
        answer["allValue"] = ".+"
    return {**answer, **more}


def dashboard(uid, title, description, metric, rows, extra=()):
    """`metric`: one that every scraped node has, to choose job, group and instance by."""
    return {
        "uid": uid, "title": title, "description": description, "tags": ["baton"], "schemaVersion": 39, "version": 1,
        "editable": False, "graphTooltip": 1, "refresh": "30s", "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser", "annotations": {"list": []}, "timepicker": {},
        "links": [{"type": "dashboards", "tags": ["baton"], "title": "Baton", "asDropdown": False,
                   "includeVars": False, "keepTime": True}],
        "templating": {"list": [
            {"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus", "hide": 0,
             "current": {}, "options": [], "refresh": 1, "regex": "", "multi": False, "includeAll": False},
            variable("job", "Job", f"label_values({metric}, job)", many=True),
            variable("group", "Group", f'label_values({metric}{{job=~"$job"}}, group)'),
            variable("instance", "Instance", f'label_values({metric}{{job=~"$job",group="$group"}}, instance)',
                     many=True), *extra]},
        "panels": place(rows),
    }


def rate(metric, labels="", by="", function="rate"):
    """sum by (by) of a counter's rate."""
    more = "," + labels if labels else ""
    return f"sum by ({by}) ({function}({metric}{{{S}{more}}}[$__rate_interval]))"


def quantile(q, metric, by, labels=""):
    more = "," + labels if labels else ""
    joined = f"le, {by}"
    return f"histogram_quantile({q}, sum by ({joined}) (rate({metric}_bucket{{{S}{more}}}[$__rate_interval])))"


YES_NO = [{"type": "value", "options": {"0": {"text": "no", "color": GOOD, "index": 0},
                                        "1": {"text": "yes", "color": WARN, "index": 1}}}]


# What a shard's row shows: the leader's instance, or what is wrong, in this order of precedence.
SICK = (("two leaders", "dark-red"), ("suspended", WARN), ("nobody", BAD))


def two(select):
    """Shards that two nodes lead, and did a minute ago: one that moves between two scrapes is seen twice for once."""
    leads = f"count by (shard) (baton_shard_leader{{{select}}} == 1) > 1"
    before = f"count by (shard) (baton_shard_leader{{{select}}} offset 1m == 1) > 1"
    return f"({leads} and {before})"


def nobody(select):
    """Shards that were led within the time shown, and not of late. Of late, since a shard that moves between the scrapes
    of two nodes, and one whose node's scrape failed, is seen nowhere for a moment."""
    return (f"(max by (shard) (max_over_time(baton_shard_leader{{{select}}}[$__range])) "
            f"unless on (shard) max_over_time(baton_shard_leader{{{select}}}[$__rate_interval]))")


def sick(select):
    """Series with the labels shard and leader: shards that no node, or more than one, leads."""
    def named(expression, word):
        return f'label_replace({expression}, "leader", "{word}", "", "")'
    suspended = (f"(max by (shard) (baton_shard_leader{{{select}}} == 0) "
                 f"unless on (shard) baton_shard_leader{{{select}}} == 1)")
    return " or ".join((named(two(select), "two leaders"), named(suspended, "suspended"),
                        named(nobody(select), "nobody")))


def last_term(select):
    """Of each shard the newest term within the time shown, of the instance that had it."""
    return f"topk by (shard) (1, max_over_time(baton_shard_term{{{select}}}[$__range]))"


def led(select):
    """Series with the labels shard and leader: of shards that are led, who has the newest term."""
    newest = (f"topk by (shard) (1, baton_shard_term{{{select}}} "
              f"and on (instance, shard) baton_shard_leader{{{select}}} == 1)")
    return (f'max by (shard, leader) (label_replace({newest}, "leader", "$1", "instance", "(.+)")) '
            f"unless on (shard) {two(select)}")


def table(title, description, expression, columns, **more):
    """An instant table. `columns`: of each label, or Value, the word above it, in their order."""
    words = dict(columns)
    return panel(
        "table", title, description, [(expression, "", {"format": "table", "instant": True, "range": False})],
        "none", colour="thresholds",
        options={"showHeader": True, "cellHeight": "sm", "sortBy": more.pop("sortBy", [])},
        transformations=[{"id": "organize", "options": {
            "excludeByName": {name: True for name in ("Time", "Value") if name not in words},
            "indexByName": {name: place for place, name in enumerate(words)}, "renameByName": words}}],
        defaults={"custom": {"align": "left", "cellOptions": {"type": "auto"}}, **more.pop("defaults", {})}, **more)


def attention():
    return table(
        "Shards that want attention", "Empty is good. Shards that nobody leads, that two lead, or whose node is "
        "suspended; among those that were led within the time shown, with who led them last. From /metrics/shards.",
        f'({sick(S)}) * on (shard) group_left (last) label_replace({last_term(S)}, "last", "$1", "instance", "(.+)")',
        [("shard", "Shard"), ("leader", "What"), ("last", "Led last by")],
        defaults={"mappings": mappings(*SICK)}, sortBy=[{"displayName": "Shard", "desc": False}],
        overrides=[{"matcher": {"id": "byName", "options": "What"},
                    "properties": [{"id": "custom.cellOptions", "value": {"type": "color-background"}}]}])


def fleet():
    return dashboard(
        "baton-fleet", "Baton / Fleet", "One group: is all led, is it even, is etcd well, and what happened.",
        "baton_build_info", [
            (4, [
                (3, stat("Shards", "Of the group; fixed when it was created.", "max(baton_shards{S})")),
                (3, stat("Leaderless shards", "As the node with the gloomiest view sees it. More than 0 for "
                         "longer than a moment is trouble.", "max(baton_shards_leaderless{S})",
                         thresholds=BAD_ABOVE_0)),
                (3, stat("Nodes", "Live members, as the node that sees most of them has it.", "max(baton_nodes{S})")),
                (3, stat("Nodes not ready", "Scraped nodes without a session, or without a complete view.",
                         "sum(1 - baton_node_ready{S})", thresholds=BAD_ABOVE_0)),
                (3, stat("Balancers", "Exactly one node plans moves. 0: nothing is evened out.",
                         "sum(baton_is_balancer{S})", thresholds=steps((None, BAD), (1, GOOD), (2, WARN)))),
                (3, stat("Paused", "Operators have paused balance. Failover goes on.", "max(baton_paused{S})",
                         thresholds=WARN_ABOVE_0, mappings=YES_NO)),
                (3, stat("Brake", "Many members vanished at once: succession waits out the settle time, so that a "
                         "blip does not reshuffle the group.", "max(baton_succession_braking{S})",
                         thresholds=WARN_ABOVE_0, mappings=YES_NO)),
                (3, stat("Oldest renewal", "Of all nodes' last confirmed renewals, in parts of the TTL. From 1 on that "
                         "node leads nothing.",
                         "max((timestamp(baton_lease_renewed_timestamp_seconds{S}) "
                         "- baton_lease_renewed_timestamp_seconds{S}) / baton_lease_ttl_seconds{S})",
                         "percentunit", steps((None, GOOD), (0.67, WARN), (1, BAD)), decimals=0)),
            ]),
            "Leadership",
            (8, [
                (9, bars("Transitions by reason", "Shards gained. Deaths are lease_expired and process_died; planned "
                         "ones are rebalance, drain, operator and shutdown.",
                         [(rate("baton_transitions_total", by="reason", function="increase") + " > 0",
                           "{{reason}}")])),
                (9, lines("Leaderless and failing shards, by node", "Leaderless in that node's view, and views differ "
                          "for moments only; failing to activate on that node, which tries again and again.",
                          [("baton_shards_leaderless{S}", "{{instance}}"),
                           ("baton_shards_failing{S}", "{{instance}}, failing"),
                           ("baton_shards_untried{S}", "{{instance}}, not tried yet"),
                           ("max(baton_shards_waiting_after_deaths{S})", "wait after deaths"),
                           ("max(baton_shards_waiting_by_settings{S})", "wait by the settings"),
                           ("sum(max by (rule) (baton_shards_nobody_may_lead{S}))", "no live node may lead"),
                           ("sum(max by (rule) (baton_shards_led_against_rules{S}))", "led against a rule"),
                           ("sum(max by (rule) (baton_shards_without_ready_standby{S}))", "no ready standby"),
                           ("sum(max by (rule) (baton_shards_with_fewer_standbys{S}))", "fewer standbys than asked for"),
                           ("sum(max by (rule) (baton_shards_not_apart{S}))", "leader and standbys not apart"),
                           ("baton_shards_stopping{S}", "{{instance}}, still stopping")])),
                (6, attention()),
            ]),
            (8, [
                (8, heatmap("Time without a leader", "Gaps by length: from knowing that nobody led to leading.",
                            'sum by (le) (increase(baton_leaderless_seconds_bucket{S,phase="elect"}'
                            "[$__rate_interval]))")),
                (8, lines("Time without a leader, by phase", "The 99th percentile. detect_at_most: an upper bound "
                          "of how late a death was noticed if a lease ran out, as survivors can't know when a node died; "
                          "detect: how long a guard knew of a death before etcd did; elect: from there to a leader; "
                          "activate: from there to the end of its acquired.",
                          [(quantile(0.99, "baton_leaderless_seconds", "phase"), "{{phase}}")], "s")),
                (8, lines("Share of time without a leader", "Of all shards' time. Gaps that ended, with the upper "
                          "bound of how late deaths were noticed; and what scrapes saw, which also shows a gap that "
                          "still lasts. The objective is 0.1 %.",
                          [(f"sum(rate(baton_leaderless_seconds_sum{{{S}}}[$__rate_interval])) "
                            f"/ max(baton_shards{{{S}}})", "gaps that ended"),
                           (f"max(avg_over_time(baton_shards_leaderless{{{S}}}[$__rate_interval])) "
                            f"/ max(baton_shards{{{S}}})", "as scraped")], "percentunit")),
            ]),
            "Balance",
            (8, [
                (8, lines("Balance", "Shards led by each node.", [("baton_shards_led{S}", "{{instance}}")],
                          stacked=True)),
                (8, lines("Off target", "Shards that a node leads beyond its share, or (below 0) is short of.",
                          [("baton_shards_led{S} - baton_shards_target{S}", "{{instance}}")], min=None)),
                (8, lines("Moves in flight", "Planned moves under way, and whether that is by much: 64 at most, unless "
                          "--max-moves says otherwise.", [("max(baton_moves_in_flight{S})", "in flight")])),
            ]),
            (8, [
                (12, bars("Moves", "Planned moves that ended, by result. Those that are not done are tried again after "
                          "the cooldown.", [(rate("baton_moves_total", by="result", function="increase"),
                                             "{{result}}")])),
                (12, lines("Duration of moves, by phase", "The 99th percentile. Only the transfer leaves a shard "
                           "without a leader.", [(quantile(0.99, "baton_handoff_seconds", "phase"), "{{phase}}")], "s")),
            ]),
            "Lease and etcd",
            (8, [
                (8, lines("Lease age", "Time since each node's last confirmed renewal was sent. Renewals come every "
                          "third of the TTL.",
                          [("timestamp(baton_lease_renewed_timestamp_seconds{S}) "
                            "- baton_lease_renewed_timestamp_seconds{S}", "{{instance}}"),
                           ("max(baton_lease_ttl_seconds{S})", "TTL")], "s")),
                (8, lines("Renewals", "By result, a second.",
                          [(rate("baton_lease_renewals_total", by="result"), "{{result}}")], "ops")),
                (8, lines("View", "How far each node's view is behind the newest, in revisions of etcd. Scrapes are not "
                          "simultaneous: only what stays tells.",
                          [("scalar(max(baton_watch_revision{S})) - baton_watch_revision{S}", "{{instance}}")])),
            ]),
            (8, [
                (8, lines("Requests to etcd", "The 99th percentile, by method.",
                          [(quantile(0.99, "baton_etcd_request_seconds", "method"), "{{method}}")], "s")),
                (8, lines("Requests to etcd, by code", "A second. Anything but OK wants a look.",
                          [(rate("baton_etcd_request_seconds_count", by="code"), "{{code}}")], "reqps")),
                (8, lines("Age of the view", "Time since each node's view was proven current.",
                          [("baton_view_age_seconds{S}", "{{instance}}")], "s")),
            ]),
            "Trouble and bounds",
            (8, [
                (8, bars("Trouble", "Each of these wants a look: records that could not be read, callbacks that hung or "
                         "threw, watches that broke or went back in time.",
                         [(rate("baton_records_quarantined_total", function="increase"), "records unreadable"),
                          (rate("baton_callback_failures_total", by="kind", function="increase"), "callbacks {{kind}}"),
                          (rate("baton_activation_failures_total", function="increase"), "activations failed"),
                          (rate("baton_watch_resyncs_total", function="increase"), "view read anew"),
                          (rate("baton_watch_stale_events_total", function="increase"), "stale events")],
                         reds=("records unreadable",))),
                (8, bars("Bounds reached", "What was refused, or dropped, because a bound was reached.",
                         [(rate("baton_requests_refused_total", function="increase"), "operators' changes"),
                          (rate("baton_log_records_dropped_total", function="increase"), "log records"),
                          (rate("baton_http_bounds_reached_total", by="bound", function="increase"), "HTTP {{bound}}"),
                          (rate("baton_route_bounds_reached_total", by="bound", function="increase"), "routes {{bound}}"),
                          (rate("baton_grpc_connections_refused_total", by="why", function="increase"), "gRPC connections, {{why}}"),
                          (rate("baton_grpc_bounds_reached_total", by="bound", function="increase"), "gRPC {{bound}}"),
                          (rate("baton_calls_limited_total", by="kind", function="increase"), "callers of {{kind}}"),
                          (rate("baton_routes_refused_total", by="what", function="increase"), "routes {{what}}")])),
                (8, lines("Callers of routes", "Streams of WatchRoutes, by node; and callers of /v1/routes that wait for a change. Of "
                          "callers without the role operate the streams are counted apart; and all calls that are open.",
                          [("baton_route_watchers{S}", "{{instance}}"),
                           ("baton_route_questions{S}", "{{instance}}, waiting"),
                           ("baton_reader_streams{S}", "{{instance}}, {{of}} of readers"),
                           (rate("baton_reader_streams_refused_total", by="of", function="increase"), "{{of}} refused"),
                           ("baton_grpc_calls_open{S}", "{{instance}}, all calls at the {{listener}}")])),
            ]),
            (8, [
                (8, lines("Messages of routes", "A second: written to streams, encoded (once for all streams, where it "
                          "is a delta), and streams that skipped to the newest state.",
                          [(rate("baton_route_messages_total"), "messages"),
                           (rate("baton_route_encodings_total", by="of"), "encodings of {{of}}"),
                           (rate("baton_route_catch_ups_total"), "catch-ups")], "ops")),
                (8, lines("gRPC calls", "That this group's nodes served, a second, by method and code.",
                          [(rate("grpc_server_handled_total", by="grpc_method, grpc_code"),
                            "{{grpc_method}} {{grpc_code}}")], "reqps")),
                (8, lines("gRPC calls, duration", "The 99th percentile of calls that ended, by method. Streams end "
                          "when their caller leaves.",
                          [(quantile(0.99, "grpc_server_handling_seconds", "grpc_method"), "{{grpc_method}}")], "s")),
            ]),
            "Processes",
            (8, [
                (6, lines("Processor", "Cores in use.", [
                    ("rate(process_cpu_seconds_total{S}[$__rate_interval])", "{{instance}}")])),
                (6, lines("Memory", "Resident.", [("process_resident_memory_bytes{S}", "{{instance}}")], "bytes")),
                (6, lines("Open files", "And how many there may be.",
                          [("process_open_fds{S}", "{{instance}}"), ("min(process_max_fds{S})", "limit")])),
                (6, lines("Running for", "Since the process began. A node that restarts drops to 0.",
                          [("time() - process_start_time_seconds{S}", "{{instance}}")], "s")),
            ]),
        ])


def shards():
    drawn = S + ',shard=~"$shard"'
    timeline = panel(
        "state-timeline", "Leader of each shard", "A row a shard, coloured by the instance that leads it. Red: nobody "
        "(the shard was led within the time shown). Orange: suspended, its node can't reach etcd. A hole: not seen, as "
        "where a scrape failed. Choose shards above: those that nobody leads come first, then those with the newest "
        "leaderships.",
        [(f"{sick(drawn)} or {led(drawn)}", "", {"format": "table"})], "string",
        defaults={"custom": {"fillOpacity": 80, "lineWidth": 0}, "mappings": mappings(*SICK)},
        options={"showValue": "auto", "rowHeight": 0.9, "mergeValues": True, "alignValue": "left",
                 "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                 "tooltip": {"mode": "single"}},
        transformations=[
            {"id": "organize", "options": {"excludeByName": {"Value": True}, "renameByName": {"leader": "Leader"}}},
            {"id": "partitionByValues", "options": {"fields": ["shard"], "keepFields": False,
                                                    "naming": {"asLabels": True}}}])
    return dashboard(
        "baton-shards", "Baton / Shards", "Single shards of one group: who leads them, since when, how often it changed. "
        "From /metrics/shards, which is a scrape job of its own.",
        "baton_shard_leader", [
            (4, [
                (4, stat("Shards led", "Scraped nodes lead so many; compare it with the Fleet's count.",
                         "sum(max by (shard) (baton_shard_leader{S}))")),
                (4, stat("Led by nobody", "Of those that were led within the time shown. Seen after some scrapes, as "
                         "moves fall between two nodes' scrapes.", f"count({nobody(S)}) or vector(0)",
                         thresholds=BAD_ABOVE_0)),
                (4, stat("Suspended", "Their node can't reach etcd, and does not lead them meanwhile.",
                         f"count(max by (shard) (baton_shard_leader{{{S}}}) == 0) or vector(0)",
                         thresholds=WARN_ABOVE_0)),
                (4, stat("Led by two", "Now, and a minute ago: a move that falls between two nodes' scrapes does not "
                         "count.", f"count({two(S)}) or vector(0)", thresholds=BAD_ABOVE_0)),
                (4, stat("Newest leadership", "Time since any shard got the leader that it has.",
                         "min(time() - baton_shard_led_since_timestamp_seconds{S})", "s")),
                (4, stat("Series cut", "Series of shards that nodes lead and don't show, being beyond "
                         "--max-shard-series.",
                         "sum(baton_shard_series_cut{S})", thresholds=WARN_ABOVE_0)),
            ]),
            (14, [(18, timeline), (6, attention())]),
            (10, [
                (6, table("Most new leaderships", "Of single shards, within the time shown. More than a few in an hour: "
                          "see what LeadershipFlapping's runbook says.",
                          f"topk(10, changes((max by (shard) (baton_shard_term{{{S}}}))[$__range:]) > 0)",
                          [("shard", "Shard"), ("Value", "New leaderships")],
                          sortBy=[{"displayName": "New leaderships", "desc": True}])),
                (10, table("Why they are led there", "How often the present leader of each drawn shard gained it, and "
                           "why, since its process began.",
                           f"max by (shard, instance, reason) (baton_shard_transitions_total{{{drawn}}})",
                           [("shard", "Shard"), ("instance", "Leader"), ("reason", "Reason"), ("Value", "Times")],
                           sortBy=[{"displayName": "Shard", "desc": False}])),
                (8, lines("Shards by instance", "That each instance leads and shows here.",
                          [("sum by (instance) (baton_shard_leader{S})", "{{instance}}")], stacked=True)),
            ]),
            (9, [
                (12, lines("Term growth", "Of the shards that are drawn: a step is a new leadership. Terms are etcd's "
                           "revisions, and only grow.",
                           [(f"max by (shard) (baton_shard_term{{{drawn}}})", "shard {{shard}}")], "locale",
                           legend=False, min=None)),
                (12, lines("Led for", "Time since the leadership of each drawn shard began.",
                           [(f"max by (shard) (time() - baton_shard_led_since_timestamp_seconds{{{drawn}}})",
                             "shard {{shard}}")], "s", legend=False)),
            ]),
        ],
        # The worst 40: those that nobody leads now come first, then the newest leaderships.
        extra=[variable(
            "shard", "Shards drawn",
            "query_result(topk(40, "
            f"(1e10 + max by (shard) (max_over_time(baton_shard_led_since_timestamp_seconds{{{S}}}[$__range])) "
            f"unless on (shard) baton_shard_leader{{{S}}} == 1) "
            f"or max by (shard) (baton_shard_led_since_timestamp_seconds{{{S}}})))",
            many=True, regex='/shard="([^"]+)"/', sort=3, allValue=None)])


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: build.py [--check]")
    stale = []
    for name, made in (("fleet.json", fleet()), ("shards.json", shards())):
        text = json.dumps(made, indent=2) + "\n"
        path = HERE / name
        if check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            stale.append(name)
        if not check:
            path.write_text(text, encoding="utf-8")
    if stale:
        sys.exit(f"{', '.join(stale)}: not what build.py writes; change build.py, and run it")


if __name__ == "__main__":
    main()
