"""Histories as a run leaves them, made by hand: a whole one, and what tests change in it.

The whole one, in seconds: three nodes take a shard each; n1 is killed at 12, its lease ends at 15 and n2 takes over; n1 is
back at 20 and is given its shard again at 22. All has recovered at 25, and the group is at rest at 30.
"""
import base64
import copy

import checker
import history
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
                    "rest": at(30), "rested": True, "faults": [], "unexpected": [], "exits": {}, "footprints": [],
                    "errors": [], "skipped": {}, "world": "namespaces",
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
        """Sets what the statuses of these seconds say of the last renewal."""
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
        """Sets what is read at rest: views and final keys, as etcd has them now."""
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


def moved(made, seconds, shard, source, target, session):
    """A whole move in the second group."""
    term = made.state[f"/baton/v1/plain/shards/{shard}"]["rev"]
    made.commit(seconds, made.move("plain", shard, term, source, target, 2, session))
    made.commit(seconds + 0.5, made.record("plain", shard, target, session, "rebalance"),
                (f"/baton/v1/plain/moves/{shard}", None, 0))
    made.settle()


def session_ends_late(made, seconds=25.1):
    """n2's session in the second group goes after the last fault, by what that left; its shard goes to n1, and back."""
    made.member(seconds, "plain", "n2", None)
    made.member(25.2, "plain", "n2", 204)
    made.commit(26, made.record("plain", 1, "n1", 201, "lease_expired"))
    moved(made, 26.1, 1, "n1", "n2", 204)


def resigns(made):
    """n2 resigns its shard in the second group, as its callback takes too long."""
    made.commit(25.5, made.record("plain", 1, "", 202, "callback_timeout", by="n2"))


def led_again_at(made, seconds, name, until=25):
    """That fault alone strikes, and nobody leads the shard of n1, whose last sample was at 11.5, until it does so itself."""
    made.parts["run"]["faults"] = []
    made.fault(name, 11.4, until, until)
    for process, begin, led in (("n1.2", 20, [(0, made.terms["given"], seconds, 30)]),
                                ("n2.1", 3, [(1, made.terms["n2"], 3, 30)])):
        reports = [line for line in made.parts["nodes"][process] if line.get("event") == "transition"]
        made.lines(process, begin, 30, led)
        made.parts["nodes"][process] += reports
        made.parts["nodes"][process].sort(key=lambda line: line["t"][1] if "t" in line else line["at"])


def taken_at(made, seconds):
    """n2 is so late to lead the shard of n1, whose last sample was at 11.5."""
    made.parts["run"]["faults"][0]["begin"] = at(11.4)
    made.lines("n2.1", 3, 30, [(1, made.terms["n2"], 3, 30), (0, made.terms["taken"], seconds, 22)])
    made.report("n2.1", 3.1, 1, made.terms["n2"], "startup")
    made.report("n2.1", seconds + 0.1, 0, made.terms["taken"], "lease_expired")
