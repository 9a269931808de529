"""Containers of podman for the tests of the image: each with the rights that packaging/ gives them, and no more.

They share the host's network, so that all of a test is on loopback, and have everything else of their own.
"""
import json
import os
import pathlib
import platform
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "dashboards"))

import fleet  # noqa: E402

IMAGE = "localhost/baton-test"
USER = 65532
SKIPPED = 77
# crun of Debian 12 refuses hosts with both versions of control groups.
RUNTIME = next((name for name in ("runc", "crun") if shutil.which(name)), None)
# Without the right to raise limits a container gets at most the host's own; podman asks for more.
def limit(kind):
    _, most = resource.getrlimit(kind)
    return 4096 if most == resource.RLIM_INFINITY else min(4096, most)


LIMITS = ["--ulimit", f"nofile={limit(resource.RLIMIT_NOFILE)}", "--ulimit", f"nproc={limit(resource.RLIMIT_NPROC)}"]
HARDENED = ["--read-only", "--read-only-tmpfs=false", "--cap-drop=ALL", "--security-opt=no-new-privileges"]


def why_not():
    """Why this machine can't build and run images, or None."""
    if os.geteuid() != 0:
        return "only root may make namespaces"
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        system = {}
    if (system.get("ID"), system.get("VERSION_ID")) != ("debian", "12"):
        return "the image is a Debian 12, and programs that were built elsewhere don't run in it"
    missing = [name for name in ("podman", "buildah", "debootstrap", "strip") if not shutil.which(name)]
    if not RUNTIME:
        missing.append("runc")
    return f"missing here: {', '.join(missing)}" if missing else None


def podman(*words, check=True):
    ran = subprocess.run(("podman", "--runtime", RUNTIME, *map(str, words)), capture_output=True, text=True)
    if check and ran.returncode != 0:
        raise AssertionError(f"podman {' '.join(map(str, words))}: {ran.stderr.strip()}")
    return ran.stdout.strip()


def build_image():
    """The image with this build's programs, upon a base of debootstrap's that stays in the build folder."""
    environment = {**os.environ, "BATON_ISOLATION": "chroot", "BATON_BUILD_NETWORK": "host"}
    ran = subprocess.run((ROOT / "packaging/container/image.sh", "--tag", IMAGE, "--debootstrap",
                          fleet.BUILD / "container-base", "--binaries", fleet.BUILD / "bin"),
                         capture_output=True, text=True, env=environment)
    if ran.returncode != 0:
        raise AssertionError(ran.stdout[-2000:] + ran.stderr[-2000:])


def host_can_run():
    """An error of the container runtime on this host that has nothing to do with the image, or None."""
    ran = subprocess.run(("podman", "--runtime", RUNTIME, "run", "--rm", "--network=host", *LIMITS, *HARDENED, IMAGE,
                          "--version"), capture_output=True, text=True)
    return None if ran.returncode == 0 else ran.stderr.strip()


def processes_below(pid):
    """pid -> name of a process and of all that descend from it."""
    parents, names = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            before, _, after = (entry / "stat").read_text().rpartition(")")
        except OSError:
            continue
        names[int(entry.name)] = before.partition("(")[2]
        parents[int(entry.name)] = int(after.split()[1])
    found = {pid} & set(names)
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return {each: names[each] for each in found}


class Container:
    """Runs the image. `volume` is a folder of the host that belongs to root and to the container's group, as a
    kubelet makes it for `fsGroup`."""

    def __init__(self, name, volume, words, entrypoint=None):
        self.name = f"baton-test-{os.getpid()}-{name}"
        program = ["--entrypoint", entrypoint] if entrypoint else []
        podman("run", "--detach", "--name", self.name, "--network=host", *LIMITS, *HARDENED, *program,
               "--volume", f"{volume}:/var/lib/baton", IMAGE, *words)

    def state(self):
        return json.loads(podman("inspect", self.name))[0]["State"]

    def pid(self):
        """Of its first process, as the host counts."""
        return self.state()["Pid"]

    def running(self):
        return self.state()["Running"]

    def exit_code(self):
        fleet.until(f"{self.name} ends", lambda: not self.running())
        return self.state()["ExitCode"]

    def descendant(self, program, parent):
        """The pid of the child of `parent` that runs `program`."""
        def find():
            return [pid for pid, name in processes_below(parent).items() if name == program and pid != parent]
        return fleet.until(f"{program} below {parent}", find)[0]

    def kill(self, pid=None):
        """SIGKILL: the whole container at once, or one process of it."""
        if pid:
            os.kill(pid, 9)
        else:
            podman("kill", "--signal", "KILL", self.name)

    def stop(self, patience):
        podman("stop", "--time", patience, self.name)

    def log(self):
        ran = subprocess.run(("podman", "logs", self.name), capture_output=True, text=True)
        return ran.stdout + ran.stderr

    def remove(self):
        podman("rm", "--force", "--volumes", self.name, check=False)


def volume(folder, name):
    path = folder / name
    path.mkdir()
    os.chown(path, 0, USER)
    path.chmod(0o2770)
    return path
