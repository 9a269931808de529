"""Processes that end, stop, starve, or come twice."""
import signal

from deployment import HOSTS, node_of

from .fault import kill, nemesis


@nemesis()
def kill_node(fault, there):
    host = fault.pick("host")
    kill(there.processes(host))
    fault.hit(2)
    yield fault.seconds(0.2, 2 * there.ttl)
    there.start_kv(host)
    there.start_plain(host)


@nemesis(early=True)
def kill_member(fault, there):
    member = fault.member()
    there.etcd[member].kill()
    fault.hit()
    yield fault.seconds(1, 2 * there.ttl)
    there.start_member(member)


def stop(fault, processes, seconds):
    for process in processes:
        process.signal(signal.SIGSTOP)
        fault.hit()
    try:
        yield seconds
    finally:
        for process in processes:
            process.signal(signal.SIGCONT)


@nemesis()
def stop_node(fault, there):
    yield from stop(fault, there.processes(fault.pick("host")), fault.seconds(0.3, 2.5) * there.ttl)


@nemesis(early=True)
def stop_member(fault, there):
    yield from stop(fault, [there.etcd[fault.member()]], fault.seconds(1, 2 * there.ttl))


def freeze(fault, there, host, kind):
    there.world.freeze(host, kind)
    fault.hit()
    try:
        yield fault.seconds(0.5, 2.5) * there.ttl
    finally:
        there.world.thaw(host, kind)


@nemesis("freezer_v1")
def freeze_node_v1(fault, there):
    yield from freeze(fault, there, fault.pick("host"), "freezer_v1")


@nemesis("freezer_v2")
def freeze_node_v2(fault, there):
    yield from freeze(fault, there, fault.pick("host"), "freezer_v2")


@nemesis("freezer_v1", early=True)
def freeze_member_v1(fault, there):
    yield from freeze(fault, there, fault.member(), "freezer_v1")


@nemesis("freezer_v2", early=True)
def freeze_member_v2(fault, there):
    yield from freeze(fault, there, fault.member(), "freezer_v2")


@nemesis("cpu")
def starve_node(fault, there):
    host = fault.pick("host")
    there.world.starve(host, 2)
    fault.hit()
    try:
        yield fault.seconds(1, 3) * there.ttl
    finally:
        there.world.starve(host, None)


@nemesis("cpu", early=True)
def starve_member(fault, there):
    member = fault.member()
    there.world.starve(member, 2)
    fault.hit()
    try:
        yield fault.seconds(1, 3) * there.ttl
    finally:
        there.world.starve(member, None)


@nemesis(extra=10)
def rolling_restart(fault, there):
    for host in fault.pick_some("host", 2 if there.options.minutes <= 5 else len(HOSTS)):
        code = there.kv[host].terminate()
        plain_code = there.plain[host].terminate()
        fault.hit(1, f"{host} drained with {code} and {plain_code}")
        there.start_kv(host)
        there.start_plain(host)
        yield fault.seconds(0.5, 2)


@nemesis()
def same_node_id_twice(fault, there):
    host = fault.pick("host")
    twin, name = there.start_kv(fault.pick("host"), node=node_of(host))
    # Two leases + 3 s, in which its reads are answered: then it halts.
    for _ in range(int(2 * there.ttl + 14)):
        yield 1
        if "halted" in there.tail.events.get(name, []):
            fault.hit(1, f"{name} halted")
            break
    twin.kill()
