"""Leases and watches of the etcd on PATH when it is in trouble, measured without Baton: a row of the table of
tests/etcd-versions/table. Three members with disks of their own, each asked through etcd's own API.

Nothing is judged: what a version does is what is found out. Times are seconds.
"""
import http.client
import json
import signal
import socket
import statistics
import subprocess
import threading
import time

import deployment
import etcd
import nemeses
import world
from deployment import MEMBERS

EXPIRIES = 20  # leases whose end is timed
EXPIRY_TTL = 2  # the shortest that etcd grants with its usual election timeout
CHANGE_TTL, CHANGE_AFTER = 6, 4  # of the leases that see a change of leaders, and when it comes after the grant
STOPS = 3  # of a whole leader, for each freeze of a disk: what it does then is a matter of milliseconds
SILENCE = 5  # seconds for which a watch is listened to, once another member has committed an event


def version_of(program="etcd"):
    """(3, 5, 16) of the etcd on PATH."""
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    return tuple(int(part) for part in said.splitlines()[0].split()[-1].split("-")[0].split("."))


def faults_of(version):
    """Faults that a leader whose disk freezes shows for sure; docs/etcd-versions.md has what was measured. Of versions between those
    nobody knows, so nothing is asked of them."""
    return ("lying keepalive", "late revoke") if version <= (3, 4, 23) else ()


class Watch(threading.Thread):
    """Listens at one member: when each event came, and when the stream ended."""

    def __init__(self, member, key, start=0, patience=60):
        super().__init__(daemon=True)
        self.events, self.ended = [], None  # (at, type, key); at
        self.compacted = 0
        self.created = threading.Event()
        self._connection = http.client.HTTPConnection(member.address, deployment.CLIENT, timeout=patience)
        self._connection.request("POST", "/v3/watch", json.dumps({"create_request": {
            "key": etcd.encode(key), "range_end": etcd.encode(key + "\xff"), "start_revision": start}}))
        self._socket = self._connection.sock
        self.start()

    def run(self):
        try:
            answer = self._connection.getresponse()
            while line := answer.readline():
                result = json.loads(line).get("result", {})
                self.compacted = int(result.get("compact_revision", 0)) or self.compacted
                for event in result.get("events", []):
                    self.events.append((time.monotonic(), event.get("type", "PUT"),
                                        etcd.decode(event["kv"]["key"]).decode()))
                if result.get("created"):
                    self.created.set()
                if result.get("canceled"):
                    break
        except (OSError, ValueError, http.client.HTTPException):
            pass
        self.ended = time.monotonic()

    def close(self):
        """The thread reads, so its connection is closed by what it reads from."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended
        self.join(10)
        self._connection.close()

    def ends_of(self):
        """By key: when its deletion came."""
        return {key: at for at, kind, key in list(self.events) if kind == "DELETE"}


class Measurement:
    def __init__(self, the_world, options, say):
        self.world, self.options, self.say = the_world, options, say
        self.there = deployment.Deployment(the_world, options)
        self.figures = {"version": ".".join(map(str, version_of()))}
        self._leases = 100

    def go(self):
        for name in MEMBERS:
            self.there.start_member(name)
        for name in MEMBERS:
            world.until(f"{name} answers", lambda name=name: self.there.member_answers(name))
        self.there.cluster.learn_ids()
        for part in (self.compactions, self.expiries, self.leader_changes, self.frozen_disks, self.stopped_leaders):
            part()
        for process in self.there.etcd.values():
            process.kill()
        self.there.tail.stop()
        with open(self.world.folder / "run.json", "w", encoding="ascii") as file:
            json.dump({"options": {"case": "etcd_behaviour"}, "figures": self.figures}, file)

    def note(self, **figures):
        self.figures.update(figures)
        for name, figure in figures.items():
            self.say(f"{name}: {figure}")

    def insist(self, what, attempt):
        return self.there.cluster.insist(what, attempt)

    def lease(self, ttl, key):
        """A lease of so many seconds with a key; when its grant was answered."""
        self._leases += 1
        lease = self.there.random_id(self._leases)
        self.insist("a lease is granted", lambda member: member.ask("lease/grant", {"TTL": ttl, "ID": lease}))
        granted = time.monotonic()
        self.insist("its key is put", lambda member: member.put(key, "x", lease))
        return granted

    # A watch from the revision of a deletion, once that very revision was compacted: etcd #19179.
    def compactions(self):
        lost = told = 0
        for turn in range(5):
            key = f"/compacted/{turn}/"
            member = self.there.members[turn % len(MEMBERS)]
            self.insist("a key is put", lambda member, key=key: member.put(key, "x"))
            deleted = int(self.insist("it is deleted", lambda member, key=key: member.delete(key))["header"]["revision"])
            self.insist("this is compacted", lambda member, deleted=deleted: member.ask(
                "kv/compaction", {"revision": deleted, "physical": True}, 10))
            world.until("the member has it", lambda member=member, deleted=deleted: int(
                member.status()["header"]["revision"]) >= deleted)
            watch = Watch(member, key, deleted)
            self.insist("a mark is put", lambda member, key=key: member.put(key + "mark", "x"))
            world.until("the watch shows it or ends", lambda watch=watch: watch.events or watch.ended)
            told += bool(watch.compacted)
            lost += not watch.compacted and all(kind != "DELETE" for _, kind, _ in watch.events)
            watch.close()
        self.note(deletions_lost=f"{lost} of 5", compaction_told=f"{told} of 5")

    def expiries(self):
        watch = Watch(self.there.members[0], "/expires/")
        watch.created.wait(10)
        due = {}
        for number in range(EXPIRIES):
            key = f"/expires/{number}"
            due[key] = self.lease(EXPIRY_TTL, key) + EXPIRY_TTL
            time.sleep(0.037)  # so that they end at all phases of etcd's own round
        world.until("all have ended", lambda: len(watch.ends_of()) == EXPIRIES)
        late = [at - due[key] for key, at in watch.ends_of().items()]
        watch.close()
        self.note(expiry_late=f"{min(late):.2f} to {max(late):.2f}, median {statistics.median(late):.2f}")

    # How long a lease lives that nobody renews, if etcd's leader changes on the way.
    def leader_changes(self):
        for how, change in (("kill", self._kill_leader), ("transfer", self._move_leader)):
            lived = []
            for turn in range(2):
                leader = world.until("etcd has a leader", self.there.cluster.leader)
                other = next(member for member in self.there.members if member.name != leader)
                key = f"/change/{how}/{turn}"
                watch = Watch(other, key)
                watch.created.wait(10)
                granted = self.lease(CHANGE_TTL, key)
                time.sleep(max(0, granted + CHANGE_AFTER - time.monotonic()))
                change(leader)
                world.until("the lease has ended", watch.ends_of)
                lived.append(watch.ends_of()[key] - granted)
                watch.close()
                for name in MEMBERS:
                    world.until(f"{name} answers", lambda name=name: self.there.member_answers(name))
            self.note(**{f"ttl_after_{how}": ", ".join(f"{each:.1f}" for each in lived)})

    def _kill_leader(self, leader):
        self.there.etcd[leader].kill()
        self.there.start_member(leader)

    def _move_leader(self, leader):
        target = next(member for member in self.there.members if member.name != leader)
        self.there.member(leader).ask("maintenance/transfer-leadership", {"targetID": target.id})

    def frozen_disks(self):
        lied = late = 0
        silent = []
        for turn in range(self.options.count):
            leader = world.until("etcd has a leader", self.there.cluster.leader)
            fault = nemeses.Fault(self.there, "freeze", None)
            watch = Watch(self.there.member(leader), f"/frozen/{turn}")
            watch.created.wait(10)
            heard = self._freeze(fault, leader, watch, turn)
            lied += "lying keepalive" in fault.notes
            late += "late revoke" in fault.notes
            silent.append("silent" if heard is None else f"{heard:.1f}")
            watch.close()
            for name in MEMBERS:
                world.until(f"{name} answers", lambda name=name: self.there.member_answers(name))
        count = self.options.count
        self.note(keepalive_lied=f"{lied} of {count}", late_revoke=f"{late} of {count}", watch_on_frozen=", ".join(silent))

    def _freeze(self, fault, leader, watch, turn):
        """Carries the fault out. Until when a watch at the frozen member heard nothing of what the others had committed, in
        seconds from then; None: to the end."""
        others = etcd.Cluster([member for member in self.there.members if member.name != leader])
        committed = thawed = None
        for pause in nemeses.members.freeze_disk_of(fault, self.there, leader):
            if fault.hits and committed is None:
                try:
                    others.ask("kv/put", {"key": etcd.encode(f"/frozen/{turn}"), "value": ""}, 1)
                    committed = time.monotonic()
                except etcd.Refused:
                    pass
            thawed = thawed or (pause == 1 and time.monotonic() + 1)
            time.sleep(pause)
        heard = [at for at, *_ in watch.events] + ([watch.ended] if watch.ended else [])
        if committed is None or not heard or min(heard) > thawed:
            return None
        return max(0.0, min(heard) - committed)

    # A leader that is stopped as a whole until it takes a lease for expired that is renewed elsewhere, and then goes on.
    def stopped_leaders(self):
        late, turns = 0, STOPS * self.options.count
        for _ in range(turns):
            leader = world.until("etcd has a leader", self.there.cluster.leader)
            probes = nemeses.members.Probes(self.there, leader)
            probes.start()
            try:
                self.there.etcd[leader].signal(signal.SIGSTOP)
                time.sleep(probes.TTL + 2)
                lived = not probes.victim_ended
                self.there.etcd[leader].signal(signal.SIGCONT)
                time.sleep(1.5)
                late += lived and probes.victim_ended
            finally:
                self.there.etcd[leader].signal(signal.SIGCONT)
                probes.end()
            for name in MEMBERS:
                world.until(f"{name} answers", lambda name=name: self.there.member_answers(name))
        self.note(late_revoke_stopped=f"{late} of {turns}")
