"""etcd as seen by the harness: its JSON gateway, and a reader of everything that it ever committed.

Shares no code with the product: what is written and read here is etcd's own API.
"""
import base64
import http.client
import json
import threading
import urllib.request

import world

EVERYTHING = base64.b64encode(b"\0").decode()  # as key and as range_end: all keys


class Refused(Exception):
    """etcd said no, or nothing."""


def encode(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def decode(text):
    return base64.b64decode(text or "")


class Member:
    def __init__(self, name, address):
        self.name, self.address = name, address

    def ask(self, path, body, timeout=3.0):
        connection = http.client.HTTPConnection(self.address, 2379, timeout=timeout)
        try:
            connection.request("POST", "/v3/" + path, json.dumps(body))
            answer = connection.getresponse()
            text = answer.readline() if path == "lease/keepalive" else answer.read()
            if answer.status != 200:
                raise Refused(f"{self.name} {path}: {text.decode(errors='replace').strip()}")
            return json.loads(text)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Refused(f"{self.name} {path}: {error!r}") from error
        finally:
            connection.close()

    def status(self, timeout=1.0):
        return self.ask("maintenance/status", {}, timeout)

    def versions(self):
        """The member's own, and that of the cluster, which is the oldest member's line."""
        with urllib.request.urlopen(f"http://{self.address}:2379/version", timeout=3) as answer:
            return json.load(answer)

    def put(self, key, value, lease=0):
        return self.ask("kv/put", {"key": encode(key), "value": encode(value), "lease": lease})

    def delete(self, key, to=None):
        return self.ask("kv/deleterange", {"key": encode(key), **({"range_end": encode(to)} if to else {})})

    def keep_alive(self, lease, timeout=1.0):
        """The TTL that it answered; 0 if the lease is gone."""
        return int(self.ask("lease/keepalive", {"ID": lease}, timeout)["result"].get("TTL", 0))


class Cluster:
    """Asks any member that answers."""

    def __init__(self, members):
        self.members = members

    def ask(self, path, body, timeout=3.0):
        error = None
        for member in self.members:
            try:
                return member.ask(path, body, timeout)
            except Refused as refusal:
                error = refusal
        raise error

    def insist(self, what, attempt, bound=30):
        """`attempt(member)` at one member after another until one does it."""
        def try_all():
            for member in self.members:
                try:
                    return [attempt(member)]
                except Refused:
                    continue
            return None
        return world.until(what, try_all, bound)[0]

    def leader(self):
        """The member that most name as leader by their newest raft term; None: nobody says."""
        votes = []
        for member in self.members:
            try:
                status = member.status()
            except Refused:
                continue
            if int(status.get("leader", 0)):
                votes.append((int(status["raftTerm"]), int(status["leader"])))
        if not votes:
            return None
        leader = max(votes)[1]
        for member in self.members:
            if getattr(member, "id", None) == leader:
                return member.name
        return None

    def learn_ids(self):
        def learnt():
            try:
                for member in self.members:
                    member.id = int(member.status()["header"]["member_id"])
                return True
            except Refused:
                return False
        world.until("every member says its id", learnt)

    def all(self):
        """Every key of now, and the revision."""
        answer = self.insist("etcd is read", lambda member: member.ask(
            "kv/range", {"key": EVERYTHING, "range_end": EVERYTHING}))
        return [{"key": decode(kv["key"]).decode(errors="replace"), "rev": int(kv["mod_revision"]),
                 "create": int(kv["create_revision"]), "version": int(kv["version"]), "lease": int(kv.get("lease", 0)),
                 "value": kv.get("value", "")} for kv in answer.get("kvs", [])], int(answer["header"]["revision"])


class Reader:
    """Follows /baton on all members from revision 1, and writes each change once, with the time it was first seen."""

    def __init__(self, members, path):
        self._file = open(path, "a", encoding="ascii")
        self._lock = threading.Lock()
        self._seen = set()
        self.state = {}  # the newest change of each key
        self.revision = 0  # complete up to here
        self._stop = False
        self._threads = [threading.Thread(target=self._follow, args=(member,), daemon=True) for member in members]
        for thread in self._threads:
            thread.start()

    def stop(self):
        self._stop = True
        for thread in self._threads:
            thread.join(10)
        self._file.close()

    def _follow(self, member):
        following = 0
        while not self._stop:
            connection = http.client.HTTPConnection(member.address, 2379, timeout=3)
            try:
                connection.request("POST", "/v3/watch", json.dumps({"create_request": {
                    "key": encode("/baton"), "range_end": encode("/baton0"), "start_revision": following + 1}}))
                answer = connection.getresponse()
                while not self._stop and (line := answer.readline()):
                    result = json.loads(line).get("result", {})
                    if result.get("canceled"):
                        # Compacted: no reader lags behind all others for ever, so go on from the others' revision.
                        following = max(following, int(result.get("compact_revision", 0)) - 1)
                        break
                    following = max(following, self._take(result.get("events", [])))
            except (OSError, ValueError, http.client.HTTPException):
                pass
            finally:
                connection.close()

    def _take(self, events):
        seen_at, newest = world.now(), 0
        with self._lock:
            for event in events:
                kv = event["kv"]
                key, revision = decode(kv["key"]).decode(errors="replace"), int(kv["mod_revision"])
                newest = max(newest, revision)
                if (revision, key) in self._seen:
                    continue
                self._seen.add((revision, key))
                line = {"rev": revision, "key": key, "type": event.get("type", "PUT"), "at": seen_at,
                        "create": int(kv.get("create_revision", 0)), "version": int(kv.get("version", 0)),
                        "lease": int(kv.get("lease", 0)), "value": kv.get("value", "")}
                self._file.write(json.dumps(line) + "\n")
                if revision > self.state.get(key, {"rev": 0})["rev"]:
                    self.state[key] = line
            self.revision = max(self.revision, newest)
            self._file.flush()
        return newest

    def live(self, prefix):
        """Keys that begin so and exist, as last seen."""
        with self._lock:
            return {key: line for key, line in self.state.items() if key.startswith(prefix) and line["type"] == "PUT"}
