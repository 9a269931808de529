#!/usr/bin/python3
"""The checker itself: whole histories pass, and each that was broken by hand is found, by the invariant that it breaks.

by_hand.py says what the whole one has.
"""
import unittest
from unittest import mock

import checker
import etcd_behaviour
import history
import invariants
from by_hand import (NODES, Parts, at, found, led_again_at, moved, resigns, session_ends_late, suspended_for_a_second,
                     taken_at, whole)


class Whole(unittest.TestCase):
    def assertWhole(self, made):
        self.assertEqual(found(made), ([], ""))

    def test_a_kill_and_a_handoff(self):
        self.assertWhole(whole())

    def test_a_session_that_ends_late_by_a_fault(self):
        made = whole()
        session_ends_late(made)
        self.assertWhole(made)

    def test_a_session_that_ended_just_before_all_had_recovered(self):
        made = whole()
        session_ends_late(made, 24.9)
        self.assertWhole(made)

    def test_a_session_that_ends_late_after_it_had_resigned(self):
        made = whole()
        resigns(made)
        made.member(25.6, "plain", "n2", None)
        made.commit(25.7, made.record("plain", 1, "n1", 201, "callback_timeout"))
        made.member(25.8, "plain", "n2", 204)
        moved(made, 26, 1, "n1", "n2", 204)
        self.assertWhole(made)

    def test_a_node_whose_shards_are_led_again_within_its_bound(self):
        made = whole()
        taken_at(made, 17.5)
        self.assertWhole(made)

    def test_a_longer_vacancy_where_two_faults_strike_together(self):
        made = whole()
        taken_at(made, 19)
        made.parts["run"]["faults"][0]["with"] = ["stop_member"]
        self.assertWhole(made)

    def test_a_longer_vacancy_that_began_before_the_fault(self):
        made = whole()
        taken_at(made, 19)
        made.parts["run"]["faults"][0]["begin"] = at(11.7)
        self.assertWhole(made)

    def test_a_longer_vacancy_by_a_fault_without_a_bound_or_after_a_member_of_etcd_came_back(self):
        for name, before in (("no_majority", ["h3"]), ("kill_node", ["e3"])):
            made = whole()
            taken_at(made, 19)
            made.parts["run"]["faults"][0]["name"] = name
            made.fault("leader_not_heard", begin=8, end=11.4, recovered=11.5, targets=before)
            self.assertWhole(made)

    def test_shards_that_are_led_again_within_the_bound_of_a_lost_leader(self):
        for name in ("leader_killed", "kill_etcd_leaders"):
            made = whole()
            led_again_at(made, 23.5, name)
            self.assertWhole(made)

    def test_two_leaders_after_a_lease_was_revoked_as_announced(self):
        made = whole()
        made.lines("n1.1", 3, 16.1, [(0, made.terms["n1"], 3, 16.1)])
        made.report("n1.1", 3.1, 0, made.terms["n1"], "startup")
        made.fault("revoke_lease", 14.9, 15.1, 16, early=[{"at": at(14.95), "reason": "lease revoked", "group": "kv",
                                                           "node": "n1"}])
        self.assertWhole(made)

    def test_two_leaders_where_a_clock_is_beyond_the_bound(self):
        made = whole()
        made.lines("n1.1", 3, 19, [(0, made.terms["n1"], 3, 19)])
        made.report("n1.1", 3.1, 0, made.terms["n1"], "startup")
        made.fault("clock_far_too_slow", 11, 19, 20, void=[{"node": "n1", "from": at(11), "to": at(25)}])
        self.assertWhole(made)

    def test_a_handoff_that_was_given_up(self):
        made = whole()
        term = made.commit(24, made.record("kv", 2, "n3", 103, "resumed"))
        made.lines("n3.1", 3, 30, [(2, made.terms["n3"], 3, 23.5), (2, term, 24.5, 30)])
        made.report("n3.1", 3.1, 2, made.terms["n3"], "startup")
        made.report("n3.1", 24.6, 2, term, "resumed")
        made.settle()
        self.assertWhole(made)

    def test_a_leader_resumed_before_its_status_shows_it(self):
        made = suspended_for_a_second()
        made.renewed("n3.1", 16.4, 20.4, 16, 32)
        made.renewed("n3.1", 20.4, 20.9, 19.9, 33)
        self.assertWhole(made)

    def test_a_leader_resumed_by_a_renewal_that_no_status_shows(self):
        made = suspended_for_a_second()
        made.renewed("n3.1", 16.4, 20.4, 16, 32)
        made.renewed("n3.1", 20.4, 20.9, 20.4, 34)
        self.assertWhole(made)

    def test_a_leader_resumed_before_its_clock_went_back(self):
        """By that clock the status of its suspension is not old yet, for seconds."""
        made = suspended_for_a_second()
        made.renewed("n3.1", 16.4, 23, 16, 32)
        self.assertIn("beyond the deadline", found(made)[1])
        made.fault("clock_jumps_back", 20.2, 22, 22, void=[{"node": "n3", "from": at(20.2), "to": at(28)}])
        self.assertWhole(made)

    def test_a_leader_resumed_while_its_answer_was_taken(self):
        made = suspended_for_a_second()
        made.renewed("n3.1", 16.4, 20.4, 16, 32)
        made.renewed("n3.1", 20.4, 20.9, 20.3, 33)
        sample = next(line for line in made.parts["nodes"]["n3.1"] if line.get("t", [0])[0] == at(20))
        sample["t"][1] = at(20.4)
        self.assertWhole(made)

    def test_two_statuses_at_once_of_a_leader_that_has_just_resumed(self):
        made = suspended_for_a_second()
        made.renewed("n3.1", 16.4, 20.9, 16, 32)
        for line in made.parts["nodes"]["n3.1"]:
            if line.get("event") == "status" and at(20.4) < line["at"] < at(20.9):
                line["asked"] = at(20)
        self.assertWhole(made)

    def test_a_leader_suspended_before_it_was_reported(self):
        made = whole()
        made.report("n2.1", 15.55, 0, made.terms["taken"], "resumed")
        self.assertWhole(made)

    def test_a_record_overwritten_while_its_leader_was_suspended(self):
        made = whole()
        key = "/baton/v1/kv/shards/2"
        made.fault("records_overwritten", 16, 16.1, 24, tampered=[{"at": at(15.9), "key": key,
                                                                   "value": made.state[key]["value"]}])
        made.parts["run"]["faults"][0]["with"] = ["records_overwritten"]
        term = made.commit(16, (key, made.state[key]["value"], 0))
        led = [(2, made.terms["n3"], 3, 16.5), (2, made.terms["n3"], 23, 24), (2, term, 24, 30)]
        made.lines("n3.1", 3, 30, led)
        made.report("n3.1", 3.1, 2, made.terms["n3"], "startup")
        made.report("n3.1", 24.1, 2, term, "startup")
        made.settle()
        self.assertWhole(made)

    def test_a_record_that_an_operator_deleted(self):
        made = whole()
        made.fault("records_deleted", 23, 23.1, 24, tampered=[{"at": at(22.9), "key": "/baton/v1/plain/shards/1",
                                                               "value": None}])
        made.commit(23, ("/baton/v1/plain/shards/1", None, 0))
        made.commit(23.5, made.record("plain", 1, "n2", 202, "operator"))
        made.settle()
        self.assertWhole(made)


class Broken(unittest.TestCase):
    def setUp(self):
        self.made = whole()
        self.parts, self.terms = self.made.parts, self.made.terms

    def assertBroken(self, invariant, text):
        """That, and nothing else."""
        invariants_found, said = found(self.made)
        self.assertIn(text, said)
        self.assertEqual(invariants_found, [invariant], said)

    def test_two_leaders(self):
        self.made.lines("n1.1", 3, 17, [(0, self.terms["n1"], 3, 17)])
        self.made.report("n1.1", 3.1, 0, self.terms["n1"], "startup")
        self.assertBroken("I1", "n1.1 led by term")

    def led_on_after_a_change(self, until, targets=()):
        """n3 leads on after its record was overwritten at 23 s, while a member of etcd may be frozen."""
        key = "/baton/v1/kv/shards/2"
        value = self.made.record("kv", 2, "n3", 103, "startup")[1]
        self.made.fault("records_overwritten", 23, 23.1, 24, tampered=[{"at": at(22.9), "key": key, "value": value}])
        if targets:
            self.made.fault("freeze_member_v1", 22.9, 29, 29, targets=list(targets))
        self.made.commit(23, (key, value, 0))
        self.made.lines("n3.1", 3, 30, [(2, self.terms["n3"], 3, until)])
        return [text for invariant, text in checker.violations(history.History(self.parts))[0] if invariant == "I1"]

    def test_who_leads_on_after_a_change_of_the_record(self):
        for until, targets, wrong in ((27.1, (), False), (27.6, (), True), (27.6, ("e2",), False), (27.6, ("h2",), True),
                                      (27.6, ("h3",), False), (29.6, ("h3",), True), (29.1, ("e2",), False), (29.6, ("e2",), True)):
            with self.subTest(until=until, targets=targets):
                self.setUp()
                said = [text for text in self.led_on_after_a_change(until, targets) if "n3.1 led by term" in text]
                self.assertEqual(bool(said), wrong, said)

    def test_two_leaders_for_longer_than_an_early_end_explains(self):
        self.made.lines("n1.1", 3, 21, [(0, self.terms["n1"], 3, 21)])
        self.made.report("n1.1", 3.1, 0, self.terms["n1"], "startup")
        self.made.fault("revoke_lease", 14.9, 15.1, 16, early=[{"at": at(14.95), "reason": "lease revoked", "group": "kv",
                                                                "node": "n1"}])
        self.assertBroken("I1", "n1.1 led by term")

    def test_leads_on_while_its_transfer_is_out(self):
        self.made.lines("n2.1", 3, 30, [(1, self.terms["n2"], 3, 30), (0, self.terms["taken"], 15.5, 23)])
        self.made.report("n2.1", 3.1, 1, self.terms["n2"], "startup")
        self.made.report("n2.1", 15.6, 0, self.terms["taken"], "lease_expired")
        self.assertBroken("I1", "n2.1 led by term")

    def test_leads_beyond_its_deadline(self):
        self.made.renewed("n3.1", 20, 30, 20, 40)
        self.assertBroken("I1", "beyond the deadline")

    def test_leads_beyond_its_deadline_before_its_clock_goes_wrong(self):
        """From 23 on, and judged half a second later."""
        for kind in ("void", "clocks"):
            made = whole()
            made.renewed("n3.1", 20, 24.6, 20, 40)
            made.fault("clock_jumps_back", 24.7, 25, 25, **{kind: [{"node": "n3", "from": at(24.7), "to": at(30)}]})
            self.assertIn("beyond the deadline", found(made)[1])

    def test_leads_beyond_its_deadline_while_its_loop_stands_still(self):
        lines = self.parts["nodes"]["n3.1"]
        self.made.renewed("n3.1", 20, 25, 20, 40)
        for place, line in enumerate(lines):
            if line.get("event") == "status" and at(20.2) < line["at"] < at(25):
                line |= {"at": at(25) + place, "renewal_age": at(25) + place - at(20)}
        lines.sort(key=lambda line: line["t"][1] if "t" in line else line["at"])
        self.made.renewed("n3.1", 25.1, 25.9, 25.4, 41)
        self.assertBroken("I1", "beyond the deadline")

    def test_leads_after_it_was_told_of_its_loss(self):
        self.made.event("n2.1", 21, "lost", 0, self.terms["taken"], reason="rebalance", phase="begin")
        self.assertBroken("I1", "after it was told of its loss")

    def test_an_older_term_is_accepted_after_a_newer(self):
        self.parts["accepted"][1]["term"], self.parts["accepted"][2]["term"] = self.terms["given"], self.terms["taken"]
        self.parts["accepted"][1]["node"], self.parts["accepted"][2]["node"] = "n1", "n2"
        self.assertBroken("I2", "was accepted after one of")

    def test_a_write_in_somebody_elses_term(self):
        self.parts["accepted"][1]["node"] = "n3"
        self.assertBroken("I3", "n3 wrote by term")

    def test_a_term_without_a_record(self):
        self.made.lines("n3.1", 3, 30, [(2, self.terms["n3"] + 100, 3, 30)])
        self.made.report("n3.1", 3.1, 2, self.terms["n3"], "startup")
        self.assertIn("which is no record", found(self.made)[1])
        self.assertIn("I3", found(self.made)[0])

    def test_a_claim_without_a_member_key(self):
        self.made.member(23, "plain", "n2", None)
        self.made.commit(23.5, self.made.record("plain", 1, "n2", 202, "startup"))
        self.made.settle()
        self.assertBroken("I3", "whose member key it does not hold")

    def test_a_record_that_vanishes(self):
        self.made.commit(23, ("/baton/v1/plain/shards/1", None, 0))
        self.made.commit(23.5, self.made.record("plain", 1, "n2", 202, "startup"))
        self.made.settle()
        self.assertBroken("I3", "left by nobody we know")

    def test_a_living_leaders_shard_is_claimed(self):
        self.made.commit(23, self.made.record("plain", 1, "n3", 203, "lease_expired"))
        self.made.commit(23.1, self.made.record("plain", 2, "n2", 202, "lease_expired"))
        self.made.settle()
        self.assertBroken("I6", "whose session lived, and had not prepared")

    def test_a_transfer_to_who_had_not_prepared(self):
        event = next(event for event in self.parts["etcd"] if event["key"] == "/baton/v1/kv/moves/0" and event["version"] == 2)
        event["value"] = Parts.move("kv", 0, self.terms["taken"], "n2", "n1", 1)[1]
        self.assertBroken("I6", "had not prepared")

    def test_a_transfer_to_a_session_that_did_not_prepare(self):
        event = next(event for event in self.parts["etcd"] if event["key"] == "/baton/v1/kv/moves/0" and event["version"] == 2)
        event["value"] = Parts.move("kv", 0, self.terms["taken"], "n2", "n1", 2, 101)[1]
        self.assertBroken("I6", "had not prepared")

    def test_a_handoff_through_nobody(self):
        self.made.commit(23, self.made.record("plain", 1, "", 202, "rebalance", by="n2"))
        self.made.commit(23.1, self.made.record("plain", 1, "n2", 202, "rebalance"))
        self.made.settle()
        self.assertBroken("I6", "without a leader's name")

    def test_a_move_outlives_its_transfer(self):
        self.parts["etcd"] = [event for event in self.parts["etcd"] if event["key"] != "/baton/v1/kv/moves/0"
                              or event["type"] == "PUT"]
        self.assertBroken("I6", "the move outlived its transfer")

    def test_a_view_that_is_stale(self):
        self.parts["views"]["kv n3"][0] = ["n2", self.terms["taken"]]
        self.parts["views"]["kv n3"][1] = ["n1", self.terms["n2"]]
        self.assertBroken("I4", "kv n3 says of shard 0")

    def test_a_node_without_a_view(self):
        del self.parts["views"]["plain n2"]
        self.assertBroken("I4", "5 views instead of 6")

    def test_no_recovery(self):
        self.parts["run"]["faults"][0]["recovered"] = None
        self.assertBroken("I5", "not all was led")

    def test_a_vacancy_beside_all_faults(self):
        self.parts["run"]["quiet"] = self.parts["run"]["end"] = at(42)
        self.parts["run"]["rest"] = at(50)
        for process, led in (("n1.2", [(0, self.terms["given"], 22.5, 50)]), ("n2.1", [
                (1, self.terms["n2"], 3, 32), (1, self.terms["n2"], 37, 50), (0, self.terms["taken"], 15.5, 22)]),
                             ("n3.1", [(2, self.terms["n3"], 3, 50)])):
            reports = [line for line in self.parts["nodes"][process] if line.get("event") == "transition"]
            self.made.lines(process, 20 if process == "n1.2" else 3, 50, led)
            self.parts["nodes"][process] += reports
            self.parts["nodes"][process].sort(key=lambda line: line["t"][1] if "t" in line else line["at"])
        self.assertBroken("I5", "shard 1: nobody led for")

    def test_a_node_whose_shards_are_not_led_again_within_its_bound(self):
        taken_at(self.made, 18.5)
        self.assertBroken("I5", "kill_node of h1: shard 0 had no leader for 7.0 s, at most 6.5 s are allowed")

    def test_a_shard_whose_leaders_died_in_a_row_may_wait(self):
        def waits(*records_of_it):
            replay = mock.Mock(changes={("kv", 0): []}, terms={("kv", 0): {}})
            for revision, (seconds, leader, previous, reason) in enumerate(records_of_it):
                replay.changes[("kv", 0)].append((revision, at(seconds)))
                replay.terms[("kv", 0)][revision] = {"leader": leader, "previous": previous, "reason": reason}
            return invariants.claim_wait(replay, ("kv", 0), at(300), 5)
        first, died = (0, "n1", "", "startup"), (20, "n2", "n1", "lease_expired")
        self.assertEqual(waits(first, died), 0)
        self.assertEqual(waits(first, died, (40, "n3", "n2", "process_died")), 1)
        self.assertEqual(waits(first, died, (30, "n4", "n2", "rebalance"), (60, "n1", "n4", "lease_expired")), 1)
        self.assertEqual(waits(first, died, (40, "n1", "n2", "process_died"), (99, "n2", "n1", "lease_expired")), 2)
        self.assertEqual(waits(first, died, (90, "n3", "n2", "lease_expired")), 0, "it was led for more than a minute")
        self.assertEqual(waits(first, died, (40, "n2", "n2", "lease_expired")), 0, "it lost its session and lived")
        self.assertEqual(waits(first, died, (40, "n2", "n2", "process_died")), 1, "its next process took it back")
        self.assertEqual(waits(first, died, (40, "n2", "n2", "startup")), 1, "it was dead before its next process looked")
        self.assertEqual(waits(first, died, (40, "n3", "n2", "process_died"), (301, "n1", "n3", "process_died")), 1)

    def test_a_gap_that_is_longer_than_the_wait_for_deaths_in_a_row(self):
        taken_at(self.made, 18.5)
        with mock.patch.object(invariants, "claim_wait", return_value=1):
            self.assertEqual(found(self.made), ([], ""))
        taken_at(self.made, 19.5)
        with mock.patch.object(invariants, "claim_wait", return_value=1):
            self.assertBroken("I5", "shard 0 had no leader for 8.0 s, at most 7.5 s are allowed")

    def test_a_recovery_that_waits_for_a_shard_whose_leaders_died_in_a_row(self):
        fault = self.parts["run"]["faults"][0]  # a shard is claimed at 22
        fault |= {"step_end": at(16), "recovered": at(22.5), "allowed": 5}
        with mock.patch.object(invariants, "claim_wait", return_value=0):
            self.assertBroken("I5", "kill_node of h1: not all was led 5 s after it ended")
        with mock.patch.object(invariants, "claim_wait", return_value=2):
            self.assertNotIn("not all was led", found(self.made)[1])
            fault["allowed"] = 6.3  # it was claimed in time
            self.assertBroken("I5", "kill_node of h1: not all was led 6.3 s after it ended")

    def test_a_gap_that_the_next_fault_began_or_prolonged(self):
        taken_at(self.made, 18.5)
        fault = self.parts["run"]["faults"][0]
        for next_begin, judged in ((19, True), (18, False)):
            self.parts["run"]["faults"][1:] = [{**fault, "with": ["no_majority"], "begin": at(next_begin)}]
            fault["step_end"] = fault["recovered"] = at(17.9)
            self.assertEqual("at most 6.5 s" in found(self.made)[1], judged)

    def test_a_bound_with_another_settle_time(self):
        taken_at(self.made, 17.5)
        self.assertEqual(found(self.made), ([], ""))
        self.parts["run"]["bound"] = 11
        self.assertBroken("I5", "at most 6.0 s are allowed")

    def test_shards_that_are_not_led_again_within_the_bound_of_a_lost_leader(self):
        for name in ("leader_killed", "kill_etcd_leaders"):
            self.made = whole()
            led_again_at(self.made, 24.5, name)
            self.assertBroken("I5", f"{name} of h1: shard 0 had no leader for 13.0 s, at most 12.5 s are allowed")

    def test_a_lost_write(self):
        self.parts["accepted"].pop()
        self.parts["entries"][0]["value"] = "2"
        self.assertBroken("I7", "was acknowledged, and is lost")

    def test_a_doubled_write(self):
        self.made.accept(0, "a3", 4, self.terms["given"], "n1", 24)
        self.parts["entries"][0]["value"] = "4"
        self.assertBroken("I7", "was carried out twice")

    def test_writes_out_of_order(self):
        self.parts["accepted"][1]["answer"], self.parts["accepted"][2]["answer"] = "3", "2"
        self.assertBroken("I7", "the 2th to be accepted")

    def test_a_write_that_the_store_forgot(self):
        self.parts["entries"][0]["value"] = "2"
        self.assertBroken("I7", "a is 2 after 3 accepted requests")

    def test_a_stale_read(self):
        self.parts["writes"][-1]["value"] = 2
        self.assertBroken("I7", "2 was read after 3 was acknowledged")

    def test_a_transition_reported_twice(self):
        self.made.report("n1.2", 23, 0, self.terms["given"], "rebalance")
        self.assertBroken("I7", "and again by n1.2")

    def test_a_transition_for_the_wrong_reason(self):
        for line in self.parts["nodes"]["n2.1"]:
            if line.get("reason") == "lease_expired":
                line["reason"] = "process_died"
        self.assertBroken("I7", "began for lease_expired, reported as process_died")

    def test_a_transition_that_nobody_reports(self):
        lines = self.parts["nodes"]["n2.1"]
        lines[:] = [line for line in lines if line.get("reason") != "lease_expired"]
        self.assertBroken("I7", "never reported it")

    def test_a_batond_tells_something_twice(self):
        self.parts["told"]["n2"].append(self.parts["told"]["n2"][0])
        self.assertBroken("I7", "n2 tells of term")

    def test_a_batond_tells_of_another_leader(self):
        self.parts["told"]["n2"][0]["to"] = "n3"
        self.assertBroken("I7", "which was not")

    def test_a_batond_tells_another_reason(self):
        self.parts["told"]["n2"][0]["reason"] = "drain"
        self.assertBroken("I7", "n2 tells drain")

    def test_a_drain_that_comes_back(self):
        self.parts["run"]["revived"] = [[at(29), "/baton/v1/kv/policy/drain/n2", True]]
        self.assertBroken("I7", "policy/drain/n2 came back")

    def test_a_crash(self):
        self.parts["run"]["unexpected"].append({"process": "kv-n2.1", "code": -6})
        self.assertBroken("I8", "kv-n2.1 ended by itself with -6")

    def test_a_halt(self):
        self.made.event("n3.1", 20, "halted", 0, 0, why="another cluster")
        self.assertBroken("I8", "n3.1 halted")

    def test_a_failed_end(self):
        self.parts["run"]["exits"]["batond-n1"] = 1
        self.assertBroken("I8", "batond-n1 ended with 1 at SIGTERM")

    def test_no_rest(self):
        self.parts["run"]["rested"] = False
        self.assertBroken("I9", "did not come to rest")

    def test_an_unbalanced_rest(self):
        for node in NODES:
            self.parts["views"][f"plain {node}"][1][0] = "n1"
        invariants_found, said = found(self.made)
        self.assertIn("is not balanced", said)
        self.assertEqual(invariants_found, ["I4", "I9"])

    def test_a_move_that_is_left(self):
        self.made.commit(29, self.made.move("plain", 0, 5, "n1", "n2", 1))
        self.made.settle()
        self.assertBroken("I9", "a move is left")

    def test_a_needless_move(self):
        term = self.made.state["/baton/v1/plain/shards/0"]["rev"]
        for source, target, session in (("n1", "n2", 202), ("n2", "n1", 201)):
            self.made.commit(26, self.made.move("plain", 0, term, source, target, 2, session))
            term = self.made.commit(26.5, self.made.record("plain", 0, target, session, "rebalance"),
                                    ("/baton/v1/plain/moves/0", None, 0))
        self.made.settle()
        self.assertBroken("I9", "no fault any more, where 0 were needed")

    def test_a_needless_move_after_a_late_succession(self):
        session_ends_late(self.made)
        moved(self.made, 27, 2, "n3", "n2", 204)
        self.assertBroken("I9", "plain: 2 moves after revision")

    def test_a_needless_move_after_a_living_session_resigned(self):
        resigns(self.made)
        self.made.commit(25.6, self.made.record("plain", 1, "n1", 201, "callback_timeout"))
        moved(self.made, 26, 1, "n1", "n2", 202)
        self.assertBroken("I9", "plain: 1 moves after revision")

    def test_a_needless_move_before_the_session_that_resigned_ends(self):
        resigns(self.made)
        self.made.commit(25.6, self.made.record("plain", 1, "n1", 201, "callback_timeout"))
        self.made.member(25.7, "plain", "n2", None)
        self.made.member(25.8, "plain", "n2", 204)
        moved(self.made, 26, 1, "n1", "n2", 204)
        self.assertBroken("I9", "plain: 1 moves after revision")

    def test_a_needless_move_after_another_nodes_session_ended(self):
        self.made.member(25.1, "plain", "n3", None)
        self.made.member(25.2, "plain", "n3", 205)
        self.made.commit(25.3, self.made.record("plain", 2, "n3", 205, "lease_expired"))
        resigns(self.made)
        self.made.commit(25.6, self.made.record("plain", 1, "n1", 201, "callback_timeout"))
        moved(self.made, 26, 1, "n1", "n2", 202)
        self.assertBroken("I9", "plain: 1 moves after revision")

    def test_a_session_that_ends_at_rest(self):
        self.made.member(29.5, "plain", "n2", None)
        self.made.member(29.6, "plain", "n2", 204)
        self.assertBroken("I9", "4.5 s after all had recovered")

    def test_a_change_where_nobody_may_notice_anything(self):
        self.parts["run"]["no_change_from"] = self.terms["taken"]
        self.parts["run"]["no_change_to"] = at(25)
        self.assertBroken("change", "kv shard 0 changed hands")


    def test_a_call_that_failed_while_etcd_was_upgraded(self):
        self.parts["run"]["options"]["case"] = "etcd_upgrade"
        self.parts["writes"][0] = {**self.parts["writes"][0], "code": 14}
        self.assertBroken("calls", "requests through routers failed")


class Invalid(unittest.TestCase):
    def reasons(self, made):
        past = history.History(made.parts)
        return "\n".join(checker.invalid(past, invariants.Replay(past)))

    def test_a_hole_in_the_watch(self):
        made = whole()
        made.parts["etcd"] = [event for event in made.parts["etcd"] if event["rev"] != made.terms["taken"]]
        self.assertIn("/baton/v1/kv/shards/0 has version 3", self.reasons(made))

    def test_a_watch_that_ends_too_soon(self):
        made = whole()
        made.parts["etcd"].pop(-2)
        self.assertIn("at the end, its last change seen of", self.reasons(made))

    def test_too_little_happened(self):
        made = whole()
        made.parts["run"]["options"]["minima"] = {"faults": 2, "changes": 100, "writes": 4, "seen": ["late revoke"]}
        said = self.reasons(made)
        for text in ("1 faults, at least 2", "changes, at least 100", "3 writes, at least 4", "not seen: late revoke",
                     "samples of Leads() are too few"):
            self.assertIn(text, said)

    def test_what_must_be_seen_depends_on_etcd(self):
        for version in ((3, 4, 23), (3, 4, 1), (2, 3, 8)):
            self.assertEqual(("lying keepalive", "late revoke"), etcd_behaviour.faults_of(version))
        for version in ((3, 4, 24), (3, 5, 0), (3, 5, 16), (3, 7, 3), (4, 0, 0)):
            self.assertEqual((), etcd_behaviour.faults_of(version))

    def test_a_fault_that_could_not_be_carried_out(self):
        made = whole()
        made.parts["run"]["errors"].append("fill_quota: not within 30 s")
        self.assertIn("not everything was carried out", self.reasons(made))

    def test_a_fault_that_was_skipped(self):
        """In namespaces nothing is; on loopback much."""
        made = whole()
        self.assertNotIn("skipped", self.reasons(made))
        made.parts["run"]["skipped"] = {"freeze_node_v2": ["freezer_v2"], "isolate_node": ["nftables"]}
        said = self.reasons(made)
        for text in ("skipped: freeze_node_v2, as the machine did not allow freezer_v2", "skipped: isolate_node"):
            self.assertIn(text, said)
        made.parts["run"]["world"] = "loopback"
        self.assertNotIn("skipped", self.reasons(made))

    def test_a_fault_that_takes_what_the_kernel_was_booted_without(self):
        made = whole()
        made.parts["run"]["skipped"] = {"freeze_node_v1": ["freezer_v1"], "isolate_node": ["nftables"]}
        made.parts["run"]["without_v1"] = ["cpu", "freezer_v1"]
        said = self.reasons(made)
        self.assertNotIn("freeze_node_v1", said)
        self.assertIn("skipped: isolate_node", said)


class Figures(unittest.TestCase):
    def rows(self, made):
        past = history.History(made.parts)
        violations, replay = checker.violations(past)
        return dict(checker.summary(past, replay, violations))

    def test_who_led_on_by_what_caused_it(self):
        ended, changed = (f"led on after {what}, the longest" for what in ("etcd or an operator ended a session early",
                                                                           "a record was changed by hand"))
        self.assertEqual([self.rows(whole())[what] for what in (ended, changed)], ["0, 0.00 s"] * 2)
        made = whole()
        made.lines("n1.1", 3, 16.1, [(0, made.terms["n1"], 3, 16.1)])
        made.fault("revoke_lease", 14.9, 15.1, 16, early=[{"at": at(14.95), "reason": "lease revoked", "group": "kv",
                                                           "node": "n1"}])
        self.assertEqual([self.rows(made)[what] for what in (ended, changed)], ["1, 0.30 s", "0, 0.00 s"])
        made = whole()
        key = "/baton/v1/kv/shards/2"
        value = made.record("kv", 2, "n3", 103, "startup")[1]
        made.fault("records_overwritten", 23, 23.1, 24, tampered=[{"at": at(22.9), "key": key, "value": value}])
        made.commit(23, (key, value, 0))
        made.lines("n3.1", 3, 30, [(2, made.terms["n3"], 3, 24.1)])
        self.assertEqual([self.rows(made)[what] for what in (ended, changed)], ["0, 0.00 s", "1, 1.00 s"])

    def test_a_gap_above_its_limit_is_counted_as_it_is_judged(self):
        for seconds, above in ((17.5, 0), (18.5, 1)):
            made = whole()
            taken_at(made, seconds)
            past = history.History(made.parts)
            row = next(line for line in checker.table(past) if line.startswith("| kill_node |"))
            self.assertEqual([cell.strip() for cell in row.split("|")][7:10], [f"{seconds - 11.5:.2f}", "3.5", str(above)])


if __name__ == "__main__":
    unittest.main()
