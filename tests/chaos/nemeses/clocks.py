"""Wrong clocks, of nodes of the store: the preload, and time namespaces."""
import world
from deployment import MEMBERS, node_of

from .fault import nemesis


def clock(fault, there, jump=0, rate=0, void=True):
    host = fault.pick("host")
    window = {"node": node_of(host), "from": world.now()}
    (fault.void if void else fault.clocks).append(window)
    there.clocks[host].set(jump=jump, rate=rate)
    fault.hit()
    try:
        yield fault.seconds(1, 2.5) * there.ttl
    finally:
        there.clocks[host].set(rate=0)
        window["to"] = world.now() + 2 * there.ttl * 10**9


@nemesis()
def clock_jumps_ahead(fault, there):
    """As after a suspend: I1 must hold."""
    yield from clock(fault, there, jump=int(fault.seconds(0.3, 4) * there.ttl * 10**9), void=False)


@nemesis()
def clock_jumps_back(fault, there):
    yield from clock(fault, there, jump=-int(fault.seconds(0.3, 2) * there.ttl * 10**9))


@nemesis()
def clock_within_bounds(fault, there):
    """The margin is 5 % of the TTL."""
    yield from clock(fault, there, rate=fault.random.choice((-30_000, -10_000, 10_000, 30_000)), void=False)


@nemesis()
def clock_far_too_slow(fault, there):
    yield from clock(fault, there, rate=-fault.random.choice((200_000, 500_000, 900_000)))


@nemesis("nftables")
def slow_clock_cut_off(fault, there):
    """The node's lease ends, and by its clock it has not: two leaders, and writers reach both. Only the fence helps."""
    host = fault.pick("host")
    for member in MEMBERS:
        there.world.cut(fault, host, member)
        there.world.cut(fault, member, host)
    window = {"node": node_of(host), "from": world.now()}
    fault.void.append(window)
    there.clocks[host].set(rate=-900_000)
    try:
        yield fault.seconds(2.5, 4) * there.ttl
        fault.hit(there.world.dropped(host))
    finally:
        there.clocks[host].set(rate=0)
        there.world.mend(fault)
        window["to"] = world.now() + 2 * there.ttl * 10**9


@nemesis()
def clock_far_too_fast(fault, there):
    yield from clock(fault, there, rate=fault.random.choice((500_000, 3_000_000)), void=False)


@nemesis("time_namespace")
def other_boot_time(fault, there):
    host = fault.pick("host")
    there.kv[host].kill()
    there.start_kv(host, offset=fault.random.choice((-3600, 1000, 10**6)) if world.now() > 3700 * 10**9 else 1000)
    fault.hit()
    yield fault.seconds(1, 2) * there.ttl
    there.kv[host].kill()
    there.start_kv(host)
