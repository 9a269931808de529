"""I1 to I9 of a whole run, judged from outside: from what etcd committed, what nodes said of themselves, what the resource
accepted and what writers were answered. Shares no code with the product.

Each function takes a history.History and yields violations as (invariant, text). README.md says what each may conclude.
"""
import collections

import bounds
import records

SECOND = 10**9
REPORTED_WITHIN = SECOND
STANDS_STILL = 2 * SECOND  # then a node opens its watch on another endpoint
SHORT_LEADERSHIP = 60  # seconds; a leader that dies within them counts against its shard


def shard_of(key):
    """(group, shard) of a leadership record's key; else None."""
    parts = key.split("/")
    if len(parts) == 6 and parts[4] == "shards" and parts[5].isdigit():
        return parts[3], int(parts[5])
    return None


class Replay:
    """etcd's state, revision by revision, and what may be said of each leadership."""

    def __init__(self, history):
        self.history = history
        self.state = {}
        self.terms = {}  # (group, shard): {term: record}
        self.changes = {}  # (group, shard): [(revision, seen at)], also of deletions
        self.transfers, self.violations = [], []
        self.ended = {}  # session: (revision, seen at) when its member key was gone
        self.tampered = set()  # revisions of (key)
        hands = collections.defaultdict(list)
        for fault in history.run["faults"]:
            for hand in fault["tampered"]:
                hands[hand["key"]].append(hand)
        self._hands = hands
        for revision, events in history.revisions():
            self._step(revision, events)

    def _by_an_operator(self, event):
        for hand in self._hands.get(event["key"], ()):
            same = event["type"] == "DELETE" if hand["value"] is None else event["value"] == hand["value"]
            if same and event["at"] >= hand["at"]:
                return True
        return False

    def _step(self, revision, events):
        before = {event["key"]: self.state.get(event["key"]) for event in events}
        after = {event["key"]: event if event["type"] == "PUT" else None for event in events}
        for event in events:
            place = shard_of(event["key"])
            if place:
                self._record(revision, event, place, before[event["key"]], after)
            elif event["key"].split("/")[4:5] == ["members"]:
                was = before[event["key"]]
                if was and (event["type"] == "DELETE" or event["lease"] != was["lease"]):
                    self.ended.setdefault(was["lease"], (revision, event["at"]))
        self.state.update(after)

    def _alive(self, group, node, session, after):
        """The node's member key hangs on that session, before the revision; `after` has what it changes itself."""
        key = f"/baton/v1/{group}/members/{node}"
        kept = self.state.get(key)
        return bool(kept) and kept["lease"] == session and after.get(key, kept) is not None

    def _record(self, revision, event, place, was, after):
        self.changes.setdefault(place, []).append((revision, event["at"]))
        operator = self._by_an_operator(event)
        if operator:
            self.tampered.add((revision, place))
        now = records.leadership(event["value"], place[1]) if event["type"] == "PUT" else None
        old = records.leadership(was["value"], place[1]) if was else None
        if now:
            now["at"] = event["at"]
            self.terms.setdefault(place, {})[revision] = now
        if operator:
            return
        if now is None:
            self.violations.append(("I3", f"{event['key']} at {revision}: a record that can't be read, or none, was left by "
                                          "nobody we know"))
            return
        self._judge(revision, place, was, old, now, after)

    def _judge(self, revision, place, was, old, now, after):
        group, shard = place
        where = f"{group} shard {shard} at revision {revision}"
        if now["leader"] and not self._alive(group, now["leader"], now["session"], after):
            self.violations.append(("I3", f"{where}: {now['leader']} leads by a session whose member key it does not hold"))
        if not old or not old["leader"]:
            return
        if old["leader"] == now["leader"] and old["session"] == now["session"]:
            return  # an abandon of a version before this one: a new term
        if not self._alive(group, old["leader"], old["session"], {}):
            return  # a claim after its end
        if not now["leader"]:
            if now["by"] != old["leader"]:
                self.violations.append(("I6", f"{where}: {now['by'] or 'nobody'} resigned for {old['leader']}, who lived"))
            if now["reason"] not in ("shutdown", "drain", "callback_timeout"):
                self.violations.append(("I6", f"{where}: a handoff ({now['reason']}) without a leader's name"))
            return
        self._judge_transfer(where, revision, place, was["rev"], old, now, after)

    def _judge_transfer(self, where, revision, place, term, old, now, after):
        key = f"/baton/v1/{place[0]}/moves/{place[1]}"
        kept = self.state.get(key)
        move = records.move(kept["value"]) if kept else None
        if not move or move["phase"] != 2 or move["ends"] != term or move["to"] != now["leader"] or \
                move["prepared"] != now["session"]:
            self.violations.append(("I6", f"{where}: {now['leader']} took it from {old['leader']}, whose session lived, and "
                                          f"had not prepared for that ({move})"))
        elif after.get(key, kept) is not None:
            self.violations.append(("I6", f"{where}: the move outlived its transfer"))
        self.transfers.append((revision, place, now["at"]))


def terms_have_one_holder(history, replay):
    """I3: whoever acts in a term is named by the record of that revision."""
    yield from replay.violations
    for place, terms in replay.terms.items():
        if place[0] != "kv":
            continue
        for span in history.spans(place[1]):
            record = terms.get(span.term)
            if record is None or record["leader"] != span.node:
                yield "I3", (f"shard {place[1]}: {span.process} led by term {span.term}, which "
                             f"{'is no record' if record is None else 'is of ' + (record['leader'] or 'nobody')}")
    for row in history.accepted:
        record = replay.terms.get(("kv", row["shard"]), {}).get(row["term"])
        if record is None or record["leader"] != row["node"]:
            yield "I3", f"shard {row['shard']}: {row['node']} wrote by term {row['term']}, which was not its own"


def one_leader_at_a_time(history, replay):
    """I1: nobody leads by a term once a later one is known to be there; but where a session was ended early."""
    for shard in range(history.shards):
        place = ("kv", shard)
        last = {}  # by term: the last span of the node that led by it
        for span in history.spans(shard):
            if not history.void(span.node, span.first, span.last) and (
                    span.term not in last or span.last > last[span.term].last):
                last[span.term] = span
        first = {revision: at for revision, at in replay.changes.get(place, ())}
        for span in history.spans(shard):
            if not history.void(span.node, span.first, span.last):
                first[span.term] = min(first.get(span.term, span.first_known), span.first_known)
        earliest = None
        for term in sorted(set(first) | set(last), reverse=True):
            if earliest and term in last and last[term].last > earliest[0]:
                yield from _overlap(history, replay, place, last[term], earliest)
            if term in first and (earliest is None or first[term] < earliest[0]):
                earliest = (first[term], term)


def _overlap(history, replay, place, span, earliest):
    since, revision = earliest
    # While it is suspended it does not lead.
    length = sum(max(0, each.last - max(each.first_known, since)) for each in history.spans(place[1])
                 if each.process == span.process and each.term == span.term)
    text = (f"shard {place[1]}: {span.process} led by term {span.term} until {(span.last - since) / SECOND:.3f} s after "
            f"revision {revision} was there, for {length / SECOND:.3f} s of these")
    session = replay.terms[place].get(span.term, {}).get("session")
    ended = replay.ended.get(session)
    tampered = [changed for changed, _ in replay.changes[place] if span.term < changed <= revision
                and (changed, place) in replay.tampered]
    early = ended and ended[0] <= revision and history.may_end_early(span.node, ended[1])
    # An ended session is found by the next confirmation, and a record that changed by the watch, which may stand still.
    still = STANDS_STILL if tampered and watch_may_stand_still(history, span.node, since) else 0
    if length <= history.ttl + SECOND + still and (tampered or early):
        history.overlaps["by hand" if tampered else "ended early"].append(length)
        return
    yield "I1", text


def watch_may_stand_still(history, node, since):
    """Whether a fault struck a member of etcd, or the node's host, while its watch could stand still after that time."""
    until = since + history.ttl + STANDS_STILL + SECOND
    host = node.replace("n", "h")
    return any(fault["begin"] <= until and fault["end"] >= since and
               any(target.startswith("e") or target == host for target in fault["targets"])
               for fault in history.run["faults"])


def deadlines_hold(history, _):
    """I1, of one node: it leads no longer than its last confirmed renewal allows. How old that is, and the status in which
    it is told, goes by the node's own clock: that must be right from the sample until it is judged, a TTL later at most."""
    for process, at, judged, beyond in history.late_samples:
        if not history.clock_is_wrong(process.partition(".")[0], at, min(judged, at + history.ttl)):
            yield "I1", f"{process} led {beyond / SECOND:.3f} s beyond the deadline of its last confirmed renewal"


def lost_comes_after(history, _):
    """`Lost` is told once Leads() is false for good."""
    for event in history.events:
        if event["event"] == "lost" and event["phase"] == "begin":
            for span in history.spans(event["shard"]):
                if span.process == event["process"] and span.term == event["term"] and span.last > event["at"]:
                    yield "I1", f"shard {event['shard']}: {span.process} led by term {span.term} after it was told of its loss"


def fence_holds(history, _):
    """I2: always, whatever clocks do."""
    newest = {}
    for row in history.accepted:
        if row["term"] < newest.get(row["shard"], 0):
            yield "I2", f"shard {row['shard']}: a write of term {row['term']} was accepted after one of {newest[row['shard']]}"
        newest[row["shard"]] = max(newest.get(row["shard"], 0), row["term"])


def views_equal_the_store(history, _):
    """I4: at rest all nodes say what etcd holds."""
    truth = {}
    for key in history.final["keys"]:
        place = shard_of(key["key"])
        if place:
            record = records.leadership(key["value"], place[1])
            truth[place] = [record["leader"] or None, key["rev"] if record["leader"] else 0] if record else ["?", 0]
    for name, view in sorted(history.views.items()):
        group = name.split()[0]
        for shard, said in enumerate(view):
            if said != truth.get((group, shard)):
                yield "I4", f"{name} says of shard {shard} {said}, etcd {truth.get((group, shard))}"
    expected = 2 * history.run["nodes"]
    if len(history.views) != expected:
        yield "I4", f"{len(history.views)} views instead of {expected}"


def all_is_led_in_time(history, replay):
    """I5: within the bound after each fault; and at other times always, but for the moment of a move."""
    windows = []
    for fault in history.run["faults"]:
        recovered = fault["recovered"]
        within = fault["allowed"] + longest_claim_wait(replay, fault["step_end"] + int(fault["allowed"] * SECOND), recovered or 0,
                                                       fault["allowed"])
        windows.append((fault["begin"], fault["step_end"] + int(within * SECOND)))
        if recovered is None or recovered - fault["step_end"] > within * SECOND:
            yield "I5", f"{fault['name']} of {','.join(fault['targets'])}: not all was led {within} s after it ended"
    allowed = merged(windows)
    for shard in range(history.shards):
        for begin, end in history.gaps(shard):
            outside = end - begin - sum(max(0, min(end, to) - max(begin, at)) for at, to in allowed)
            if outside > history.ttl:
                yield "I5", f"shard {shard}: nobody led for {outside / SECOND:.1f} s beside all faults"


def claim_wait(replay, place, until, slack):
    """For how long nobody may have claimed the shard of this group, in seconds: its leaders died in a row, each soon after it had
    begun (docs/decisions/22-a-shard-that-kills-waits.md). Counted by who claimed when, not by the count in the records. What was
    found out within `slack` seconds of a minute still counts."""
    deaths, since = 0, None
    for revision, at in replay.changes.get(place, ()):
        record = replay.terms[place].get(revision) if at <= until else None
        if record is None:
            continue
        if since is None:
            since = at
        elif record["reason"] in ("lease_expired", "process_died", "startup") and record["previous"]:
            lived = record["reason"] == "lease_expired" and record["leader"] == record["previous"]
            if not lived:  # "startup": the next leader began after the death
                deaths = deaths + 1 if at - since < (SHORT_LEADERSHIP + slack) * SECOND else 0
            since = at
    return min(2 ** (deaths - 2), 300) if deaths >= 2 else 0


def longest_claim_wait(replay, begin, end, slack):
    """The longest claim_wait of the shards of both groups that were claimed in this time, in seconds."""
    return max((claim_wait(replay, place, at, slack) for place, changes in replay.changes.items() for _, at in changes
                if begin < at <= end), default=0)


def gaps_are_within_bounds(history, replay):
    """I5, shard by shard: what a fault with a bound does, where no other struck beside it."""
    gaps = bounds.all_gaps(history)
    for fault in history.run["faults"]:
        bound = bounds.limit_of_one(fault, history.run)
        if bound is None or not bounds.hit(fault) or not bounds.alone(fault):
            continue
        for shard, begin, end in bounds.begun_in(fault, gaps, history.run["faults"]):
            limit = bound + claim_wait(replay, ("kv", shard), end, bound)
            if end - begin > limit * SECOND:
                yield "I5", (f"{fault['name']} of {','.join(fault['targets'])}: shard {shard} had no leader for "
                             f"{(end - begin) / SECOND:.1f} s, at most {limit:.1f} s are allowed")


def merged(windows):
    whole = []
    for begin, end in sorted(windows):
        if whole and begin <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end))
        else:
            whole.append((begin, end))
    return whole


def writes_are_kept(history, _):
    """I7: an acknowledged write is there, once, in order; an unknown one once or never."""
    accepted = {}
    counts = collections.Counter()
    key_of = {line["id"]: line["key"] for line in history.writes if line["op"] == "add"}
    for row in history.accepted:
        if row["id"] in accepted:
            yield "I7", f"request {row['id']} was carried out twice"
        accepted[row["id"]] = row
        key = key_of.get(row["id"])
        if key is None:
            yield "I7", f"request {row['id']} was carried out, and nobody made it"
            continue
        counts[key] += 1
        if int(row["answer"]) != counts[key]:
            yield "I7", f"{key}: request {row['id']} made it {row['answer']}, the {counts[key]}th to be accepted"
    for entry in history.entries:
        if int(entry["value"]) != counts[entry["key"]]:
            yield "I7", f"{entry['key']} is {entry['value']} after {counts[entry['key']]} accepted requests"
    acknowledged = {}
    for line in history.writes:
        if line["code"] != 0:
            continue
        if line["op"] == "add":
            row = accepted.get(line["id"])
            if row is None:
                yield "I7", f"request {line['id']} was acknowledged, and is lost"
            elif int(row["answer"]) != line["value"]:
                yield "I7", f"request {line['id']} was answered {line['value']}, and {row['answer']} is stored"
            acknowledged[line["key"]] = max(acknowledged.get(line["key"], 0), line["value"])
        elif int(line["value"]) < acknowledged.get(line["key"], 0):
            yield "I7", f"{line['key']}: {line['value']} was read after {acknowledged[line['key']]} was acknowledged"


def transitions_are_reported(history, replay):
    """I7: each once, by whoever gained it, with the record's reason."""
    reported, resumed = {}, set()
    for event in history.events:
        if event["event"] != "transition":
            continue
        place = (event["shard"], event["term"])
        if event["reason"] == "resumed":
            resumed.add(place)  # also of a handoff that was given up: a term of its own
        if event["reason"] in ("suspended", "resumed") or not event["to"]:
            continue
        if place in reported:
            yield "I7", f"shard {place[0]}: term {place[1]} was reported by {reported[place]} and again by {event['process']}"
        reported[place] = event["process"]
        record = replay.terms.get(("kv", event["shard"]), {}).get(event["term"])
        if record is None or event["to"] != record["leader"] or event["node"] != record["leader"]:
            yield "I7", f"shard {place[0]}: {event['process']} reported term {place[1]}, which is not its own"
        elif event["reason"] != record["reason"] and (event["term"], ("kv", event["shard"])) not in replay.tampered:
            yield "I7", f"shard {place[0]}: term {place[1]} began for {record['reason']}, reported as {event['reason']}"
    for shard in range(history.shards):
        for span in history.spans(shard):
            if span.activated and span.last - span.activated > REPORTED_WITHIN and \
                    (shard, span.term) not in reported and (shard, span.term) not in resumed:
                yield "I7", f"shard {shard}: {span.process} led by term {span.term}, and never reported it"


def batonds_tell_what_was(history, replay):
    """I7: the history of each batond has each transition once, as the record says."""
    for node, events in sorted(history.told.items()):
        seen = set()
        for event in events:
            if event["reason"] in ("suspended", "resumed") or not event["to"]:
                continue
            shard, term = event["shard"], event["term"]
            if (shard, term) in seen:
                yield "I7", f"plain shard {shard}: {node} tells of term {term} twice"
            seen.add((shard, term))
            record = replay.terms.get(("plain", shard), {}).get(term)
            if record is None or record["leader"] != event["to"]:
                yield "I7", f"plain shard {shard}: {node} tells of term {term} of {event['to']}, which was not"
            elif record["reason"] != event["reason"] and (term, ("plain", shard)) not in replay.tampered:
                yield "I7", f"plain shard {shard}: term {term} began for {record['reason']}, {node} tells {event['reason']}"


def no_drain_comes_back(history, _):
    """I7: what was undone after a good answer stays undone."""
    for _, key, answered in history.run.get("revived", ()):
        if answered:
            yield "I7", f"{key} came back after it was undone"


def nothing_crashed(history, _):
    """I8: no process ends but those that are ended, none grows."""
    for ended in history.run["unexpected"]:
        yield "I8", f"{ended['process']} ended by itself with {ended['code']}"
    for process, code in history.run.get("exits", {}).items():
        if code != 0:
            yield "I8", f"{process} ended with {code} at SIGTERM"
    for event in history.events:
        if event["event"] == "halted" and not event["process"].endswith(".twin"):
            yield "I8", f"{event['process']} halted: {event['why']}"
    for limit, what, place in ((256, "MiB resident", 0), (256, "descriptors", 1), (350, "threads", 2)):
        for at, footprint in history.run["footprints"][-1:]:
            for name, figures in footprint.items():
                if figures[place] > limit:
                    yield "I8", f"{name} has {figures[place]} {what} at {at}"


def at_rest_is_balance(history, replay):
    """I9: balanced, no moves left, and no more moves than it took."""
    if not history.run["rested"]:
        yield "I9", "the group did not come to rest after the last fault: agreed, balanced, without moves"
    if any("/moves/" in key["key"] for key in history.final["keys"]):
        yield "I9", "a move is left at rest"
    for name, view in sorted(history.views.items()):
        counts = collections.Counter(leader for leader, _ in view)
        seats = [counts.get(f"n{number + 1}", 0) for number in range(history.run["nodes"])]
        if counts.get(None) or max(seats) - min(seats) > 1:
            yield "I9", f"{name} is not balanced: {dict(counts)}"
    quiet, rest = history.run["quiet"], history.run["rest"]
    for revision, at in sorted(replay.ended.values()):
        if quiet + history.run["ttl"] * SECOND + REPORTED_WITHIN < at < rest:
            yield "I9", f"a session ended at revision {revision}, {(at - quiet) / SECOND:.1f} s after all had recovered"
    for group in ("kv", "plain"):
        yield from no_needless_move(history, replay, group)


def no_needless_move(history, replay, group):
    """I9, for what was there when all had recovered from the last fault, and again for what each succession after that left:
    a fault ends sessions later than itself, as a member of etcd that was frozen has revocations queued."""
    quiet, rest = history.run["quiet"], history.run["rest"]
    moves = {(revision, place) for revision, place, at in replay.transfers if place[0] == group and quiet < at < rest}
    begins = [max((event["rev"] for event in history.etcd if event["at"] <= quiet), default=0),
              *sorted(successions(history, replay, group))]
    for since, until in zip(begins, [*begins[1:], None]):
        made = sum(since < revision and (until is None or revision <= until) for revision, _ in moves)
        needed = history.moves_needed(replay, group, since)
        if made > needed:
            yield "I9", f"{group}: {made} moves after revision {since}, no fault any more, where {needed} were needed"


def successions(history, replay, group):
    """Revisions since all had recovered at which a record changed whose session was over: its leader's, or, where nobody
    led, that of the node that had resigned. A handoff or a resignation by a session that lives is none, and needs no moves.
    A session may have ended a moment before all had recovered: moves are counted by records, which still named it."""
    found = set()
    for place, changes in replay.changes.items():
        before = None
        for revision, at in changes if place[0] == group else ():
            ended = before and replay.ended.get(before["session"])
            if ended and ended[0] <= revision and history.run["quiet"] < at < history.run["rest"]:
                found.add(revision)
            before = replay.terms.get(place, {}).get(revision)
    return found


def nothing_changed(history, replay):
    """In runs where nobody may notice anything: no leadership was written."""
    since, until = history.run.get("no_change_from"), history.run.get("no_change_to")
    if since is None:
        return
    for place, changes in sorted(replay.changes.items()):
        for revision, at in changes:
            if revision > since and at < until:
                yield "change", f"{place[0]} shard {place[1]} changed hands at revision {revision}"


CHECKS = (terms_have_one_holder, one_leader_at_a_time, deadlines_hold, lost_comes_after, fence_holds, views_equal_the_store,
          all_is_led_in_time, gaps_are_within_bounds, writes_are_kept, transitions_are_reported, batonds_tell_what_was,
          no_drain_comes_back, nothing_crashed, at_rest_is_balance, nothing_changed)
