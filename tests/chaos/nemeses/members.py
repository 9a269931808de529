"""etcd's own troubles: its disks, leaders and space."""
import threading
import time

import deployment
import etcd
import world
from deployment import MEMBERS

from .fault import kill, nemesis, quiet


def _leases_of(member):
    return {each["ID"] for each in member.ask("lease/leases", {}, 1.0).get("leases", [])}


class Probes:
    """Two leases of the harness's own: what lies and what is late shows on them. Each is kept alive at one side alone, by a
    thread: the liar where the disk stands still, the victim where the majority is."""

    TTL = 3

    def __init__(self, there, frozen):
        self.frozen = there.member(frozen)
        self.others = [there.member(name) for name in MEMBERS if name != frozen]
        self.liar, self.victim = (self._grant(there, number) for number in (1, 2))
        self.lied = self.victim_ended = False
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._keep, args=(ask,), daemon=True)
                         for ask in (self._ask_liar, self._ask_victim)]

    def start(self):
        for thread in self._threads:
            thread.start()

    def end(self):
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _grant(self, there, number):
        lease = there.random_id(number)

        def grant(member):
            try:
                member.ask("lease/grant", {"TTL": self.TTL, "ID": lease})
            except etcd.Refused:  # also if an earlier try was carried out and its answer came too late
                if str(lease) not in _leases_of(member):
                    raise
        etcd.Cluster(self.others).insist("a lease is granted", grant)
        return lease

    def _keep(self, ask):
        while not self._over.wait(0.3):
            ask()

    def _ask_liar(self):
        """A lie is a TTL of a lease that was gone before anybody asked. If it was gone only when the answer was read, the
        answer may have been true: on a busy machine seconds may pass in between."""
        was_gone = self.gone(self.liar)
        try:
            left = self.frozen.keep_alive(self.liar)
        except etcd.Refused:
            return
        self.lied = self.lied or (was_gone and left > 0)

    def _ask_victim(self):
        for member in self.others:
            try:
                self.victim_ended = member.keep_alive(self.victim) == 0 or self.victim_ended
                return
            except etcd.Refused:
                continue

    def gone(self, lease):
        """Both others have ended it. One of them granted it, so it isn't only that news of it are late."""
        try:
            return all(str(lease) not in _leases_of(member) for member in self.others)
        except etcd.Refused:
            return False


@nemesis("disk", early=True)
def freeze_leaders_disk(fault, there):
    """Up to three times: a leader that hears of its successor in the moment between steps down, and doesn't lie."""
    leader = fault.leader()
    for turn in range(3):
        if turn:
            leader = world.until("etcd has a leader", there.cluster.leader, 20)
            if leader not in fault.claimed and not there.claim(leader, fault):
                continue
            fault.claimed.append(leader)
        yield from freeze_disk_of(fault, there, leader)
        if {"lying keepalive", "late revoke"} <= set(fault.notes):
            break


def rests(member, seconds=0.13):
    """Nothing was applied for a moment. A member whose database waits for the disk answers no keepalive, as it can't read
    the revision for the answer; the database is written every 100 ms where something changed."""
    try:
        index = member.status()["raftIndex"]
        time.sleep(seconds)
        return member.status()["raftIndex"] == index
    except etcd.Refused:
        return False


def freeze_disk_of(fault, there, leader):
    probes = Probes(there, leader)
    probes.start()
    try:
        ends = time.monotonic() + 10
        while not rests(there.member(leader)) and time.monotonic() < ends:
            continue
        there.world.freeze_disk(leader)
        fault.hit()
        for _ in range(36):
            yield 0.25
            if probes.lied:
                fault.notes.append("lying keepalive")
                break
        # By now the frozen leader takes the victim's lease for expired, as it hears of no renewal.
        yield 1
        lived = not probes.victim_ended
        there.world.thaw_disk(leader)
        for _ in range(20):
            yield 0.25
            if probes.victim_ended:
                if lived:
                    fault.notes.append("late revoke")
                break
    finally:
        quiet(there.world.thaw_disk, leader)
        probes.end()


@nemesis("disk", early=True)
def freeze_followers_disk(fault, there):
    leader = world.until("etcd has a leader", there.cluster.leader, 20)
    member = fault.pick("member", [name for name in MEMBERS if name != leader][fault.random.randrange(2)])
    there.world.freeze_disk(member)
    fault.hit()
    try:
        yield fault.seconds(1, 3) * there.ttl
    finally:
        there.world.thaw_disk(member)


@nemesis(early=True)
def move_etcd_leader(fault, there):
    for _ in range(3):
        leader = there.cluster.leader()
        others = [name for name in MEMBERS if name != leader]
        target = fault.random.choice(others)
        if leader and quiet(there.member(leader).ask, "maintenance/transfer-leadership",
                            {"targetID": there.member(target).id}):
            fault.hit(1, f"{leader} to {target}")
        yield fault.seconds(0.5, 1.5)


@nemesis(early=True)
def kill_etcd_leaders(fault, there):
    for _ in range(3):
        leader = there.cluster.leader()
        if leader and there.claim(leader, fault):
            there.etcd[leader].kill()
            fault.hit(1, leader)
            there.start_member(leader)
            there.release(leader)
        yield 2


@nemesis(early=True)
def restart_all_etcd(fault, there):
    members = fault.pick_some("member", len(MEMBERS))
    kill(there.etcd[member] for member in members)
    fault.hit(len(members))
    yield fault.seconds(0, 1.5 * there.ttl)
    for member in members:
        there.start_member(member)
    # A busy machine may take seconds to start three members: that is the fault's time, not the group's. What takes longer than
    # this is judged.
    for _ in range(100):
        if any(there.member_answers(member) for member in MEMBERS):
            return
        yield 0.2


def safe_compaction(there):
    """The newest revision of which our own reader surely has everything."""
    mark = there.cluster.insist("a mark is put", lambda member: member.put("/baton/mark", "x"))
    revision = int(mark["header"]["revision"])
    world.until("the reader comes this far", lambda: there.reader.revision >= revision)
    return revision


@nemesis()
def compact_each_second(fault, there):
    for _ in range(6):
        revision = safe_compaction(there)
        if quiet(there.cluster.ask, "kv/compaction", {"revision": revision, "physical": True}):
            fault.hit()
        yield 1


@nemesis(extra=5)
def fill_quota(fault, there):
    full = False
    there.cluster.insist("a mark is put", lambda member: member.put("/baton/full", "x"))
    world.until("the reader sees it", lambda: there.reader.live("/baton/full"))
    for number in range(2 * deployment.QUOTA >> 20):
        try:
            there.cluster.ask("kv/put", {"key": etcd.encode(f"/fill/{number}"), "value": etcd.encode(b"x" * (1 << 20))}, 10)
        except etcd.Refused as refusal:
            if "space exceeded" in str(refusal):
                full = True
                fault.hit(1, "full")
                break
    try:
        if full:
            yield fault.seconds(1, 2) * there.ttl
    finally:
        empty_quota(there)


def disarm(member):
    for alarm in member.ask("maintenance/alarm", {"action": "GET"}).get("alarms", []):
        member.ask("maintenance/alarm", {"action": "DEACTIVATE", **alarm})


def empty_quota(there):
    insist = there.cluster.insist
    insist("what filled it is deleted", lambda member: member.delete("/fill/", "/fill0"))
    insist("a mark is deleted", lambda member: member.delete("/baton/full"))
    seen = world.until("the reader sees it", lambda: there.reader.state["/baton/full"]["type"] == "DELETE"
                       and there.reader.state["/baton/full"])
    revision = seen["rev"]
    insist("it is compacted", lambda member: quiet(member.ask, "kv/compaction", {"revision": revision}) or True)
    for member in there.members:
        world.until(f"{member.name} is defragmented", lambda member=member: quiet(
            member.ask, "maintenance/defragment", {}, 20), 60)
    insist("the alarms are off", disarm)
    insist("there is space again", lambda member: member.put("/baton/full", ""))
