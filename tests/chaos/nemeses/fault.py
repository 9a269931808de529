"""A fault, which a nemesis is given, and how a nemesis is run: see nemeses/__init__.py."""
import threading
import time

import etcd
import world
from deployment import HOSTS, MEMBERS, PROXIED

GROUPS = {"kv": "/baton/v1/kv/", "plain": "/baton/v1/plain/"}
NEMESES = {}  # by name


class NoTarget(Exception):
    """Another nemesis strikes the same already."""


def nemesis(*needs, early=False, extra=0.0):
    """`extra`: seconds that recovery may take beyond the bound."""
    def register(function):
        function.needs, function.early, function.extra = set(needs), early, extra
        NEMESES[function.__name__] = function
        return function
    return register


class Fault:
    def __init__(self, there, name, generator):
        self.there, self.name, self.random = there, name, generator
        self.targets, self.notes = [], []
        self.begin = self.end = self.hits = 0
        self.early, self.void, self.tampered, self.clocks = [], [], [], []  # for the checker: see README.md
        self.claimed = []

    def hit(self, count=1, note=None):
        self.hits += count
        if note:
            self.notes.append(note)

    def pick(self, kind, wanted=None):
        """A host or member that no other fault has now: the one wanted if it is free."""
        free = [each for each in (HOSTS if kind == "host" else PROXIED if kind == "proxied" else MEMBERS)
                if self.there.claim(each, self)]
        if not free:
            raise NoTarget
        chosen = wanted if wanted in free else self.random.choice(free)
        for each in free:
            if each != chosen:
                self.there.release(each)
        self.claimed.append(chosen)
        self.targets.append(chosen)
        return chosen

    def pick_some(self, kind, most):
        """As many as there are, up to so many; one at least."""
        picked = [self.pick(kind)]
        try:
            while len(picked) < most:
                picked.append(self.pick(kind))
        except NoTarget:
            pass
        return picked

    def leader(self):
        """The member that leads etcd."""
        name = world.until("etcd has a leader", self.there.cluster.leader, 20)
        return self.pick("member", name)

    def member(self):
        """Any member; half of the time the one that leads."""
        return self.leader() if self.random.random() < 0.5 else self.pick("member")

    def ends_early(self, reason, **what):
        """From now on somebody may lead who has lost its right without knowing: `what` says where."""
        self.early.append({"at": world.now(), "reason": reason, **what})

    def tampers(self, key, value):
        """An operator's hand: `value` is what is put there; None: it is deleted."""
        self.tampered.append({"at": world.now(), "key": key, "value": value and etcd.encode(value)})

    def seconds(self, least, most):
        return self.random.uniform(least, most)


def quiet(function, *words):
    """Of what may fail as everything else does: whether it worked."""
    try:
        function(*words)
        return True
    except (etcd.Refused, OSError):
        return False


def kill(processes):
    for process in processes:
        process.kill()


class Striker:
    """Runs nemeses beside each other, each in a thread of its own."""

    def __init__(self, there, stop_event):
        self.there, self.stop = there, stop_event
        self.errors = []

    def strike(self, faults):
        threads = [threading.Thread(target=self._run, args=(fault,)) for fault in faults]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _run(self, fault):
        fault.begin = world.now()
        harm = NEMESES[fault.name](fault, self.there)
        try:
            for seconds in harm:
                self.stop.wait(seconds)
                if self.stop.is_set():
                    break
        except NoTarget:
            fault.notes.append("no target was free")
        except (world.Unmet, OSError, etcd.Refused) as error:
            fault.notes.append(f"could not be carried out: {error}")
            self.errors.append(f"{fault.name}: {error}")
        finally:
            harm.close()
            fault.end = world.now()
            for target in fault.claimed:
                self.there.release(target)
            time.sleep(0)
