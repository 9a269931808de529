"""Nemeses: each does harm, yields how many seconds to let it work, and mends it afterwards.

A nemesis draws from its fault's own generator and from nothing else, so a seed gives the same plan on any machine; which
member leads etcd just then, real processes decide. `early` says that sessions may end before their time, by etcd's own
doing: two leaders may then be seen for a while, which is measured. A fault counts once it hit something, as hit() says.
"""
from . import clocks, members, network, operators, processes  # noqa: F401  (they register what they have)
from .fault import NEMESES, Fault, Striker

__all__ = ["NEMESES", "Fault", "Striker"]
