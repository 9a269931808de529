"""The judge of stuck shards against histories that are made by hand: one that is as it should be, and each way to break it."""
import copy
import unittest

import stuckness
from stuckness import SECOND

SHARDS = 100
TTL = 3


def samples(led, begin, end):
    """Lines of a process that leads `led` in term 1 from `begin` to `end`, in seconds, with a sample each tenth."""
    lines = []
    for tenth in range(int(begin * 10), int(end * 10) + 1):
        at = tenth * SECOND // 10
        lines.append({"t": [at, at], "leads": [[shard, 1, 1] for shard in led]} if not lines else {"t": [at, at]})
    return lines


def group_of(name, wait):
    """n1 is killed at 10 s; its lease ends `wait` seconds later, and n2 leads all a tenth after that."""
    phase = {"name": name, "begin": SECOND, "end": 40 * SECOND, "callback_timeout": 2.0, "failing": [], "raft_terms": [2, 2],
             "ended_by_themselves": [], "timed_out": {}, "stopping": {},
             "steps": [{"kind": kind, "node": "n1", "begin": at * SECOND, "end": (at + 9) * SECOND}
                       for kind, at in (("kill", 10), ("stop", 20), ("drain", 30))]}
    nodes = {f"{name}-n1.1": samples(range(SHARDS), 0, 10), f"{name}-n2.1": samples(range(SHARDS), 10.1 + wait, 40)}
    etcd = [{"key": f"/baton/v1/{name}/members/n1", "type": "DELETE", "at": int((10 + wait) * SECOND)}]
    return phase, nodes, etcd


def parts():
    without, with_stuck = group_of("without", 3.0), group_of("with", 2.0)
    with_stuck[0]["failing"] = [(20, "it has not returned in time, and still runs"), (80, "its data can't be read")]
    with_stuck[0]["timed_out"] = {"with-n2.1": [60]}
    with_stuck[0]["stopping"] = {"with-n2.1": {"at": 39 * SECOND, "shards": [60]}}
    with_stuck[1]["with-n2.1"].append({"at": 20 * SECOND, "event": "releasing", "shard": 60})
    return {"run": {"shards": SHARDS, "ttl": TTL, "options": {"seed": 1, "bound": 0.1}, "phases": [without[0], with_stuck[0]]},
            "nodes": {**without[1], **with_stuck[1]}, "etcd": without[2] + with_stuck[2]}


class Stuckness(unittest.TestCase):
    def broken(self, change):
        made = copy.deepcopy(parts())
        change(made)
        past = stuckness.Past(made["run"], made["nodes"], made["etcd"])
        return list(stuckness.violations(past)), list(stuckness.invalid(past))

    def test_a_good_run_is_good(self):
        self.assertEqual(self.broken(lambda made: None), ([], []))

    def test_both_groups_are_charged_with_the_same_wait_for_leases(self):
        made = parts()
        past = stuckness.Past(made["run"], made["nodes"], made["etcd"])
        without, with_stuck = stuckness.charged(past)
        self.assertAlmostEqual(without, 3.1, places=6)
        self.assertAlmostEqual(with_stuck, 3.1, places=6)

    def test_good_shards_that_wait_longer_are_found(self):
        def later(made):
            made["nodes"]["with-n2.1"] = samples(range(SHARDS), 12.6, 40)
        found, _ = self.broken(later)
        self.assertEqual(len(found), 1)
        self.assertIn("was without a leader for 3.600 s, without them for 3.100 s", found[0])

    def test_a_lost_lease_is_found(self):
        found, _ = self.broken(lambda made: made["etcd"].append(
            {"key": "/baton/v1/with/members/n2", "type": "DELETE", "at": 25 * SECOND}))
        self.assertEqual(found, [f"group with: the session of n2 ended at {25 * SECOND}, and nobody had ended the node"])

    def test_a_second_session_that_ends_within_a_step_is_lost(self):
        found, _ = self.broken(lambda made: made["etcd"].append(
            {"key": "/baton/v1/with/members/n1", "type": "DELETE", "at": 18 * SECOND}))
        self.assertEqual(found, [f"group with: the session of n1 ended at {18 * SECOND}, and nobody had ended the node"])

    def test_a_shard_that_is_not_activated_is_not_served(self):
        def slowly(made):
            lines = samples(range(SHARDS), 12.1, 40)
            lines[0]["leads"] = [[shard, 1, 0] for shard in range(SHARDS)]
            lines[20]["leads"] = [[shard, 1, 1] for shard in range(SHARDS)]
            made["nodes"]["with-n2.1"][:-1] = lines
        found, _ = self.broken(slowly)
        self.assertEqual(len(found), 2)
        self.assertIn("was without a leader for 5.100 s, without them for 3.100 s", found[0])
        self.assertIn("2.100 s apart from the waits for leases, without them for 0.100 s", found[1])

    def test_two_leaders_are_found(self):
        def both(made):
            made["nodes"]["with-n3.1"] = samples([7], 30, 31)
        found, _ = self.broken(both)
        self.assertEqual(found, [f"group with: shard 7 was led by with-n2.1 and with-n3.1 at {30 * SECOND}"])

    def test_what_nobody_names_is_found(self):
        def silent(made):
            made["run"]["phases"][1]["failing"] = [(20, "it threw"), (60, "it still runs"), (81, "its data can't be read")]
            made["run"]["phases"][1]["timed_out"] = {}
        found, _ = self.broken(silent)
        self.assertEqual(found, ["group with: shard 80 (throwing start) is not listed as failing",
                                 "group with: shard 20 (stuck start) is listed as failing: it threw",
                                 "group with: shard 81 (good) is listed as failing: its data can't be read",
                                 "group with: with-n2.1 does not say that the release of shard 60 timed out"])

    def test_a_release_shortly_before_its_process_ended_needs_no_line(self):
        def ended(made):
            made["nodes"]["with-n2.1"][-1]["at"] = 38 * SECOND
            made["run"]["phases"][1]["timed_out"] = {}
        self.assertEqual(self.broken(ended), ([], []))

    def test_a_status_that_does_not_name_a_shard_as_stopping_is_found(self):
        def silent(made):
            made["run"]["phases"][1]["stopping"]["with-n2.1"]["shards"] = []
        found, _ = self.broken(silent)
        self.assertEqual(found, ["group with: the status of with-n2.1 does not name shard 60 as stopping"])

    def test_a_shard_that_was_given_up_just_before_the_status_need_not_be_named(self):
        def soon(made):
            made["run"]["phases"][1]["stopping"]["with-n2.1"] = {"at": 24 * SECOND, "shards": []}
        self.assertEqual(self.broken(soon), ([], []))

    def test_a_shard_that_came_back_is_named_as_failing(self):
        def back(made):
            made["run"]["phases"][1]["stopping"]["with-n2.1"]["shards"] = []
            made["run"]["phases"][1]["failing"].append((60, "it has not returned in time, and still runs"))
        self.assertEqual(self.broken(back), ([], []))

    def test_a_run_in_which_etcd_elected_a_leader_does_not_count(self):
        def elected(made):
            made["run"]["phases"][0]["raft_terms"] = [2, 3]
        _, reasons = self.broken(elected)
        self.assertEqual(reasons, ["etcd elected a leader in group without, so that leases may have been lost for want of one"])

    def test_the_figures_are_those_of_the_groups(self):
        made = parts()
        figures = dict(stuckness.summary(stuckness.Past(made["run"], made["nodes"], made["etcd"]), []))
        self.assertEqual(figures["shards; of these misbehave in one group"], "100; 5")
        self.assertEqual(figures["group with: seconds a good shard was without a leader: waiting for leases, the rest"],
                         "2.000, 0.100")
        self.assertEqual(figures["with the same wait for leases: without stuck shards, with them, more by (allowed)"],
                         "3.100, 3.100, +0.0% (10%)")

    def test_a_run_that_shows_nothing_does_not_count(self):
        def nothing(made):
            made["run"]["phases"][1]["steps"] = made["run"]["phases"][1]["steps"][:1]
            made["nodes"]["with-n2.1"] = [line for line in made["nodes"]["with-n2.1"] if "t" in line]
        _, reasons = self.broken(nothing)
        self.assertEqual(reasons, ["no step was a stop", "no step was a drain", "the two groups did not go through the same steps",
                                   "no shard that never finishes to stop was asked to stop"])


if __name__ == "__main__":
    unittest.main()
