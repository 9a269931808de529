#!/usr/bin/python3
"""The checker itself: whole histories pass, and each that was broken by hand is found, by the invariant that it breaks.

The whole one, in seconds: three nodes take a shard each; n1 is killed at 12, its lease ends at 15 and n2 takes over; n1 is
back at 20 and is given its shard again at 22. Faults end at 25, the group is at rest at 30.
"""
import base64
import copy
import unittest

import checker
import history
import invariants
import records

SECOND = 10**9
NODES = ("n1", "n2", "n3")
REASON = {name: number for number, name in enumerate(records.REASONS)}


def varint(value):
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def message(**numbered):
    """A flat message: f2="n1" is field 2."""
    data = b""
    for name, value in numbered.items():
        number = int(name[1:])
        if isinstance(value, str):
            data += varint(number << 3 | 2) + varint(len(value)) + value.encode()
        else:
            data += varint(number << 3) + varint(value)
    return base64.b64encode(data).decode()


def at(seconds):
    return int(seconds * SECOND)


class Parts:
    """A history as it lies on disk, for tests to build and to break."""

    def __init__(self):
        self.revision = 1
        self.state = {}
        self.parts = {
            "run": {"ttl": 3, "shards": 3, "nodes": 3, "bound": 11.5, "begin": at(10), "end": at(25), "quiet": at(25),
                    "rest": at(30), "rested": True, "faults": [], "unexpected": [], "exits": {}, "footprints": [], "errors": [], "skipped": {},
                    "options": {"seed": 1, "case": "mixed", "minima": {}}},
            "etcd": [], "nodes": {}, "writes": [], "accepted": [], "entries": [], "views": {}, "final": {"keys": []}, "told": {},
            "footprints": []}

    def commit(self, seconds, *changes):
        """One revision: (key, value or None, lease)."""
        self.revision += 1
        for key, value, lease in changes:
            before = self.state.get(key)
            event = {"rev": self.revision, "key": key, "type": "PUT" if value is not None else "DELETE", "at": at(seconds),
                     "create": 0, "version": 0, "lease": lease, "value": value or ""}
            if value is not None:
                event["version"] = before["version"] + 1 if before else 1
                self.state[key] = event
            else:
                self.state.pop(key, None)
            self.parts["etcd"].append(event)
        return self.revision

    def member(self, seconds, group, node, session):
        value = None if session is None else message(f1=1, f2=node, f3=session)
        return self.commit(seconds, (f"/baton/v1/{group}/members/{node}", value, session or 0))

    @staticmethod
    def record(group, shard, leader, session, reason, by=""):
        return (f"/baton/v1/{group}/shards/{shard}",
                message(f1=1, f2=shard, f3=leader, f4=session, f5=by, f7=REASON[reason]), 0)

    @staticmethod
    def move(group, shard, ends, source, target, phase, session=0):
        return (f"/baton/v1/{group}/moves/{shard}",
                message(f1=1, f2=shard, f3=ends, f4=source, f5=target, f6=4, f8=phase, f9=session), 0)

    def lines(self, process, begin, end, led):
        """Samples twice a second, renewals at each; `led`: (shard, term, from, to)."""
        lines, before = [], {}
        for half in range(int(begin * 2), int(end * 2)):
            now = half / 2
            leads = {shard: term for shard, term, since, until in led if since <= now < until}
            changes = [[shard, term, 1] for shard, term in leads.items() if before.get(shard) != term]
            changes += [[shard, 0, 0] for shard in before if shard not in leads]
            lines.append({"t": [at(now), at(now) + 1000], **({"leads": changes} if changes else {})})
            lines.append({"at": at(now) + 2000, "asked": at(now) + 2000, "event": "status", "session": 1, "phase": "live",
                          "renewal_age": 0, "confirmed": half, "ttl_ms": 3000, "revision": 1, "resyncs": 0})
            before = leads
        self.parts["nodes"][process] = lines

    def renewed(self, process, since, until, seconds, confirmed):
        """What the statuses of these seconds say of the last renewal."""
        for line in self.parts["nodes"][process]:
            if line.get("event") == "status" and at(since) < line["at"] < at(until):
                line |= {"renewal_age": line["at"] - at(seconds), "confirmed": confirmed}

    def event(self, process, seconds, event, shard, term, **more):
        lines = self.parts["nodes"][process]
        lines.append({"at": at(seconds), "event": event, "shard": shard, "term": term, **more})
        lines.sort(key=lambda line: line["t"][1] if "t" in line else line["at"])

    def report(self, process, seconds, shard, term, reason):
        self.event(process, seconds, "transition", shard, term, reason=reason, to=process[:2], **{"from": ""})

    def accept(self, shard, request, answer, term, node, seconds):
        self.parts["accepted"].append({"shard": shard, "place": len(self.parts["accepted"]), "id": request,
                                       "answer": str(answer), "term": term, "node": node, "at": at(seconds)})

    def write(self, seconds, request, key, value=None, operation="add", code=0):
        self.parts["writes"].append({"t": [at(seconds), at(seconds) + 1000], "id": request, "key": key, "op": operation,
                                     "code": code, **({"value": value} if code == 0 else {})})

    def fault(self, name="kill_node", begin=12, end=20, recovered=20, **more):
        self.parts["run"]["faults"].append({
            "name": name, "with": [], "targets": ["h1"], "begin": at(begin), "end": at(end), "step_end": at(end),
            "recovered": recovered and at(recovered), "hits": 1, "notes": [], "early": [], "void": [], "tampered": [],
            "clocks": [], "may_end_early": False, "allowed": 11.5, **more})

    def tell(self, node, shard, term, leader, reason):
        self.parts["told"].setdefault(node, []).append({"shard": shard, "term": term, "from": None, "to": leader,
                                                        "reason": reason})

    def settle(self):
        """What is read at rest: views and final keys, as etcd has them now."""
        self.parts["final"] = {"revision": self.revision,
                               "keys": [{"key": event["key"], "rev": event["rev"], "value": event["value"]}
                                        for event in self.state.values()]}
        for group in ("kv", "plain"):
            said = []
            for shard in range(3):
                event = self.state[f"/baton/v1/{group}/shards/{shard}"]
                found = records.leadership(event["value"], shard)
                said.append([found["leader"] or None, event["rev"]] if found else ["?", 0])
            for node in NODES:
                self.parts["views"][f"{group} {node}"] = copy.deepcopy(said)


def whole():
    made = Parts()
    for group, first in (("plain", 201), ("kv", 101)):
        for place, node in enumerate(NODES):
            made.member(1, group, node, first + place)
        for place, node in enumerate(NODES):
            made.commit(2, made.record(group, place, node, first + place, "startup"))
    n1, n2, n3 = (made.state[f"/baton/v1/kv/shards/{shard}"]["rev"] for shard in range(3))
    made.fault()
    made.member(15, "kv", "n1", None)
    taken = made.commit(15.2, made.record("kv", 0, "n2", 102, "lease_expired"))
    made.member(20, "kv", "n1", 104)
    made.commit(21, made.move("kv", 0, taken, "n2", "n1", 1))
    made.commit(21.5, made.move("kv", 0, taken, "n2", "n1", 2, 104))
    given = made.commit(22, made.record("kv", 0, "n1", 104, "rebalance"), ("/baton/v1/kv/moves/0", None, 0))
    made.terms = {"n1": n1, "n2": n2, "n3": n3, "taken": taken, "given": given}
    made.lines("n1.1", 3, 12, [(0, n1, 3, 12)])
    made.lines("n1.2", 20, 30, [(0, given, 22.5, 30)])
    made.lines("n2.1", 3, 30, [(1, n2, 3, 30), (0, taken, 15.5, 22)])
    made.lines("n3.1", 3, 30, [(2, n3, 3, 30)])
    for process, seconds, shard, term, reason in (
            ("n1.1", 3.1, 0, n1, "startup"), ("n2.1", 3.1, 1, n2, "startup"), ("n3.1", 3.1, 2, n3, "startup"),
            ("n2.1", 15.6, 0, taken, "lease_expired"), ("n1.2", 22.6, 0, given, "rebalance")):
        made.report(process, seconds, shard, term, reason)
    for number, (term, node, seconds) in enumerate(((n1, "n1", 11), (taken, "n2", 16), (given, "n1", 23)), 1):
        made.accept(0, f"a{number}", number, term, node, seconds)
        made.write(seconds, f"a{number}", "a", number)
    for shard, node in enumerate(NODES):
        made.tell("n2", shard, made.state[f"/baton/v1/plain/shards/{shard}"]["rev"], node, "startup")
    made.write(13, "a-lost", "a", code=14)
    made.write(24, "read", "a", 3, "get")
    made.parts["entries"].append({"shard": 0, "key": "a", "value": "3"})
    made.settle()
    return made


def found(made):
    """The invariants that the checker says are broken, and what it says."""
    violations, _ = checker.violations(history.History(made.parts))
    return sorted({invariant for invariant, _ in violations}), "\n".join(text for _, text in violations)


def suspended_for_a_second():
    """n3 leads shard 2 until its deadline at 19, and again from 20 on."""
    made = whole()
    made.lines("n3.1", 3, 30, [(2, made.terms["n3"], 3, 19), (2, made.terms["n3"], 20, 30)])
    made.report("n3.1", 3.1, 2, made.terms["n3"], "startup")
    return made


def session_ends_late(made):
    """n2's session in the second group goes after the last fault, by what that left; its shard goes to n1, and back."""
    made.member(25.1, "plain", "n2", None)
    made.member(25.2, "plain", "n2", 204)
    taken = made.commit(26, made.record("plain", 1, "n1", 201, "lease_expired"))
    made.commit(26.1, made.move("plain", 1, taken, "n1", "n2", 2, 204))
    made.commit(26.2, made.record("plain", 1, "n2", 204, "rebalance"), ("/baton/v1/plain/moves/1", None, 0))
    made.settle()


class Whole(unittest.TestCase):
    def assertWhole(self, made):
        self.assertEqual(found(made), ([], ""))

    def test_a_kill_and_a_handoff(self):
        self.assertWhole(whole())

    def test_a_session_that_ends_late_by_a_fault(self):
        made = whole()
        session_ends_late(made)
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

    def test_a_leader_resumed_before_its_picture_shows_it(self):
        made = suspended_for_a_second()
        made.renewed("n3.1", 16.4, 20.4, 16, 32)
        made.renewed("n3.1", 20.4, 20.9, 19.9, 33)
        self.assertWhole(made)

    def test_a_leader_resumed_by_a_renewal_that_no_picture_shows(self):
        made = suspended_for_a_second()
        made.renewed("n3.1", 16.4, 20.4, 16, 32)
        made.renewed("n3.1", 20.4, 20.9, 20.4, 34)
        self.assertWhole(made)

    def test_a_leader_resumed_before_its_clock_went_back(self):
        """By that clock the picture of its suspension is not old yet, for seconds."""
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

    def test_two_pictures_at_once_of_a_leader_that_has_just_resumed(self):
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
        term = self.made.state["/baton/v1/plain/shards/2"]["rev"]
        self.made.commit(27, self.made.move("plain", 2, term, "n3", "n2", 2, 204))
        self.made.commit(27.5, self.made.record("plain", 2, "n2", 204, "rebalance"), ("/baton/v1/plain/moves/2", None, 0))
        self.made.settle()
        self.assertBroken("I9", "plain: 2 moves after revision")

    def test_a_session_that_ends_at_rest(self):
        self.made.member(29.5, "plain", "n2", None)
        self.made.member(29.6, "plain", "n2", 204)
        self.assertBroken("I9", "4.5 s after the last fault")

    def test_a_change_where_nobody_may_notice_anything(self):
        self.parts["run"]["no_change_from"] = self.terms["taken"]
        self.parts["run"]["no_change_to"] = at(25)
        self.assertBroken("change", "kv shard 0 changed hands")


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

    def test_a_fault_that_could_not_be_carried_out(self):
        made = whole()
        made.parts["run"]["errors"].append("fill_quota: not within 30 s")
        self.assertIn("not everything was carried out", self.reasons(made))


if __name__ == "__main__":
    unittest.main()
