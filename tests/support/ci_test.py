#!/usr/bin/env python3
"""`.ci/run` runs the quickstart and then all tests, and its last line counts both, however they end."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class CiTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="baton-ci-")
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.mkdir(os.path.join(self.root, ".ci"))
        shutil.copy(os.path.join(ROOT, ".ci", "run"), os.path.join(self.root, ".ci", "run"))

    def run_ci(self, quickstart, tests):
        """The exit code and all lines of .ci/run with these shell texts as its two scripts."""
        for path, text in (("examples/quickstart.sh", quickstart), ("tests/run.sh", tests)):
            absolute = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(absolute), exist_ok=True)
            with open(absolute, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + text)
            os.chmod(absolute, 0o755)
        answer = subprocess.run([os.path.join(self.root, ".ci", "run")], check=False, stdout=subprocess.PIPE, text=True)
        return answer.returncode, answer.stdout.splitlines()

    def test_all_passed(self):
        self.assertEqual(self.run_ci('echo "demo $1 $BATON_WERROR"',
                                     'echo "unit $1 $BATON_WERROR"; echo 7 passed, 0 failed, 2 skipped'),
                         (0, ["demo --yes ON", "unit --all ON", "8 passed, 0 failed, 2 skipped"]))

    def test_a_failed_test_fails_it(self):
        self.assertEqual(self.run_ci("", "echo 7 passed, 1 failed, 0 skipped; exit 1"),
                         (1, ["8 passed, 1 failed, 0 skipped"]))

    def test_a_failed_quickstart_fails_it_and_the_tests_still_run(self):
        self.assertEqual(self.run_ci("exit 1", "echo 7 passed, 0 failed, 0 skipped"),
                         (1, ["--- examples/quickstart.sh failed", "failed: examples/quickstart.sh",
                              "7 passed, 1 failed, 0 skipped"]))

    def test_tests_without_a_sum_count_as_failed(self):
        self.assertEqual(self.run_ci("", "echo interrupted; exit 130"),
                         (1, ["interrupted", "--- tests/run.sh did not come to its end", "1 passed, 1 failed, 0 skipped"]))


if __name__ == "__main__":
    unittest.main()
