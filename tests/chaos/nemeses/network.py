"""Cuts, losses, and connections that fail as the proxy is told."""
import functools

from deployment import HOSTS, MEMBERS

from .fault import nemesis


def dropping(fault, there, token, hosts, seconds):
    """Waits, counts what the rules of these hosts dropped, and takes them away."""
    try:
        yield seconds
        fault.hit(sum(there.world.dropped(host) for host in hosts))
    finally:
        there.world.mend(token)


@nemesis("nftables")
def isolate_node(fault, there):
    host = fault.pick("host")
    there.world.isolate(fault, host)
    yield from dropping(fault, there, fault, [host], fault.seconds(0.5, 2.5) * there.ttl)


@nemesis("nftables", early=True)
def isolate_etcd_leader(fault, there):
    member = fault.leader()
    there.world.isolate(fault, member)
    yield from dropping(fault, there, fault, [member], fault.seconds(1, 2.5) * there.ttl)


@nemesis("nftables", early=True)
def no_majority(fault, there):
    for member in MEMBERS:
        for other in MEMBERS:
            if member != other:
                there.world.cut(fault, other, member)
    yield from dropping(fault, there, fault, MEMBERS, fault.seconds(0.5, 2) * there.ttl)


@nemesis("nftables", early=True)
def members_in_a_row(fault, there):
    """Two members hear the third, but not each other."""
    middle = fault.leader()
    one, other = [name for name in MEMBERS if name != middle]
    there.world.cut(fault, one, other)
    there.world.cut(fault, other, one)
    yield from dropping(fault, there, fault, MEMBERS, fault.seconds(1, 2.5) * there.ttl)


@nemesis("nftables", early=True)
def leader_not_heard(fault, there):
    """One way: the etcd leader hears all, and nobody hears it."""
    member = fault.leader()
    others = [name for name in MEMBERS if name != member]
    for other in others:
        there.world.cut(fault, member, other)
    yield from dropping(fault, there, fault, others, fault.seconds(1, 2.5) * there.ttl)


@nemesis("nftables")
def node_not_heard(fault, there):
    host = fault.pick("host")
    for member in MEMBERS:
        there.world.cut(fault, host, member)
    yield from dropping(fault, there, fault, MEMBERS, fault.seconds(0.5, 2.5) * there.ttl)


@nemesis("nftables")
def node_hears_nothing(fault, there):
    host = fault.pick("host")
    for member in MEMBERS:
        there.world.cut(fault, member, host)
    yield from dropping(fault, there, fault, [host], fault.seconds(0.5, 2.5) * there.ttl)


@nemesis("nftables", early=True)
def nodes_beside_a_minority(fault, there):
    """Two hosts and a member on one side, the rest on the other."""
    minority = [fault.pick("host"), fault.pick("host"), fault.pick("member")]
    rest = [each for each in HOSTS + MEMBERS if each not in minority]
    for one in minority:
        for other in rest:
            there.world.cut(fault, one, other)
            there.world.cut(fault, other, one)
    yield from dropping(fault, there, fault, minority, fault.seconds(1, 2.5) * there.ttl)


@nemesis("nftables", early=True)
def lose_5_percent(fault, there):
    for host in HOSTS + MEMBERS:
        there.world.lose(fault, host, 50)
    yield from dropping(fault, there, fault, HOSTS + MEMBERS, fault.seconds(1.5, 3) * there.ttl)


def by_proxy(mode, least, most):
    """Nodes of a host to all members, or to one alone."""
    def strike(fault, there):
        host = fault.pick("proxied")
        members = MEMBERS if fault.random.random() < 0.7 else [fault.random.choice(MEMBERS)]
        links = [f"{host}-{member}" for member in members]
        fault.notes.append("of all members" if len(links) > 1 else f"of {members[0]}")
        before = there.set_links(links, mode, fault.random.choice((20, 100, 300)))
        try:
            yield fault.seconds(least, most) * there.ttl
        finally:
            after = there.set_links(links, "pass")
            fault.hit(sum(after[link] - before[link] for link in links))
    return strike


for _name, _mode in (("black_hole", "hold"), ("requests_held", "hold_up"), ("replies_held", "hold_down"),
                     ("replies_lost", "lose_down"), ("half_open", "half_open"), ("connections_reset", "refuse"),
                     ("slow_links", "delay")):
    _strike = functools.partial(by_proxy(_mode, 0.5, 2))
    _strike.__name__ = _name
    nemesis("proxy")(_strike)
