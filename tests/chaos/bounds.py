"""How long a fault may leave a shard without a leader. T is the TTL, E etcd's election timeout.

Faults that end a node or its session: within T + 0.5 s its shards are free. And those that cost etcd one leader, whose
successor gives every lease its whole TTL again: 2T + 3E + 0.5 s. Finding out and acting comes on top of both: the brake may
hold for the settle time, and a second is for delivery and sampling.

Some strike more than once, and the bound holds for all strokes together. A node's two processes (`hits` is 2) are struck at
once, one of each group. kill_etcd_leaders and move_etcd_leader strike three times, the last some 4 s after the first, and no
node ends by that: all lead again with the first renewal that the last leader confirms, 3E after that stroke at most, and
4 s are less than the 2T of the bound. freeze_leaders_disk goes to its next leader only when leases of this one's time have
ended, or 10 s after it had begun, so that each gap is over before the next stroke.
"""
SECOND = 10**9
ELECTION = 1.0  # seconds, etcd's election timeout
SCAN = 0.5  # seconds, from one look of etcd for expired leases to the next
MARGIN = 1.0  # seconds, for delivery and sampling
SAMPLED = SECOND // 10  # a gap begins with the last sample before it
OF_A_NODE = {"kill_node", "stop_node", "freeze_node_v1", "freeze_node_v2", "isolate_node", "node_not_heard",
             "node_hears_nothing", "revoke_lease", "member_key_deleted"}
OF_A_LEADER = {"kill_etcd_leaders", "isolate_etcd_leader", "leader_not_heard", "move_etcd_leader", "freeze_leaders_disk",
               "leader_killed"}


def of_a_node(ttl):
    return ttl + SCAN


def of_a_leader(ttl):
    return 2 * ttl + 3 * ELECTION + SCAN


def bound_of(name, ttl):
    """Of a fault of that name, in seconds; None: it has none."""
    if name in OF_A_NODE:
        return of_a_node(ttl)
    return of_a_leader(ttl) if name in OF_A_LEADER else None


def limit_of(name, run):
    """A gap is judged by this: the bound, the settle time (the run's `bound` has it) and a second."""
    bound = bound_of(name, run["ttl"])
    return None if bound is None else bound + run["bound"] - of_a_leader(run["ttl"]) + MARGIN


def limit_of_one(fault, run):
    """The limit of this fault. If a fault of some member of etcd had just ended when it began, that of a lost leader: a member of
    3.4 that comes back with a higher term deposes the leader, and the next one gives every lease its whole TTL again."""
    limit = limit_of(fault["name"], run)
    came_back = any(0 <= fault["begin"] - other["end"] < 2 * ELECTION * SECOND and
                    any(target.startswith("e") for target in other["targets"]) for other in run["faults"])
    return run["bound"] + MARGIN if limit is not None and came_back else limit


def hit(fault):
    """Whether it counts: it struck something."""
    return fault["hits"] > 0


def alone(fault):
    return not fault["with"]


def all_gaps(history):
    """(shard, begin, end) of all times at which nobody led a shard."""
    return [(shard, *gap) for shard in range(history.shards) for gap in history.gaps(shard)]


def begun_in(fault, gaps, faults):
    """Those that began within the fault, or before all had recovered from it; but for the next one's, of all `faults`, which
    may begin with the last sample before it, and what that one prolonged."""
    following = min((other["begin"] for other in faults if other["begin"] >= fault["step_end"]), default=None)
    return [(shard, begin, end) for shard, begin, end in gaps
            if fault["begin"] - SAMPLED <= begin <= (fault["recovered"] or fault["step_end"])
            and (following is None or (begin < following - SAMPLED and end <= following))]
