"""The faults of the matrix: each does its harm, waits at its yield, and mends it. See README.md, "The matrix"."""
import json
import signal

import world
from deployment import MEMBERS

FAULTS = {}  # by name: in the order of the table


def fault(*needs, loses_its_shards=True):
    """`loses_its_shards`: the node that is struck stops leading, so the fault lasts until others lead its shards."""
    def register(function):
        function.needs, function.loses_its_shards = set(needs), loses_its_shards
        FAULTS[function.__name__] = function
        return function
    return register


def end_each(cell, number):
    for group in cell.groups:
        group.strikes()
        group.victim.expected = True
        group.victim.signal(number)
        group.victim.process.wait(world.PATIENCE)


@fault()
def sigkill(cell):
    end_each(cell, signal.SIGKILL)
    yield


@fault()
def abort(cell):
    end_each(cell, signal.SIGABRT)
    yield


@fault("memory")
def oom_kill(cell):
    """The node takes memory until the kernel kills it for its control group's limit. The guard is in the same group."""
    for group in cell.groups:
        group.container.limit(16 << 20)
        group.strikes()
        group.victim.expected = True
        group.victim.signal(signal.SIGUSR2)
        if group.victim.process.wait(world.PATIENCE) != -signal.SIGKILL:
            raise world.Unmet("the kernel did not kill the node for its memory")
        group.container.unlimit()
    yield


@fault("cgroup.kill")
def container_killed(cell):
    """All processes of the control group at once, and so the guard."""
    for group in cell.groups:
        group.strikes()
        group.victim.expected = True
        group.container.kill()
        group.victim.process.wait(world.PATIENCE)
    yield


def hang_each(cell, number):
    """Nodes with a guard are killed by it then."""
    for group in cell.groups:
        group.strikes()
        group.victim.expected = group.guard == "on"
        group.victim.signal(number)


@fault()
def loop_stands_still(cell):
    hang_each(cell, signal.SIGHUP)
    yield


@fault()
def sigstop(cell):
    hang_each(cell, signal.SIGSTOP)
    try:
        yield
    finally:
        for group in cell.groups:
            group.victim.signal(signal.SIGCONT)


@fault()
def forked_child(cell):
    """A child keeps the lock when its node is killed."""
    for group in cell.groups:
        group.victim.signal(signal.SIGUSR1)
        child = world.until("the node has forked", lambda group=group: child_of(group.history(cell.host)))
        group.adopts(child)
    end_each(cell, signal.SIGKILL)
    yield


def child_of(history):
    for line in history.read_text(encoding="ascii").splitlines():
        if '"forked"' in line:
            return json.loads(line)["pid"]
    return None


@fault("state disk", "fsfreeze", loses_its_shards=False)
def state_disk_frozen(cell):
    """The disk of the node's state directory. With its next renewal the node has a newer revision to note there."""
    yield from freeze(cell, cell.host, lambda: cell.there.cluster.insist(
        "a mark is put", lambda member: member.put("/baton/mark", "x")))


def freeze(cell, host, then=lambda: None):
    cell.all_strike()
    cell.there.world.freeze_disk(host)
    try:
        then()
        yield
    finally:
        cell.there.world.thaw_disk(host)


@fault("disk", "fsfreeze", loses_its_shards=False)
def etcd_followers_disk_frozen(cell):
    leader = world.until("etcd has a leader", cell.there.cluster.leader, 20)
    yield from freeze(cell, cell.random.choice([name for name in MEMBERS if name != leader]))


@fault("disk", "fsfreeze", loses_its_shards=False)
def etcd_leaders_disk_frozen(cell):
    yield from freeze(cell, world.until("etcd has a leader", cell.there.cluster.leader, 20))


@fault(loses_its_shards=False)
def etcd_leader_killed(cell):
    there = cell.there
    leader = world.until("etcd has a leader", there.cluster.leader, 20)
    cell.all_strike()
    there.etcd[leader].kill()
    try:
        yield
    finally:
        there.start_member(leader)
        world.until(f"{leader} is back", lambda: there.member_answers(leader))


def dropping(cell, cut, hosts):
    """`cut()` sets rules at these hosts; once they dropped nothing, nothing was struck."""
    cell.all_strike()
    cut()
    try:
        yield
        cell.dropped = sum(cell.there.world.dropped(host) for host in hosts)
    finally:
        cell.there.world.mend(cell.name)


def others(host):
    return [each for each in world.NUMBERS if each != host]


def hears_nothing(cell):
    cell.there.world.isolate(cell.name, cell.host)


def is_not_heard(cell):
    for other in others(cell.host):
        cell.there.world.cut(cell.name, cell.host, other)


@fault("nftables")
def cut_off(cell):
    def both():
        hears_nothing(cell)
        is_not_heard(cell)
    yield from dropping(cell, both, [cell.host])


@fault("nftables")
def receives_only(cell):
    """Nothing that it sends arrives."""
    yield from dropping(cell, lambda: is_not_heard(cell), MEMBERS)


@fault("nftables")
def sends_only(cell):
    """Nothing arrives at it."""
    yield from dropping(cell, lambda: hears_nothing(cell), [cell.host])


@fault("nftables", loses_its_shards=False)
def loss_5_percent(cell):
    hosts = cell.there.hosts + MEMBERS

    def lose():
        for host in hosts:
            cell.there.world.lose(cell.name, host, 50)
    yield from dropping(cell, lose, hosts)
