#!/usr/bin/env python3
"""The scripts that build may use one build folder in any order: whatever came before, the tests find all that they need.

The scripts run as they are. In front of the PATH stand a `ninja` that only plans what it is asked to build (-n), and a
`ctest` that runs no test.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUICKSTART = ("examples/quickstart.sh", "--yes")
TESTS = ("tests/run.sh",)
BENCH = ("bench/run.sh",)
SHIMS = {
    "ninja": '#!/bin/sh\ncase "$*" in *" -j "*) echo "$@" >>"$PLANNED"; set -- -n "$@" ;; esac\nexec "$REAL_NINJA" "$@"\n',
    "ctest": '#!/bin/sh\ncase "$*" in *--show-only*) exec "$REAL_CTEST" "$@" ;; esac\n',
}


class OrdersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="baton-orders-")
        self.addCleanup(folder.cleanup)
        self.build = os.path.join(folder.name, "build")
        self.planned = os.path.join(folder.name, "planned")
        bin_folder = os.path.join(folder.name, "bin")
        os.mkdir(bin_folder)
        for name, text in SHIMS.items():
            with open(os.path.join(bin_folder, name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(file.name, 0o755)
        self.environment = dict(
            os.environ, PATH=bin_folder + ":" + os.environ["PATH"], BATON_BUILD_DIR=self.build, PLANNED=self.planned,
            REAL_NINJA=shutil.which("ninja"), REAL_CTEST=shutil.which("ctest"))

    def run_script(self, *command):
        """Runs a script until it would start what it built; that is not there, so its exit code says nothing."""
        if os.path.exists(self.planned):
            os.remove(self.planned)
        answer = subprocess.run([os.path.join(ROOT, command[0]), *command[1:]], env=self.environment, check=False,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertTrue(os.path.exists(self.planned), f"{command[0]} did not come to its build:\n{answer.stdout}")
        self.assertNotIn("failed", re.sub(r"\d+ failed|ctest itself failed|failed: \S*ctest", "", answer.stdout))

    def configure_by_hand(self):
        subprocess.run(["cmake", "--preset", "dev", "-B", self.build], cwd=ROOT, env=self.environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def cache(self):
        with open(os.path.join(self.build, "CMakeCache.txt"), encoding="utf-8") as cache:
            return cache.read()

    def parts(self):
        """The parts that the folder builds, as its options say."""
        options = dict(re.findall(r"^BATON_(TESTS|EXAMPLES|BENCH):\w+=(\w+)$", self.cache(), re.MULTILINE))
        self.assertEqual(set(options), {"TESTS", "EXAMPLES", "BENCH"})
        return {name for name, value in options.items() if value == "ON"}

    def warnings_are_errors(self):
        return re.search(r"^CMAKE_COMPILE_WARNING_AS_ERROR:\w+=(\w+)$", self.cache(), re.MULTILINE).group(1)

    def commands(self):
        """All commands that build the tests and what they run."""
        return subprocess.run([self.environment["REAL_NINJA"], "-C", self.build, "-t", "commands", "tests/all"],
                              check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()

    def test_the_tests_are_the_same_whatever_came_before(self):
        self.run_script(*TESTS)
        alone = self.commands()
        self.assertEqual(self.parts(), {"TESTS", "EXAMPLES"})
        shutil.rmtree(self.build)

        self.run_script(*QUICKSTART)
        self.assertEqual(self.parts(), set())
        self.run_script(*TESTS)
        self.assertEqual(self.parts(), {"TESTS", "EXAMPLES"})
        self.assertEqual(self.commands(), alone, "the quickstart came before")
        self.run_script(*BENCH)
        self.run_script(*QUICKSTART)
        self.assertEqual(self.parts(), {"TESTS", "EXAMPLES"}, "the quickstart took the tests away")
        self.assertEqual(self.commands(), alone)
        self.configure_by_hand()
        self.assertEqual(self.parts(), {"TESTS", "EXAMPLES", "BENCH"})
        self.run_script(*TESTS)
        self.assertEqual(self.parts(), {"TESTS", "EXAMPLES", "BENCH"})
        self.assertEqual(self.commands(), alone, "configured by hand before")

    def test_warnings_are_errors_only_if_our_own_variable_says_so(self):
        self.environment.pop("BATON_WERROR", None)
        self.environment["CI"] = "true"  # every pipeline of a user sets it
        self.run_script(*QUICKSTART)
        self.assertEqual(self.warnings_are_errors(), "OFF")
        self.environment["BATON_WERROR"] = "ON"
        self.run_script(*QUICKSTART)
        self.assertEqual(self.warnings_are_errors(), "ON")


if __name__ == "__main__":
    unittest.main()
