"""Hands that do what they shouldn't, or what they may."""
import functools

import deployment
import etcd
import world
from deployment import HOSTS, node_of

from .fault import GROUPS, nemesis, quiet


def member_key(there, group, host):
    return there.reader.live(GROUPS[group] + "members/" + node_of(host)).get(GROUPS[group] + "members/" + node_of(host))


@nemesis()
def revoke_lease(fault, there):
    host = fault.pick("host")
    for group in GROUPS:
        key = member_key(there, group, host)
        if key:
            fault.ends_early("lease revoked", group=group, node=node_of(host))
            if quiet(there.cluster.ask, "lease/revoke", {"ID": key["lease"]}):
                fault.hit()
    yield fault.seconds(0.5, 1.5)


def tamper(change):
    def strike(fault, there):
        for group, prefix in GROUPS.items():
            for shard in sorted(fault.random.sample(range(there.options.shards), 3)):
                fault.ends_early("record changed", group=group, shard=shard)
                if quiet(change, fault, there, f"{prefix}shards/{shard}"):
                    fault.hit()
        yield fault.seconds(0.5, 1.5)
    return strike


def insist(there, what, attempt):
    return there.cluster.insist(what, attempt, 10)


def delete(fault, there, key):
    fault.tampers(key, None)
    insist(there, "a record is deleted", lambda member: member.delete(key))


def damage(fault, there, key):
    garbage = b"\xff" + bytes(fault.random.randrange(256) for _ in range(fault.random.randrange(1, 40)))
    fault.tampers(key, garbage)
    insist(there, "garbage is put", lambda member: member.put(key, garbage))


def overwrite(fault, there, key):
    """With what another shard's record says, or what it said itself."""
    prefix = key.rsplit("/", 1)[0] + "/"
    records = there.reader.live(prefix)
    value = etcd.decode(records[fault.random.choice(sorted(records))]["value"])
    fault.tampers(key, value)
    insist(there, "a record is overwritten", lambda member: member.put(key, value))


for _name, _change in (("records_deleted", delete), ("records_damaged", damage), ("records_overwritten", overwrite)):
    _strike = functools.partial(tamper(_change))
    _strike.__name__ = _name
    nemesis(extra=15)(_strike)


@nemesis()
def member_key_deleted(fault, there):
    host = fault.pick("host")
    for group, prefix in GROUPS.items():
        fault.ends_early("member key deleted", group=group, node=node_of(host))
        fault.tampers(f"{prefix}members/{node_of(host)}", None)
        if quiet(there.cluster.ask, "kv/deleterange", {"key": etcd.encode(f"{prefix}members/{node_of(host)}")}):
            fault.hit()
    yield fault.seconds(0.5, 1.5)


@nemesis()
def operator_moves(fault, there):
    for _ in range(4):
        shard, target = fault.random.randrange(there.options.shards), node_of(fault.random.choice(HOSTS))
        for host, port in ((fault.random.choice(HOSTS), deployment.KV), (fault.random.choice(HOSTS), deployment.PLAIN)):
            if there.ctl(f"{there.world.address(host)}:{port}", "--timeout", "5s", "shards", "transfer", str(shard), "--to",
                         target) == 0:
                fault.hit()
        yield 0.2


UNDRAINED = (0, 4)  # 4: the node is away, and there is no drain of it


@nemesis(extra=5)
def drain_and_undrain(fault, there):
    node = node_of(fault.pick("host"))
    for port in (deployment.KV, deployment.PLAIN):
        if there.ctl(f"{there.world.address(HOSTS[0])}:{port}", "--timeout", "10s", "nodes", "drain", node) != 0:
            there.drains_unanswered.add((port, node))  # it may yet be carried out
        fault.hit()
    yield fault.seconds(0, 1) * there.ttl
    for port in (deployment.KV, deployment.PLAIN):
        world.until(f"{node} is undrained", lambda port=port: any(there.ctl(
            f"{there.world.address(host)}:{port}", "--timeout", "5s", "nodes", "undrain", node) in UNDRAINED for host in HOSTS))
