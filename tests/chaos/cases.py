"""Kinds of runs: faults of all kinds, three in which no leadership may change, one of many moves and no faults, one in
which shards misbehave, one that measures each fault with guards and without, and one that measures etcd alone."""
import pathlib

import etcd_behaviour
import harness
import matrix_run
import nemeses
import soak
import stuck
import world
from deployment import HOSTS, MEMBERS


def say(text):
    print(text, flush=True)


def mixed(the_world, options):
    """Faults drawn from the seed."""
    whole = not options.only
    shows = whole and "freeze_leaders_disk" not in options.without and the_world.namespaces
    minutes = options.minutes
    harness.Run(the_world, harness.Options(
        seed=options.seed, minutes=minutes, only=tuple(options.only), without=tuple(options.without), build=str(options.build),
        minima={"faults": int(4 * minutes) if whole else 1, "changes": int(20 * minutes) if whole else 0,
                "writes": int(60 * minutes * 10),
                "seen": list(etcd_behaviour.faults_of(etcd_behaviour.version_of())) if shows and minutes >= 2 else []},
    ), say).go()


class Undisturbed(harness.Run):
    """Something goes on, and nobody notices: from the first leaders on no record is written."""

    def go(self):
        self.there.start()
        world.until("the group is at rest", self.at_rest)
        self.record["begin"] = world.now()
        self.record["no_change_from"] = self.there.reader.revision
        self.disturb()
        self.record["end"] = self.record["no_change_to"] = world.now()
        self.finish()

    def disturb(self):
        raise NotImplementedError

    def note(self, name, begin, hits):
        fault = nemeses.Fault(self.there, name, None)
        fault.begin, fault.end, fault.hits = begin, world.now(), hits
        self.record["faults"].append(harness.record_of(fault, {
            "with": [], "step_end": fault.end, "recovered": fault.end, "may_end_early": False,
            "allowed": self.record["bound"]}))


class LeaderKills(Undisturbed):
    def disturb(self):
        there = self.there
        for number in range(self.options.count):
            begin = world.now()
            leader = world.until("etcd has a leader", there.cluster.leader, 20)
            there.etcd[leader].kill()
            there.start_member(leader)
            # The next kill comes when the killed one is back, and all lead again.
            world.until(f"{leader} is back", lambda leader=leader: there.member_answers(leader), 20)
            world.until("all is led", there.all_led, 30)
            self.note("leader_killed", begin, 1)
            if number % 20 == 19:
                self.say(f"{number + 1} kills")


class Loss(Undisturbed):
    def disturb(self):
        there, begin = self.there, world.now()
        for host in HOSTS + MEMBERS:
            there.world.lose("loss", host, 10)
        self.stop.wait(60 * self.options.minutes)
        dropped = sum(there.world.dropped(host) for host in HOSTS + MEMBERS)
        there.world.mend("loss")
        self.say(f"{dropped} packets were lost")
        self.note("loss", begin, dropped)


class Upgrade(Undisturbed):
    """Each member of etcd in turn is stopped as an operator does, and started by the next version with the same data; at last
    one step back."""

    def __init__(self, the_world, options, say):
        super().__init__(the_world, options, say)
        self.there.etcd_programs = self._programs(options.through[0])

    @staticmethod
    def _programs(folder):
        return dict.fromkeys(MEMBERS, str(pathlib.Path(folder) / "etcd"))

    def disturb(self):
        for folder in self.options.through[1:]:
            self._replace_all(folder)
        self._allow_downgrade(self.options.through[-2])
        self._replace_all(self.options.through[-2])

    def _replace_all(self, folder):
        there, programs = self.there, self._programs(folder)
        for name in MEMBERS:
            begin = world.now()
            there.etcd[name].terminate()
            there.etcd_programs[name] = programs[name]
            there.start_member(name)
            world.until(f"{name} is back", lambda name=name: there.member_answers(name))
            world.until("all is led", there.all_led)
            self.note("etcd_replaced", begin, 1)
        version = ".".join(map(str, etcd_behaviour.version_of(programs[MEMBERS[0]])))
        for member in there.members:
            world.until(f"{member.name} is {version}", lambda member=member: member.status()["version"] == version)
        line = version.rpartition(".")[0]
        world.until(f"the cluster is {line}", lambda: there.members[0].versions()["etcdcluster"].startswith(line))
        self.record.setdefault("versions", []).append(version)
        self.say(f"all members are {version}")

    def _allow_downgrade(self, folder):
        major, minor, _ = etcd_behaviour.version_of(str(pathlib.Path(folder) / "etcd"))
        self.there.cluster.insist("etcd allows the step back", lambda member: member.ask(
            "maintenance/downgrade", {"action": "ENABLE", "version": f"{major}.{minor}.0"}, 10))
        for member in self.there.members:
            world.until(f"{member.name} has the older format", lambda member=member: member.status()["storageVersion"].startswith(
                f"{major}.{minor}."))


def etcd_upgrade(the_world, options):
    """TTL 10 s; one folder for each version, oldest first."""
    replaced = len(MEMBERS) * len(options.through)
    Upgrade(the_world, harness.Options(
        seed=options.seed, minutes=0, ttl=10, build=str(options.build), case="etcd_upgrade", through=tuple(options.through),
        minima={"faults": replaced, "changes": 0, "writes": 50 * replaced, "seen": []}), say).go()


def measure_etcd(the_world, options):
    etcd_behaviour.Measurement(the_world, harness.Options(
        seed=options.seed, minutes=0, build=str(options.build), case="etcd_behaviour", count=options.count or 3), say).go()


def leader_kills(the_world, options):
    count = options.count or 200
    LeaderKills(the_world, harness.Options(seed=options.seed, minutes=0, ttl=5, build=str(options.build), count=count,
                                           case="leader_kills", minima={"faults": count, "changes": 0,
                                                                        "writes": 10 * count, "seen": []}), say).go()


def loss(the_world, options):
    Loss(the_world, harness.Options(seed=options.seed, minutes=options.minutes, ttl=10, build=str(options.build), case="loss",
                                    minima={"faults": 1, "changes": 0, "writes": int(600 * options.minutes), "seen": []}),
         say).go()


def soaked(the_world, options):
    """A move of each group's shards every second, and nothing else."""
    minutes = options.minutes
    soak.Soak(the_world, harness.Options(
        seed=options.seed, minutes=minutes, ttl=10, build=str(options.build), case="soak", remembered=soak.REMEMBERED,
        kept_revisions=soak.KEPT_REVISIONS,
        minima={"faults": 0, "changes": int(96 * minutes), "writes": int(1200 * minutes), "seen": []}), say).go()


def stuck_shards(the_world, options):
    """Five of each hundred shards misbehave; the others must not notice. A short run has fewer shards, and as few deaths and
    a busy machine make chance large, a looser bound."""
    short = options.minutes < 10
    stuck.Run(the_world, stuck.Options(
        seed=options.seed, minutes=options.minutes, shards=2_000 if short else 10_000, ttl=5 if short else 10,
        build=str(options.build), bound=0.2 if short else 0.1), say).go()


def matrix(the_world, options):
    """One pass is the short form, with short leases."""
    passes = options.count or 1
    matrix_run.Run(the_world, matrix_run.Options(seed=options.seed, count=passes, ttl=3 if passes == 1 else 10,
                                                 build=str(options.build)), say).go()


CASES = {"mixed": mixed, "leader_kills": leader_kills, "loss": loss, "soak": soaked, "stuck_shards": stuck_shards,
         "matrix": matrix, "etcd_upgrade": etcd_upgrade, "etcd_behaviour": measure_etcd}
NEED_NAMESPACES = ("leader_kills", "loss", "matrix", "etcd_upgrade", "etcd_behaviour")
