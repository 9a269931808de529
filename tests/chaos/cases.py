"""Kinds of runs: faults of all kinds, two in which no leadership may change, one of many moves and no faults, one in
which shards misbehave, and one that measures each fault with guards and without."""
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
                "seen": ["lying keepalive", "late revoke"] if shows and minutes >= 2 else []},
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
         "matrix": matrix}
NEED_NAMESPACES = ("leader_kills", "loss", "matrix")
