"""The life of the packages in a clean Debian 12 that systemd boots: installed, run, upgraded, removed, purged, and installed
again by the commands of docs/deploying.md.

life_test.py PACKAGES: the folder that build_test.sh left. debootstrap makes the root, systemd-nspawn boots it; etcd and a
second node run outside, on loopback, which the container shares. Needs root, and a mirror: the one that apt uses here.
Exits with 77, which is skipped, without these.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "dashboards"))
import fleet  # noqa: E402
from fleet import until  # noqa: E402

PACKAGES = pathlib.Path(sys.argv[1])
PAGE = fleet.ROOT / "docs/deploying.md"
CONSUMER = fleet.ROOT / "tests/install/consumer"
SUITE = "bookworm"
SKIPPED = 77
SHARDS = 24
# Far longer than any of our waits: whatever is led again sooner did not wait for a lease.
TTL = "300s"
CONFIG = """shards: {shards}
etcd: {etcd}
node: n1
listen: 127.0.0.1:0
http: 127.0.0.1:0
ttl: {ttl}
settle: 500ms
rebalance-delay: 500ms
cooldown: 1s
{more}
"""


def mirror():
    """Where apt gets this suite from; unset: it doesn't."""
    asked = subprocess.run(["apt-get", "indextargets", "--format", "$(CODENAME) $(COMPONENT) $(REPO_URI)",
                            "Created-By: Packages"], capture_output=True, text=True, check=False)
    uris = [line.split()[2] for line in asked.stdout.splitlines() if line.startswith(f"{SUITE} main ")]
    return next(iter(uris), None)


def what_is_missing():
    for tool in ("debootstrap", "systemd-nspawn", "nsenter", "setpriv", "etcd", "apt-get"):
        if shutil.which(tool) is None:
            return f"{tool} is missing (tests/support/packages.sh, BATON_PACKAGING_PACKAGES)"
    if os.geteuid() != 0:
        return "it needs root"
    if not list(PACKAGES.glob("*.deb")):
        return f"no packages are in {PACKAGES}, as the test that builds them was skipped"
    if mirror() is None:
        return f"apt has no mirror of {SUITE} here"
    return None


def commands_of_the_page():
    """PAGE's commands for a host: those before its settings are changed, and the others. Its block for the machine with the
    repository is not run here, since it compiles everything: build_test.sh has the same command."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    block, = (block for block in blocks if "apt-get install ./batond_" in block)
    before, start, after = block.partition("systemctl enable")
    return before, start + after


class Container:
    """A clean root that systemd has booted."""

    def __init__(self, folder):
        self.root = folder / "root"
        self.log = folder / "boot.log"
        made = subprocess.run(["debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv", SUITE, self.root,
                               mirror()], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise fleet.Unmet(f"debootstrap: {made.stdout[-2000:]}")
        # Signed when the suite was released; the machine's clock may be anything.
        (self.root / "etc/apt/apt.conf.d/tests").write_text('Acquire::Languages "none";\n'
                                                            'Acquire::Check-Valid-Until "false";\n')
        self.program = fleet.Program(self.log, "systemd-nspawn", "--quiet", "--directory", self.root, "--boot",
                                     "--register=no", "--keep-unit", "--console=pipe", "--resolv-conf=copy-host",
                                     "--machine=baton-packages")
        self.init = None

    def boots(self):
        """Whether systemd gets to its last target. A machine may refuse what nspawn needs."""
        def settled():
            if not self.program.running():
                return "ended"
            self.init = self.init or self.first_process()
            state = self.run("systemctl", "is-system-running", check=False).strip() if self.init else ""
            return state if state in ("running", "degraded") else None
        return until("the container has booted", settled, bound=120) != "ended"

    def first_process(self):
        children = pathlib.Path(f"/proc/{self.program.process.pid}/task/{self.program.process.pid}/children")
        for child in children.read_text().split():
            if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                return child
        return None

    def run(self, *words, check=True):
        """A command in the container; what it wrote."""
        environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root",
                       "DEBIAN_FRONTEND=noninteractive", "SYSTEMD_COLORS=0"]
        environment += [f"{name}={os.environ[name]}" for name in ("http_proxy", "https_proxy") if name in os.environ]
        ran = subprocess.run(["nsenter", "--target", self.init, "--mount", "--uts", "--ipc", "--pid", "--root", "--wd",
                              *environment, *map(str, words)], capture_output=True, text=True, check=False,
                             stdin=subprocess.DEVNULL, timeout=300)
        if check and ran.returncode != 0:
            raise fleet.Unmet(f"{' '.join(map(str, words))}: {ran.returncode}: {ran.stdout[-3000:]} {ran.stderr[-3000:]}")
        return ran.stdout

    def end(self):
        self.program.process.terminate()  # an orderly shutdown
        try:
            self.program.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.program.kill()
        shutil.rmtree(self.root, ignore_errors=True)


class Unit:
    """A service in the container."""

    def __init__(self, container, name):
        self.container = container
        self.name = name

    def systemctl(self, verb, check=True):
        try:
            return self.container.run("systemctl", verb, self.name, check=check)
        except (fleet.Unmet, subprocess.TimeoutExpired):
            print(self.journal())
            raise

    def property(self, name):
        return self.container.run("systemctl", "show", "--value", f"--property={name}", self.name).strip()

    def journal(self):
        return self.container.run("journalctl", "--no-pager", "--output=cat", f"--unit={self.name}", check=False)


class Instance:
    """A group of two nodes: n1 is the unit in the container, n2 runs outside and has nothing to do with packages."""

    def __init__(self, running, etcd, container, group):
        self.container = container
        self.group = group
        self.etcd = etcd
        self.other = running.node(etcd, group, "n2", shards=SHARDS, ttl=TTL)
        self.unit = Unit(container, f"batond@{group}.service")

    def configure(self, more=""):
        path = self.container.root / f"etc/baton/{self.group}.yaml"
        path.write_text(CONFIG.format(shards=SHARDS, etcd=self.etcd.endpoint, ttl=TTL, more=more))

    def ctl(self, *words):
        """batonctl in the container, as root."""
        return self.container.run("batonctl", "--endpoint", f"unix:/run/baton/{self.group}/admin.sock", *words)

    def leaders(self):
        """(leader, term) of each shard, as n2 knows them."""
        return [(shard["leader"], shard["term"]) if shard["state"] == "led" else None for shard in self.other.shards()]

    def await_share(self, share=SHARDS // 2):
        def fits():
            now = self.leaders()
            return now if None not in now and sum(leader == "n1" for leader, _ in now) == share else None
        return until(f"n1 leads {share} of {SHARDS} shards", fits)

    def await_another(self, process):
        """Until systemd has started the node again."""
        until(f"{self.unit.name} runs again", lambda: self.unit.property("ActiveState") == "active"
              and self.unit.property("MainPID") not in (process, "0"))

    def kill(self, whom):
        """SIGKILL to "main", the node's process, or to "all" of the unit. The process that it had."""
        process = self.unit.property("MainPID")
        self.container.run("systemctl", "kill", "--signal=KILL", f"--kill-whom={whom}", self.unit.name)
        return process


class Life:
    # A node that has been back for a short time only, again and again, gets shards later each time. So the steps share
    # two groups.
    def __init__(self, running, container):
        self.running = running
        self.container = container
        etcd = running.etcd()
        self.orders, self.billing = (Instance(running, etcd, container, group) for group in ("orders", "billing"))
        self.guard = Unit(container, "baton-guard.service")

    def guard_processes(self):
        """Their process ids in the container."""
        return self.container.run("sh", "-c", 'for each in /proc/[0-9]*; do read -r name <$each/comm && '
                                  '[ "$name" != baton-guard ] || echo "${each#/proc/}"; done 2>/dev/null').split()

    # The steps, in order.

    def install(self):
        """It starts nothing, and without settings nothing starts."""
        self.container.run("apt-get", "update", "-q")
        shutil.copytree(PACKAGES, self.container.root / "debs")
        self.container.run("apt-get", "install", "-q", "-y", "--no-install-recommends",
                           *(f"/debs/{path.name}" for path in PACKAGES.glob("*.deb")
                             if path.name.startswith(("batond_", "libbaton0.1_"))))
        for unit in (self.orders.unit, self.guard):
            assert unit.property("ActiveState") == "inactive", f"the installation started {unit.name}"
            assert unit.property("UnitFileState") in ("disabled", ""), f"the installation enabled {unit.name}"
        self.container.run("systemctl", "start", self.orders.unit.name, check=False)
        assert self.orders.unit.property("ActiveState") == "inactive", "it starts without settings"

    def install_development_files(self):
        """With them and a compiler, and nothing else that programs of Baton need: a user's project and the examples."""
        self.container.run("apt-get", "install", "-q", "-y", "--no-install-recommends", "g++", "cmake", "ninja-build",
                           *(f"/debs/{path.name}" for path in PACKAGES.glob("libbaton-dev_*.deb")))
        projects = self.container.root / "projects"
        shutil.copytree(CONSUMER, projects / "consumer")
        version = self.container.run("dpkg-query", "--show", "--showformat=${Version}", "libbaton-dev").partition("-")[0]
        for component in ("grpc", "prometheus"):
            self.build("/projects/consumer", component, f"-DCOMPONENT={component}")
            said = self.container.run(f"/projects/{component}/consumer").strip()
            assert said == f"baton {version}, drain", said
        for example in ("leader", "orders"):
            self.build(f"/usr/share/doc/libbaton-dev/examples/{example}", example)
        shutil.rmtree(projects)
        self.container.run("apt-get", "purge", "-q", "-y", "--autoremove", "libbaton-dev")

    def build(self, source, name, *options):
        """A project of a user, in /projects/NAME."""
        self.container.run("cmake", "-G", "Ninja", "-S", source, "-B", f"/projects/{name}", *options)
        self.container.run("cmake", "--build", f"/projects/{name}")

    def start(self):
        """systemctl returns once the node is ready."""
        self.orders.configure()
        self.container.run("systemctl", "enable", self.orders.unit.name)
        self.orders.unit.systemctl("start")
        said = self.orders.unit.property("StatusText")
        assert said.startswith("ready: gRPC 127.0.0.1:"), said
        owner = self.container.run("stat", "--format=%U %a", "/var/lib/baton/orders").split()
        assert owner == ["baton", "700"], owner
        self.orders.await_share()
        self.orders.ctl("health", "--wait")

    def kill_a_node(self):
        """Its guard, in the same unit, ends its session, and systemd starts it again."""
        guard, = until("the node has a guard", self.guard_processes)
        acted = ["its session was ended"]
        if self.container.run("stat", "--file-system", "--format=%T", "/sys/fs/cgroup").strip() != "cgroup2fs":
            # In a container on control groups of version 1 systemd doesn't wait for the rest of a unit: it kills the
            # guard, mostly after that has done its work.
            acted.append(rf"Killing process {guard} \(baton-guard\) with signal SIGKILL")
        process = self.orders.kill("main")
        end = until("the guard has acted", lambda: re.search("|".join(acted), self.orders.unit.journal()))
        print("the guard in the node's unit:", end.group())
        self.orders.await_another(process)
        self.orders.await_share()

    def kill_a_node_and_its_guard(self):
        """The next process proves the death of this one, by lock and boot id."""
        self.orders.await_another(self.orders.kill("all"))
        self.orders.await_share()

    def upgrade(self):
        """A newer package changes nothing of what runs."""
        unit = self.orders.unit
        before = (unit.property("MainPID"), self.orders.await_share())
        self.container.run("apt-get", "install", "-q", "-y", "/debs/newer/batond.deb")
        version = self.container.run("dpkg-query", "--show", "--showformat=${Version}", "batond")
        assert version.endswith("+2"), version
        assert unit.property("NeedDaemonReload") == "no"
        # The guard's program is another file now. A node whose guard ends finds it.
        guards = self.guard_processes()
        self.container.run("sh", "-c", f"kill -KILL {' '.join(guards)}")
        until("batond has a guard again", lambda: len(self.guard_processes()) == 1 and self.guard_processes() != guards)
        assert (unit.property("MainPID"), self.orders.leaders()) == before, "the upgrade touched a node that leads"

    def restart_with_the_same_leaders(self):
        """With failover=after its shards wait for it. The program is the newer one then."""
        self.orders.ctl("group", "set", "failover=after", "failover-delay=5m")
        before = [leader for leader, _ in self.orders.await_share()]
        process = self.orders.unit.property("MainPID")
        self.orders.unit.systemctl("restart")
        assert self.orders.unit.property("MainPID") != process
        after = [leader for leader, _ in self.orders.await_share()]
        assert after == before, f"{before} before, {after} after"

    def share_a_guard(self):
        """It sees a death that a guard in the node's unit would not survive."""
        (self.container.root / "etc/default/baton-guard").write_text(
            f'BATON_GUARD_OPTIONS="--state-dir /var/lib/baton/billing"\nBATON_ETCD={self.billing.etcd.endpoint}\n')
        self.guard.systemctl("start")
        self.billing.configure("guard: shared")
        self.billing.unit.systemctl("start")
        before = self.billing.await_share()
        self.guard.systemctl("restart")
        assert self.billing.leaders() == before, "a restart of the guard touched a node that leads"
        process = self.billing.kill("all")
        until("the shared guard has acted", lambda: "its session was ended" in self.guard.journal())
        self.billing.await_another(process)
        self.billing.await_share()

    def restart(self):
        """With failover=immediate, the default, the others lead meanwhile."""
        self.billing.unit.systemctl("restart")
        self.billing.await_share()

    def stop(self):
        self.billing.unit.systemctl("stop")
        assert self.billing.unit.property("Result") == "success", self.billing.unit.property("Result")
        assert "drained" in self.billing.unit.journal()
        self.billing.await_share(0)

    def remove(self):
        """A node that leads hands over first. The operator's files, and what proves deaths, stay until a purge."""
        self.orders.ctl("group", "set", "failover=immediate")
        self.container.run("apt-get", "remove", "-q", "-y", "batond", "libbaton0.1")
        self.orders.await_share(0)
        left = self.container.run("sh", "-c", "command -v batond batonctl baton-guard", check=False)
        assert left == "", left
        for kept in ("etc/baton/orders.yaml", "etc/baton/example.yaml", "var/lib/baton/orders/session.lock"):
            assert (self.container.root / kept).exists(), kept

    def purge(self):
        for own in ("orders", "billing"):
            (self.container.root / f"etc/baton/{own}.yaml").unlink()
        shutil.rmtree(self.container.root / "debs")
        # As if the state directories had a disk of their own: that can't be removed.
        self.container.run("mount", "--bind", "/var/lib/baton", "/var/lib/baton")
        (self.container.root / "etc/baton/orders.key").touch()
        self.container.run("dpkg", "--purge", "batond", "libbaton0.1")
        (self.container.root / "etc/baton/orders.key").unlink()  # the operator's own files stay
        self.container.run("umount", "/var/lib/baton")
        self.container.run("rmdir", "/var/lib/baton", "/etc/baton")
        left = self.container.run("find", "/", "-xdev", "-iname", "*baton*", "-not", "-path", "/proc/*").split()
        assert left == [], left
        # The user stays: its number must not become another's.
        assert self.container.run("id", "--name", "--user", "baton").strip() == "baton"

    def follow_the_page(self):
        """The page's own words lead from nothing to a healthy group."""
        root = self.container.root
        shutil.copytree(PACKAGES, root / "debs")
        (root / "etc/apt/apt.conf.d/answers").write_text('APT::Get::Assume-Yes "true";\n')
        settings, start = commands_of_the_page()
        self.container.run("sh", "-euc", f"cd /debs\n{settings}")
        path = root / "etc/baton/orders.yaml"
        changed = re.sub(r"(?m)^etcd: .*\n", "", path.read_text())
        etcd = self.running.etcd("etcd-of-the-page")
        path.write_text(f"{changed}etcd: {etcd.endpoint}\nlisten: 127.0.0.1:0\nhttp: 127.0.0.1:0\n")
        self.container.run("sh", "-euc", start)


def main():
    missing = what_is_missing()
    if missing:
        print("skipped:", missing)
        return SKIPPED
    with fleet.Fleet() as running:
        container = Container(running.folder)
        try:
            if not container.boots():
                print("skipped: systemd-nspawn can't boot here:", container.log.read_text()[-1000:])
                return SKIPPED
            life = Life(running, container)
            for step in (life.install, life.install_development_files, life.start, life.kill_a_node, life.kill_a_node_and_its_guard, life.upgrade,
                         life.restart_with_the_same_leaders, life.share_a_guard, life.restart, life.stop, life.remove,
                         life.purge, life.follow_the_page):
                began = time.monotonic()
                try:
                    step()
                except BaseException:
                    for unit in (life.orders.unit, life.billing.unit, life.guard):
                        print(f"--- {unit.name}\n{unit.journal()[-6000:]}")
                    print(f"--- {step.__name__} failed")
                    raise
                print(f"{step.__name__}: {time.monotonic() - began:.1f} s", flush=True)
        finally:
            container.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
