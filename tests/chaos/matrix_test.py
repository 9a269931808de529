"""The judge of the matrix against a history that is made by hand: as it should be, and broken in each way."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import by_hand
import checker
import matrix
import matrix_faults
from matrix import SECOND

TTL = 3
SHARDS = 3  # one of each node
BEGIN, END = 10, 16
NODES = ("n1", "n2", "n3")
STRUCK = {"sigkill", "etcd_leader_killed", "etcd_leaders_disk_frozen", "sends_only"}


def samples(spans, begin=0.0, end=float(END)):
    """Lines of a process that leads, by shard, from and to these seconds, with a sample each twentieth."""
    lines, led = [], {}
    for number in range(round(begin * 20), round(end * 20) + 1):
        now = {shard: 1 for shard, since, until in spans if round(since * 20) <= number <= round(until * 20)}
        changes = [[shard, now.get(shard, 0), now.get(shard, 0)] for shard in range(SHARDS) if now.get(shard) != led.get(shard)]
        at = number * SECOND // 20
        lines.append({"t": [at, at], **({"leads": changes} if changes else {})})
        led = now
    return lines


def put(rev, group, shard, leader, seconds, reason="lease_expired"):
    value = by_hand.message(f1=1, f2=shard, f3=leader, f4=7, f7=by_hand.REASON[reason])
    return {"rev": rev, "key": f"/baton/v1/{group}/shards/{shard}", "type": "PUT", "at": int(seconds * SECOND), "value": value}


def group_of(name, guard):
    """n1 is struck at 10 s; in the cells in which its shards move, n2 leads them a lease or 50 ms later."""
    group = f"{guard}-{name}"
    nodes = {f"{group}-{node}": samples([(place, 0, END)]) for place, node in enumerate(NODES)}
    etcd = [put(place + 1, group, place, node, 1) for place, node in enumerate(NODES)]
    if name == "sigkill":
        led = BEGIN + (0.05 if guard == "on" else 3.4)
        nodes[f"{group}-n1"] = samples([(0, 0, BEGIN)], end=BEGIN)
        nodes[f"{group}-n2"] = samples([(1, 0, END), (0, led, END)])
        etcd.append(put(9, group, 0, "n2", led - 0.01))
    if name == "sends_only":
        nodes[f"{group}-n1"] = samples([(0, 0, 15)])
        nodes[f"{group}-n2"] = samples([(1, 0, END), (0, 15.4, END)])
        etcd.append(put(9, group, 0, "n2", 15.4))
    calls = [{"t": [int(at * SECOND / 2), int(at * SECOND / 2) + 1000], "id": f"c0-{at}", "code": 0} for at in range(2, 2 * END)]
    cell = {"name": name, "guard": guard, "group": group, "node": "n1", "pass": 0, "elected": False, "dropped": None,
            "begin": BEGIN * SECOND, "end": END * SECOND, "caller": 0, "ended_by_themselves": []}
    return cell, nodes, etcd, {group: calls}


class Made:
    def __init__(self):
        self.cells, self.nodes, self.etcd, self.calls = {}, {}, [], {}
        for name in sorted(STRUCK):
            for guard in ("on", "off"):
                cell, nodes, etcd, calls = group_of(name, guard)
                self.cells[cell["group"]] = cell
                self.nodes |= nodes
                self.etcd += etcd
                self.calls |= calls
        self.run = {"ttl": TTL, "shards": SHARDS, "errors": [],
                    "skipped": {name: ["disk"] for name in matrix.ROWS if name not in STRUCK},
                    "options": {"seed": 1, "count": 1}}

    def past(self):
        return matrix.Past({**self.run, "cells": list(self.cells.values())}, self.nodes, self.calls, self.etcd)


class Matrix(unittest.TestCase):
    def broken(self, change):
        made = Made()
        change(made)
        past = made.past()
        return list(matrix.violations(past)), list(matrix.invalid(past))

    def test_a_good_run_is_good(self):
        self.assertEqual(self.broken(lambda made: None), ([], []))

    def test_each_fault_has_a_row_and_each_row_a_fault(self):
        self.assertEqual(list(matrix.ROWS), list(matrix_faults.FAULTS))

    def test_times_are_from_the_fault_to_the_last_shard(self):
        past = Made().past()
        (on,), (off,), (nothing,) = past.of("sigkill", "on"), past.of("sigkill", "off"), past.of("etcd_leader_killed", "on")
        self.assertAlmostEqual(on.led_after(), 0.05)
        self.assertAlmostEqual(off.led_after(), 3.4)
        self.assertIsNone(nothing.led_after())
        self.assertEqual([len(cell.changed) for cell in (on, off, nothing)], [1, 1, 0])

    def test_a_guard_that_is_as_slow_as_the_lease_is_found(self):
        def slow(made):
            made.nodes["on-sigkill-n2"] = samples([(1, 0, END), (0, 12.3, END)])
        found, _ = self.broken(slow)
        self.assertEqual(found, ["SIGKILL, guard on, pass 1: all were led after 2.30 s, at most 1.0 s are allowed"])

    def test_a_lease_that_lasts_too_long_is_found(self):
        def late(made):
            made.nodes["off-sigkill-n2"] = samples([(1, 0, END), (0, 14.6, END)])
        found, _ = self.broken(late)
        self.assertEqual(found, ["SIGKILL, guard off, pass 1: all were led after 4.60 s, at most 4.5 s are allowed"])

    def test_an_election_of_etcd_meanwhile_makes_the_bound_longer(self):
        def late(made):
            made.nodes["off-sigkill-n2"] = samples([(1, 0, END), (0, 14.6, END)])
            made.nodes["on-sigkill-n2"] = samples([(1, 0, END), (0, 12.3, END)])
            for guard in ("on", "off"):
                made.cells[f"{guard}-sigkill"]["elected"] = True
        self.assertEqual(self.broken(late), ([], []))

    def test_a_shard_that_nobody_leads_at_the_end_is_found(self):
        def never(made):
            made.nodes["on-sigkill-n2"] = samples([(1, 0, END)])
        found, _ = self.broken(never)
        self.assertEqual(found, ["SIGKILL, guard on, pass 1: not all shards were led at its end"])

    def test_two_leaders_are_found(self):
        def both(made):
            made.nodes["on-sigkill-n3"] = samples([(2, 0, END), (1, 12, 12.5)])
        found, _ = self.broken(both)
        self.assertEqual(found, ["SIGKILL, guard on, pass 1: shard 1 was led by n2 and n3 for 0.500 s"])

    def test_two_leaders_are_found_behind_a_leadership_that_ended(self):
        def both(made):
            made.nodes["on-sigkill-n1"] = samples([(0, 0, BEGIN), (1, 1, 2)], end=BEGIN)
            made.nodes["on-sigkill-n3"] = samples([(2, 0, END), (1, 15, END)])
        found, _ = self.broken(both)
        self.assertEqual(found, ["SIGKILL, guard on, pass 1: shard 1 was led by n2 and n1 for 1.000 s",
                                 "SIGKILL, guard on, pass 1: shard 1 was led by n2 and n3 for 1.000 s"])

    def test_two_leaders_where_etcd_ends_sessions_early_are_measured(self):
        def both(made, until):
            made.nodes["on-etcd_leaders_disk_frozen-n3"] = samples([(2, 0, END), (1, 11, until)])
        self.assertEqual(self.broken(lambda made: both(made, 12)), ([], []))
        found, _ = self.broken(lambda made: both(made, 15.5))
        self.assertEqual(found, ["the disk of etcd's leader frozen, guard on, pass 1: shard 1 was led by n2 and n3 for 4.500 s"])

    def test_a_change_of_leadership_that_was_not_needed_is_found(self):
        def moved(made):
            made.etcd.append(put(20, "on-etcd_leader_killed", 1, "n3", 12))
            made.etcd.append(put(21, "off-sigkill", 2, "n2", 12))
            made.etcd.append(put(22, "off-etcd_leaders_disk_frozen", 2, "n2", 12))
        found, _ = self.broken(moved)
        self.assertEqual(found, ["etcd's leader killed, guard on, pass 1: shard 1 went from n2 to n3",
                                 "SIGKILL, guard off, pass 1: shard 2 went from n3 to n2"])

    def test_a_pause_beyond_its_bound_is_found(self):
        def paused(made):
            made.nodes["on-etcd_leader_killed-n3"] = samples([(2, 0, 10.5), (2, 14.6, END)])
        found, _ = self.broken(paused)
        self.assertEqual(found, ["etcd's leader killed, guard on, pass 1: all were led after 4.60 s, at most 4.0 s are "
                                 "allowed"])

    def test_a_lease_that_is_renewed_once_more_lasts_longer(self):
        def later(made):
            made.nodes["on-sends_only-n2"] = samples([(1, 0, END), (0, 15.7, END)])
        found, _ = self.broken(later)
        self.assertEqual(found, ["a node that can only send, guard on, pass 1: all were led after 5.70 s, at most "
                                 "5.5 s are allowed"])

    def test_the_longest_time_without_a_leader_is_one_shards_own(self):
        cell, = Made().past().of("sends_only", "on")
        self.assertAlmostEqual(cell.led_after(), 5.4)
        self.assertAlmostEqual(cell.longest_gap(), 0.4)

    def test_moves_because_a_stopped_process_holds_the_store_are_not_judged(self):
        def moved(made, since=14.0, name="sigstop"):
            cell, nodes, etcd, calls = group_of("sigkill", "off")
            nodes = {node.replace("sigkill", name): lines for node, lines in nodes.items()}
            group = f"off-{name}"
            made.cells[group] = {**cell, "name": name, "group": group}
            nodes[f"{group}-n2"] = samples([(1, 0, END), (0, 13.4, since)])
            nodes[f"{group}-n3"] = samples([(2, 0, END), (0, 15.2, END)])
            made.nodes |= nodes
            made.calls[group] = calls["off-sigkill"]
            made.etcd += [{**event, "key": event["key"].replace("sigkill", name)} for event in etcd]
            made.etcd.append(put(20, group, 0, "n3", 15, "callback_timeout"))
        found, _ = self.broken(lambda made: moved(made, since=15))
        self.assertEqual(found, [])
        found, _ = self.broken(lambda made: moved(made, since=13.5))
        self.assertEqual(found, ["SIGSTOP, guard off, pass 1: all were led after 5.20 s, at most 4.5 s are allowed"])
        found, _ = self.broken(lambda made: moved(made, since=15, name="container_killed"))
        self.assertEqual(found[-2:], [
            "its whole container killed, also the guard, guard off, pass 1: all were led after 5.20 s, at most 4.5 s are allowed",
            "its whole container killed, also the guard, guard off, pass 1: shard 0 went from n2 to n3"])

    def test_a_process_that_ended_by_itself_is_found(self):
        found, _ = self.broken(lambda made: made.cells["on-sigkill"]["ended_by_themselves"].append("on-sigkill-n3"))
        self.assertEqual(found, ["SIGKILL, guard on, pass 1: on-sigkill-n3 ended by itself"])

    def test_a_cell_that_shows_nothing_does_not_count(self):
        def nothing(made):
            made.cells["on-sigkill"] |= {"dropped": 0, "caller": 1}
            made.calls["on-sigkill"] = [{"t": [SECOND, SECOND], "id": "c0-1", "code": 14}]
            made.run["errors"] = ["abort: no"]
            del made.cells["off-sigkill"]
        _, reasons = self.broken(nothing)
        self.assertEqual(reasons, ["not everything was carried out: abort: no", "SIGKILL, guard off: 0 passes of 1",
                                   "SIGKILL, guard on, pass 1: not a packet was lost",
                                   "SIGKILL, guard on, pass 1: only 0 calls were made",
                                   "SIGKILL, guard on, pass 1: 1 calls failed before the fault",
                                   "SIGKILL, guard on, pass 1: the caller ended with 1"])

    def test_a_fault_of_a_node_that_moves_nothing_does_not_count(self):
        def untouched(made):
            made.nodes["on-sigkill-n1"] = samples([(0, 0, END)])
            made.nodes["on-sigkill-n2"] = samples([(1, 0, END)])
            made.etcd = [event for event in made.etcd if event["rev"] < 9]
        found, reasons = self.broken(untouched)
        self.assertEqual(found, [])
        self.assertIn("SIGKILL, guard on, pass 1: its shards went nowhere, so the fault did nothing", reasons)

    def test_a_cell_without_samples_does_not_count(self):
        def hole(made):
            for name in ("on-etcd_leader_killed-n1", "on-sigkill-n3"):  # n1 was struck
                made.nodes[name] = [line for line in made.nodes[name] if not 12 * SECOND < line["t"][0] < 13.1 * SECOND]
        _, reasons = self.broken(hole)
        self.assertEqual(reasons, ["SIGKILL, guard on, pass 1: there are holes in the samples of n3"])

    def test_calls_that_fail_within_the_cell_are_counted_and_those_past_the_router_are_not(self):
        made = Made()
        for line_id, begin, end in (("c1-1", 9, 12), ("c1-2", 15, 17), ("insister-1", 11, 12)):
            made.calls["off-sigkill"].append({"t": [begin * SECOND, end * SECOND], "id": line_id, "code": 4})
        cell, = made.past().of("off-sigkill"[4:], "off")
        self.assertEqual(cell.failed, 2)

    def test_the_table_has_a_row_for_each_cell(self):
        lines = list(matrix.table(Made().past()))
        self.assertEqual(len(lines), 2 + 2 * len(matrix.ROWS))
        self.assertIn("| SIGKILL | on | 1 | 0.050 | 0.050 | 0.050 | 0.050 | 1 | 1 | 0 | 12 | milliseconds | yes |", lines)
        self.assertIn("| SIGKILL | off | 1 | 3.4 | 3.4 | 3.4 | 3.4 | 1 | 1 | 0 | 12 | the lease: T + 0.5 s | yes |", lines)
        self.assertIn("| abort | on | 0 | - | - | - | - | - | - | - | - | - | - |", lines)

    @contextlib.contextmanager
    def folder(self):
        """What a run without cells leaves."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for part in ("nodes", "writers"):
                (folder / part).mkdir()
            options = {**Made().run["options"], "case": "matrix"}
            (folder / "run.json").write_text(json.dumps({**Made().run, "options": options, "cells": []}))
            (folder / "etcd.jsonl").write_text("")
            yield folder

    def test_half_a_line_of_a_process_that_was_killed_does_not_count(self):
        with self.folder() as folder:
            (folder / "nodes" / "g-n1.jsonl").write_text('{"t":[1,2]}\n{"t":[4916916763')
            self.assertEqual(matrix.load(folder).cells, [])

    def test_figures_begin_with_the_day_the_commit_and_the_etcd(self):
        with self.folder() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            (folder / checker.ORIGIN).write_text(json.dumps({"date": "2026-01-01", "commit": "0123abcd", "etcd": "3.4.23"}))
            checker.judge(folder)
        self.assertIn("\ndate: 2026-01-01\ncommit: 0123abcd\netcd: 3.4.23\nseed: 1\n", said.getvalue())

    def test_a_run_that_did_not_write_these_down_has_figures_all_the_same(self):
        with self.folder() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            checker.judge(folder)
        self.assertIn("\nseed: 1\n", said.getvalue())


if __name__ == "__main__":
    unittest.main()
