"""Values of a group's keys, read from protobuf's wire format by hand: the checker shares no code with the product."""
import base64

REASONS = ("", "startup", "lease_expired", "process_died", "rebalance", "drain", "shutdown", "operator", "callback_timeout",
           "suspended", "resumed")


class Damaged(Exception):
    """Not a message, or one of a newer schema."""


def _varint(data, place):
    value = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise Damaged
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


def fields(data):
    """Number -> value of a flat message: numbers as they are, everything else as bytes."""
    found, place = {}, 0
    while place < len(data):
        tag, place = _varint(data, place)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise Damaged
        if kind == 0:
            found[number], place = _varint(data, place)
        elif kind in (1, 2, 5):
            length = {1: 8, 5: 4}.get(kind)
            if length is None:
                length, place = _varint(data, place)
            if place + length > len(data):
                raise Damaged
            found[number] = data[place:place + length]
            place += length
        else:
            raise Damaged
    if found.get(1) != 1:
        raise Damaged
    return found


def _text(found, number):
    value = found.get(number, b"")
    if not isinstance(value, bytes):
        raise Damaged
    return value.decode(errors="replace")


def leadership(value, shard):
    """{leader, session, by, previous, reason} of a record; None: it can't be read, or is another shard's."""
    try:
        found = fields(base64.b64decode(value))
        if found.get(2) != shard:
            return None
        return {"leader": _text(found, 3), "session": found.get(4, 0), "by": _text(found, 5), "previous": _text(found, 6),
                "reason": REASONS[found.get(7, 0)]}
    except (Damaged, IndexError, TypeError):
        return None


def move(value):
    """{ends, from, to, phase, prepared}; None: it can't be read. Phase 2 is prepared, 3 void."""
    try:
        found = fields(base64.b64decode(value))
        return {"ends": found.get(3, 0), "from": _text(found, 4), "to": _text(found, 5), "phase": found.get(8, 0),
                "prepared": found.get(9, 0)}
    except (Damaged, TypeError):
        return None
