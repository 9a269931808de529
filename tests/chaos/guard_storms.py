#!/usr/bin/python3
"""Storms on guarded nodes: real batonds are killed, stopped, restarted, and so are their guards, at random.

  guard_storms.py --count 60        in continuous integration
  guard_storms.py --count 5000      by hand; --seed draws the same storms again, at other moments

Nothing may be taken for dead that lives: a session ends only after its process was killed or asked to leave, and while somebody else
holds the process's lock, as a forked child does, not even then. No shard has two leaders. Nothing stays: no process, and no
descriptor or zombie in nodes and guards. The lease lasts so long that none of this waits for it.

A round is a group of its own, since nodes that die again and again get no shards: two calm nodes, of which one keeps losing its
guard, and five that storms hit beside each other. Exit codes: 0 nothing was violated, 1 something was, 2 usage, 77 this machine can't.
"""
import argparse
import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from etcd import decode, encode  # noqa: E402
from guarded_nodes import (TTL, Incarnation, Unmet, children, descriptors, living_in, now, start_etcd,  # noqa: E402
                           until)

STORMY = 5
OF_A_ROUND = 60  # storms
STATUS_AGE = 0.05  # seconds: how old a status may be when a node answers
MOST_DESCRIPTORS = 24  # of a guard: what it starts with, and a connection to etcd


class Group:
    """A round: its nodes, and what etcd and the nodes said."""

    def __init__(self, folder, etcd, name):
        self.folder, self.etcd, self.name = folder / name, etcd, name
        self.folder.mkdir()
        self.lock = threading.Lock()
        self.incarnations = []
        self.current = {}  # by node
        self.members = {}  # by node: the session that has the key
        self.sessions = {}  # node, ports, since, until
        self.died = 0
        self.violations = []
        self.terms, self.led = {}, {}
        self.most_descriptors = 0
        self._stop = False
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._follow, self._ask)]
        for thread in self._threads:
            thread.start()

    def violated(self, what):
        with self.lock:
            self.violations.append(f"{self.name}: {what}")

    def start(self, node):
        with self.lock:
            number = sum(each.node == node for each in self.incarnations) + 1
        incarnation = Incarnation(self, node, number)
        with self.lock:
            self.incarnations.append(incarnation)
            self.current[node] = incarnation
        return incarnation

    def ready(self, node):
        incarnation = self.start(node)
        until(f"{node} is ready, see {incarnation.log}", incarnation.ready)
        return incarnation

    def stop(self):
        self._stop = True
        for thread in self._threads:
            thread.join(10)

    # Following etcd.
    def _follow(self):
        revision = 0
        while not self._stop:
            connection = http.client.HTTPConnection(self.etcd, timeout=1)
            try:
                connection.request("POST", "/v3/watch", json.dumps({"create_request": {
                    "key": encode(f"/baton/v1/{self.name}/"), "range_end": encode(f"/baton/v1/{self.name}0"),
                    "start_revision": revision + 1}}))
                answer = connection.getresponse()
                while not self._stop and (line := answer.readline()):
                    for event in json.loads(line).get("result", {}).get("events", []):
                        revision = max(revision, int(event["kv"]["mod_revision"]))
                        self._take(event)
            except (OSError, ValueError, http.client.HTTPException):
                pass
            finally:
                connection.close()

    def _take(self, event):
        at, kv = now(), event["kv"]
        name = decode(kv["key"]).decode(errors="replace").removeprefix(f"/baton/v1/{self.name}/")
        if name == "died":
            self.died += 1
        if not name.startswith("members/"):
            return
        node = name.removeprefix("members/")
        lease = 0 if event.get("type") == "DELETE" else int(kv.get("lease", 0))
        before = self.members.get(node, 0)
        if before and before != lease:
            self.sessions[before]["until"] = at
        self.members[node] = lease
        if lease and lease not in self.sessions:
            ports = set(re.findall(r"127\.0\.0\.1:(\d+)", decode(kv["value"]).decode(errors="replace")))
            self.sessions[lease] = {"node": node, "ports": ports, "since": at, "until": None}

    def session_ended(self, node, since):
        """Whether the session that the node had when it was killed has ended."""
        return any(session["node"] == node and session["until"] and session["until"] >= since
                   for session in list(self.sessions.values()))

    # Asking the nodes.
    def _ask(self):
        while not self._stop:
            with self.lock:
                current = [each for each in self.current.values() if hasattr(each, "http")]
            for incarnation in current:
                self._look(incarnation)
            time.sleep(0.02)

    def _look(self, incarnation):
        asked = now()
        connection = http.client.HTTPConnection(incarnation.http, timeout=1)
        try:
            connection.request("GET", "/v1/shards")
            shards = json.loads(connection.getresponse().read())["shards"]
        except (OSError, ValueError, KeyError, http.client.HTTPException):
            return
        finally:
            connection.close()
        answered = now()
        for shard, row in enumerate(shards):
            if not row["leader"]:
                continue
            known = self.terms.setdefault((shard, row["term"]), row["leader"])
            if known != row["leader"]:
                self.violated(f"shard {shard}, term {row['term']}: led by {known} and by {row['leader']}")
            if row["leader"] != incarnation.node or row["state"] != "led":
                continue
            newest, by, since = self.led.get(shard, (0, None, 0))
            if row["term"] < newest and by != incarnation.node and asked - STATUS_AGE > since:
                self.violated(f"shard {shard}: {incarnation.node} leads in term {row['term']} after {by} in {newest}")
            if row["term"] > newest:
                self.led[shard] = (row["term"], incarnation.node, answered)

    # Judging.
    def owner(self, session):
        for incarnation in reversed(self.incarnations):
            if incarnation.node == session["node"] and incarnation.owns(session["ports"]):
                return incarnation
        return None

    def judge(self):
        known, slow = 0, []
        for lease, session in self.sessions.items():
            if not session["until"]:
                continue
            owner = self.owner(session)
            if owner is None:  # it was killed before it said its port
                continue
            known += 1
            what = f"session {lease:x} of {owner.log.name}"
            if owner.asked_to_end is None or session["until"] < owner.asked_to_end:
                self.violated(f"{what} ended while its process lived")
            elif owner.borrowed and session["until"] < owner.lock_free:
                self.violated(f"{what} ended while a forked child had its lock")
            elif owner.process.returncode == -signal.SIGKILL:
                slow.append(max(0, session["until"] - owner.lock_free))
        for incarnation in self.incarnations:
            text = incarnation.log.read_text(errors="replace")
            for bad in ("session lost", "broken invariant", "two leaders"):
                if bad in text:
                    self.violated(f"{incarnation.log.name} says: {bad}")
        return known, slow

    def measure_guards(self):
        for pid, name in living_in(self.folder):
            if name == "baton-guard":
                count = descriptors(pid)
                self.most_descriptors = max(self.most_descriptors, count)
                if count > MOST_DESCRIPTORS:
                    self.violated(f"guard {pid} has {count} descriptors")


class Slot:
    """Nodes of one name after another, hit by one storm after another. Each name dies a few times."""

    def __init__(self, group, number, rng):
        self.group, self.number, self.random = group, number, rng
        self.generation = self.deaths = 0
        self.counts = collections.Counter()
        self.slowest = (0, "")
        self.next_name()

    def next_name(self):
        self.generation, self.deaths = self.generation + 1, 0
        self.name = f"s{self.number}-{self.generation}"
        self.node = self.group.ready(self.name)

    def pause(self, most):
        time.sleep(self.random.uniform(0, most))

    def again(self):
        """Another process of the same name; or, after some deaths, of another one."""
        self.deaths += 1
        if self.deaths < 3 or self.group.members.get(self.name):
            # A name that still has a session would keep its shards until its lease ends.
            self.node = self.group.ready(self.name)
        else:
            self.group.current.pop(self.name, None)
            self.next_name()

    def storm(self):
        kind = self.random.choice(("kill", "kill", "known", "stop_and_kill", "stop", "fork", "guard_killed", "late_guard",
                                   "twice", "both", "leave"))
        began = now()
        getattr(self, kind)()
        self.counts[kind] += 1
        self.slowest = max(self.slowest, (now() - began, kind))

    def kill(self):
        """Restart and guard race."""
        self.node.kill()
        self.pause(0.02)
        self.again()

    def known(self):
        """Its death is known long before its lease ends."""
        if self.node.guard() is None:
            until("a guard", self.node.guard)
        killed = now()
        self.node.kill()
        until(f"the session of {self.name} has ended", lambda: self.group.session_ended(self.name, killed), TTL / 2)
        self.again()

    def stop_and_kill(self):
        self.node.signal(signal.SIGSTOP)
        self.pause(0.3)
        self.node.kill()
        self.pause(0.1)
        self.again()

    def stop(self):
        """It lives, so nothing may happen."""
        self.node.signal(signal.SIGSTOP)
        self.pause(1)
        self.node.signal(signal.SIGCONT)

    def fork(self):
        """Its lock lives on for a while, as that of a forked child."""
        lock = self.node.borrow_lock()
        if lock is None:
            raise Unmet("the lock can't be borrowed")
        node = self.node
        node.borrowed = True
        node.lock_free = float("inf")
        node.kill()
        self.pause(0.5)
        node.lock_free = now()
        os.close(lock)
        if self.random.random() < 0.5:
            self.pause(0.1)
        self.again()

    def guard_killed(self):
        guard = self.node.guard()
        if guard is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(guard, signal.SIGKILL)
        if self.random.random() < 0.5:
            until("another guard", lambda: self.node.guard() not in (None, guard))
        self.node.kill()
        self.again()

    def late_guard(self):
        """The guard stands still, perhaps under its lock, while the next process starts."""
        guard = self.node.guard()
        if guard is None:
            self.kill()
            return
        handle = os.pidfd_open(guard)
        try:
            signal.pidfd_send_signal(handle, signal.SIGSTOP)
            self.node.kill()
            if self.random.random() < 0.5:
                signal.pidfd_send_signal(handle, signal.SIGCONT)
                self.pause(0.005)
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGSTOP)
            self.node = self.group.start(self.name)
            self.pause(2.5)
        finally:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGCONT)
            os.close(handle)
        until(f"{self.name} is ready, see {self.node.log}", self.node.ready)
        self.deaths += 1

    def twice(self):
        """The next process dies early, perhaps before it has a session."""
        self.node.kill()
        self.node = self.group.start(self.name)
        self.pause(0.4)
        self.node.kill()
        self.again()

    def both(self):
        """Node and guard at once: the next process has to prove the death."""
        guard = self.node.guard()
        if guard is not None:
            os.kill(guard, signal.SIGKILL)
        self.node.kill()
        self.again()

    def leave(self):
        if self.node.leave() != 0:
            self.group.violated(f"{self.node.log.name} did not leave in order")
        self.again()


def run_slot(slot, count, failures):
    try:
        for _ in range(count):
            slot.storm()
    except Exception as error:  # pylint: disable=broad-except
        failures.append(f"{slot.group.name} {slot.name}: {error!r}")


def disturb(group, calm, stop, rng):
    """The calm node lives, and loses one guard after another."""
    while not stop.wait(rng.uniform(0, 1.5)):
        guard = calm.guard()
        if guard is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(guard, rng.choice((signal.SIGKILL, signal.SIGTERM)))
        group.measure_guards()


def run_round(folder, etcd, number, count, seed):
    rng = random.Random(f"{seed}/{number}")
    group = Group(folder, etcd, f"r{number}")
    failures, stop = [], threading.Event()
    try:
        calm = [group.start("calm1"), group.start("calm2")]
        slots = [Slot(group, each, random.Random(rng.random())) for each in range(STORMY)]
        for each in calm:
            until("the calm nodes are ready", each.ready)
            until("a guard", each.guard)
        before = [descriptors(each.pid) for each in calm]
        share = [count // STORMY + (each < count % STORMY) for each in range(STORMY)]
        threads = [threading.Thread(target=run_slot, args=(slot, storms, failures)) for slot, storms in zip(slots, share)]
        threads.append(threading.Thread(target=disturb, args=(group, calm[1], stop, random.Random(rng.random()))))
        for thread in threads:
            thread.start()
        for thread in threads[:-1]:
            thread.join()
        stop.set()
        threads[-1].join()
        for node in group.current.values():
            if node.process.poll() is None and node not in calm and node.leave() != 0:
                group.violated(f"{node.log.name} did not leave in order")
        for each, count_before in zip(calm, before):
            # Connections to etcd and to nodes come and go: a leak of each guard or storm would be far above these few.
            with contextlib.suppress(Unmet):
                until("descriptors", lambda each=each, most=count_before + 8: descriptors(each.pid) <= most, 10)
            if descriptors(each.pid) > count_before + 8:
                group.violated(f"{each.node}: {count_before} descriptors at first, {descriptors(each.pid)} at last")
            zombies = [child for child in children(each.pid) if child[2] == "Z"]
            if len(zombies) > 1:  # its guard may have ended just now
                group.violated(f"{each.node} has zombies: {zombies}")
            if each.leave() != 0:
                group.violated(f"{each.log.name} did not leave in order")
        with contextlib.suppress(Unmet):
            until("all processes end", lambda: not living_in(group.folder), 30)
        for pid, name in living_in(group.folder):
            group.violated(f"{name} {pid} is left")
        known, slow = group.judge()
        counts = sum((slot.counts for slot in slots), collections.Counter())
        print("slowest storm of the round: {1}, {0:.1f} s".format(*max(slot.slowest for slot in slots)))
        return group, known, slow, counts, failures
    finally:
        group.stop()
        for incarnation in group.incarnations:
            if incarnation.process.poll() is None:
                incarnation.signal(signal.SIGCONT)
                incarnation.process.kill()
                incarnation.process.wait()


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="storms (default: 60)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--minutes", type=float, default=None, help="begin no round after this time")
    options = parser.parse_args()
    if os.geteuid() != 0 or not hasattr(os, "pidfd_open"):
        print("skipped: only root may take another process's descriptor")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="baton-storms-"))
    print(f"seed {options.seed}, files in {folder}", flush=True)
    etcd, endpoint = start_etcd(folder)
    began, done, number = now(), 0, 0
    total, waits, violations, sessions, died, most = collections.Counter(), [], [], 0, 0, 0
    try:
        while done < options.count and not (options.minutes and now() - began > 60 * options.minutes):
            number += 1
            count = min(OF_A_ROUND, options.count - done)
            group, known, slow, counts, failures = run_round(folder, endpoint, number, count, options.seed)
            violations += group.violations + failures
            done += sum(counts.values())
            total, sessions, died = total + counts, sessions + known, died + group.died
            waits += slow
            most = max(most, group.most_descriptors)
            print(f"{done} storms, {sessions} sessions ended, {died} by guards, {len(violations)} violations, "
                  f"{now() - began:.0f} s", flush=True)
            if group.violations or failures:
                break
            shutil.rmtree(group.folder)
    finally:
        etcd.kill()
        etcd.wait()
    print("storms:", ", ".join(f"{kind} {count}" for kind, count in sorted(total.items())))
    print(f"from a free lock to the end of the session, as seen from outside: median {1000 * percentile(waits, 0.5):.0f} ms, "
          f"p99 {1000 * percentile(waits, 0.99):.0f} ms, greatest {1000 * percentile(waits, 1):.0f} ms; "
          f"{sum(each > TTL / 3 for each in waits)} of {len(waits)} waited for their lease; a guard had {most} descriptors at most")
    for violation in violations:
        print("VIOLATED", violation)
    if not violations:
        shutil.rmtree(folder)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
