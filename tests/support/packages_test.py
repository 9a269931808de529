#!/usr/bin/env python3
"""Which packages the scripts ask for on which system, and what they say elsewhere. Nothing is installed or fetched."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
DEBIAN_12 = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n'
DEBIAN_13 = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nVERSION_ID="13"\nID=debian\n'
UBUNTU = 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\n'
TESTING = 'PRETTY_NAME="Debian GNU/Linux forky/sid"\nID=debian\n'
FEDORA = 'NAME="Fedora Linux"\nVERSION_ID=43\nID=fedora\n'


class PackagesTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="baton-packages-")))
        self.path = self.folder / "bin"
        self.path.mkdir()

    def shim(self, name, text):
        file = self.path / name
        file.write_text("#!/bin/sh\n" + text)
        file.chmod(0o755)

    def run_bash(self, script, *arguments, **environment):
        """The exit code and what the script says after sourcing packages.sh."""
        script = 'set -eu; source "$1"; shift; ' + script
        answer = subprocess.run(("/bin/bash", "-c", script, "bash", HERE / "packages.sh", *arguments),
                                env={**os.environ, "PATH": f"{self.path}:{os.environ['PATH']}", **environment},
                                check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return answer.returncode, answer.stdout

    def system_of(self, os_release):
        file = self.folder / "os-release"
        file.write_text(os_release)
        return self.run_bash('baton_system "$1"', file)

    def chosen(self, os_release):
        """All names for the system that this file describes."""
        code, system = self.system_of(os_release)
        self.assertEqual(code, 0)
        code, names = self.run_bash(
            'baton_choose_packages "$1"; printf "%s\\n" "${BATON_BUILD_PACKAGES[@]}" "${BATON_RUN_PACKAGES[@]}" '
            '"${BATON_TEST_PACKAGES[@]}" "${BATON_BROWSER_PACKAGES[@]}" "${BATON_SANITIZER_PACKAGES[@]}"', system.strip())
        self.assertEqual(code, 0)
        return set(names.split())

    def test_known_systems(self):
        self.assertEqual(self.system_of(DEBIAN_12), (0, "debian-12\n"))
        self.assertEqual(self.system_of(DEBIAN_13), (0, "debian-13\n"))
        self.assertEqual(self.system_of(UBUNTU), (0, "ubuntu-24.04\n"))

    def test_other_systems(self):
        self.assertEqual(self.system_of(TESTING), (0, ""))
        self.assertEqual(self.system_of(FEDORA), (0, ""))
        self.assertEqual(self.system_of(UBUNTU.replace("24.04", "22.04")), (0, ""))
        self.assertEqual(self.run_bash('baton_system "$1"', self.folder / "none"), (0, ""))

    def test_names_differ_by_system_only_where_they_must(self):
        bookworm, trixie, noble = (self.chosen(text) for text in (DEBIAN_12, DEBIAN_13, UBUNTU))
        boost = {"libboost{}-dev", "libboost-json{}-dev", "libboost-url{}-dev"}
        old, new = ({name.format(version) for name in boost} for version in ("1.81", "1.83"))
        self.assertEqual(bookworm - trixie, old | {"clang-format-14", "libclang-rt-14-dev"})
        self.assertEqual(trixie - bookworm, new | {"libclang-rt-19-dev"})
        self.assertEqual(noble - trixie, {"clang-format-14", "libclang-rt-18-dev"})
        self.assertEqual(trixie - noble, {"chromium", "libclang-rt-19-dev"})

    def test_what_builds_packages_is_among_the_packages_for_it(self):
        code, names = self.run_bash('printf "%s\\n" "${BATON_PACKAGING_PACKAGES[@]}"')
        self.assertEqual(code, 0)
        self.assertLessEqual({"dpkg-dev", "debhelper", "git", "python3"}, set(names.split()))

    def other_boost(self, *installed):
        """Names what keeps libboost1.81-dev away if these packages are installed, and others were once."""
        lines = [f"{name} installed" for name in installed] + ["libboost1.67-dev config-files"]
        self.shim("dpkg-query", "cat <<'END'\n" + "\n".join(lines) + "\nEND\n")
        return self.run_bash("baton_other_boost 1.81")

    def test_another_boost_excludes_the_needed_one(self):
        self.assertEqual(self.other_boost("libboost1.74-dev", "libboost1.74-tools-dev"), (0, "libboost1.74-dev\n"))
        self.assertEqual(self.other_boost(), (0, ""))
        self.assertEqual(self.other_boost("libboost1.81-dev"), (0, ""))
        self.assertEqual(self.other_boost("libboost1.74-tools-dev"), (0, ""), "its tools alone exclude nothing")

    def test_of_an_excluded_boost_only_libraries_are_to_be_installed(self):
        self.shim("dpkg-query", 'case "$*" in *libboost1.\\**) echo "libboost1.74-dev installed" ;; *) exit 1 ;; esac\n')
        missing = """version=$(baton_boost_version "$(baton_system)")
                     baton_missing_packages "${BATON_BUILD_PACKAGES[@]}" | sed -n "s/$version/X/p" """
        self.assertEqual(self.run_bash(missing), (0, "libboost-jsonX.0\nlibboost-urlX.0\n"))
        self.shim("dpkg-query", "exit 1\n")
        self.assertEqual(self.run_bash(missing), (0, "libboostX-dev\nlibboost-jsonX-dev\nlibboost-urlX-dev\n"))

    def unpack(self, apt_get):
        """Has Boost unpacked by an apt-get that does this, and a dpkg-deb that copies. Also what is in the build folder then."""
        self.shim("apt-get", apt_get)
        self.shim("dpkg-deb", 'mkdir -p "$3" && cp "$2" "$3"\n')
        build = self.folder / "build"
        answer = self.run_bash('baton_unpack_boost 1.81 "$1"', build / "boost-1.81")
        return *answer, sorted(str(path.relative_to(build)) for path in build.rglob("*"))

    def test_boost_is_unpacked_below_the_build_folder(self):
        self.assertEqual(self.unpack('case "$*" in *download*) for name; do :; done; touch "$name.deb" ;; esac\n'),
                         (0, "", ["boost-1.81", "boost-1.81/libboost-url1.81.0.deb"]))

    def test_a_boost_that_cannot_be_had_leaves_nothing(self):
        self.assertEqual(self.unpack("echo E: no network; exit 100\n"),
                         (1, "E: no network\nbaton: the packages of Boost 1.81 could not be unpacked\n", []))

    def test_elsewhere_one_line_names_what_is_missing(self):
        for tool in ("ninja", "protoc", "grpc_cpp_plugin"):
            self.shim(tool, "exit 0\n")
        for tool in ("dirname", "sed"):
            (self.path / tool).symlink_to(shutil.which(tool))
        headers = self.folder / "include"
        for header in ("xxhash.h", "boost/json.hpp", "grpcpp/grpcpp.h", "google/protobuf/message.h", "openssl/ssl.h",
                       "spdlog/spdlog.h", "fmt/format.h", "prometheus/registry.h", "CLI/CLI.hpp", "yaml-cpp/yaml.h", "curses.h"):
            (headers / header).parent.mkdir(parents=True, exist_ok=True)
            (headers / header).write_text("")
        self.shim("c++", f'PATH="{os.environ["PATH"]}" exec "{shutil.which("c++")}" -nostdinc "$@"\n')  # no header of the machine
        said = "baton: packages are installed on Debian 12, Debian 13 and Ubuntu 24.04 only; please install: "
        only_here = {"PATH": str(self.path), "CMAKE_PREFIX_PATH": f"/nowhere:{self.folder}"}
        self.assertEqual(self.run_bash("baton_accept_other_system", **only_here), (1, said + "cmake boost/url.hpp\n"))
        self.shim("cmake", "exit 0\n")
        (headers / "boost" / "url.hpp").write_text("")
        self.assertEqual(self.run_bash("baton_accept_other_system", **only_here),
                         (0, "baton: not Debian 12, Debian 13 or Ubuntu 24.04, going on with what is here\n"))


if __name__ == "__main__":
    unittest.main()
