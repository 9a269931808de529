#!/usr/bin/env python3
"""The reports of ctest and gtest are counted as they happened: a crash is a failure, a skip is not one."""
import contextlib
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import results  # noqa: E402

# As gtest writes them. The bytes of a message need not be text.
CASE = '<testcase name="%s" status="%s" result="%s" time="0." classname="Suite"%s'
PASSED = CASE % ("Passes", "run", "completed", " />")
FAILED = CASE % ("Fails", "run", "completed",
                 '><failure message="a.cc:7&#x0A;1 is not 2 \udcff" type=""><![CDATA[1 is not 2]]></failure></testcase>')
SKIPPED = CASE % ("Skips", "run", "skipped",
                  '><skipped message="a.cc:9&#x0A;only root&#x0A;may"><![CDATA[a.cc:9\nonly root\nmay]]></skipped></testcase>')
SILENT = CASE % ("SaysNothing", "run", "skipped", '><skipped message="a.cc:9&#x0A;"></skipped></testcase>')
DISABLED = CASE % ("DISABLED_Off", "notrun", "suppressed", " />")


class ResultsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="baton-results-")
        self.addCleanup(folder.cleanup)
        self.logs = folder.name

    def ctest(self, group, *cases):
        """cases: (name, status, inner XML); each has taken 1.2 seconds."""
        os.makedirs(os.path.join(self.logs, group))
        body = "".join(f'<testcase name="{name}" status="{status}" time="1.2">{inner}</testcase>'
                       for name, status, inner in cases)
        with open(os.path.join(self.logs, group, "ctest.xml"), "w", encoding="utf-8") as file:
            file.write(f"<testsuite>{body}</testsuite>")

    def gtest(self, group, name, *cases):
        with open(os.path.join(self.logs, group, name + ".xml"), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name="Suite">' + "".join(cases) +
                       "</testsuite></testsuites>")

    def summary(self, group):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            results.summary(group, os.path.join(self.logs, group), "3")
        return said.getvalue().splitlines()

    def total(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = results.total(self.logs)
        self.failed = [line for line in said.getvalue().splitlines() if line.startswith("failed: ")]
        self.skipped = [line for line in said.getvalue().splitlines() if line.startswith("skipped: ")]
        return code, said.getvalue().splitlines()[-1]

    def test_a_gtest_binary_counts_as_its_cases(self):
        self.ctest("unit", ("a_test", "run", ""))
        self.gtest("unit", "a_test", PASSED, PASSED, SKIPPED, DISABLED)
        self.assertEqual(self.summary("unit"), ["unit          2 passed, 0 failed, 2 skipped, 3 s"])
        self.assertEqual(self.total(), (0, "2 passed, 0 failed, 2 skipped"))

    def test_what_was_skipped_is_named_with_its_reason(self):
        self.ctest("unit", ("a_test", "run", ""), ("format", "notrun",
                   '<skipped message="SKIP_RETURN_CODE=77"/><system-out>Trying.\n\nskipped: no  tool here\n</system-out>'),
                   ("etcd", "notrun",
                    '<skipped message="SKIP_RETURN_CODE=77"/><system-out>etcd 3.7 is skipped: no Go\nDone.</system-out>'),
                   ("alone", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/><system-out>each is alone</system-out>'),
                   ("mute", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/>'),
                   ("off", "disabled", '<skipped message="Disabled"/>'))
        self.gtest("unit", "a_test", PASSED, SKIPPED, SILENT, DISABLED)
        self.summary("unit")
        self.assertEqual(self.total(), (0, "1 passed, 0 failed, 8 skipped"))
        self.assertEqual(self.skipped, ["skipped: unit/a_test Suite.Skips: only root may",
                                        "skipped: unit/a_test Suite.SaysNothing: it does not say why",
                                        "skipped: unit/a_test Suite.DISABLED_Off: it is disabled",
                                        "skipped: unit/format: no tool here",
                                        "skipped: unit/etcd: etcd 3.7 is skipped: no Go",
                                        "skipped: unit/alone: each is alone",
                                        "skipped: unit/mute: it does not say why",
                                        "skipped: unit/off: it is disabled"])

    def test_a_failure_is_shown_with_its_output(self):
        self.ctest("unit", ("a_test", "fail", "<failure/><system-out>1 is not 2</system-out>"))
        self.gtest("unit", "a_test", PASSED, FAILED)
        said = self.summary("unit")
        self.assertIn("    1 is not 2", said)
        self.assertEqual(said[-1], "unit          1 passed, 1 failed, 0 skipped, 3 s")
        self.assertEqual(self.total(), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.failed, ["failed: unit/a_test Suite.Fails"])

    def test_a_crash_is_a_failure_with_and_without_a_report(self):
        self.ctest("unit", ("a_test", "fail", "<failure/>"), ("b_test", "fail", "<failure/>"))
        self.gtest("unit", "b_test", PASSED)
        self.assertEqual(self.summary("unit")[-1], "unit          1 passed, 2 failed, 0 skipped, 3 s")

    def test_other_tests_count_one_each(self):
        self.ctest("e2e", ("good", "run", ""),
                   ("skips", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/>'),
                   ("off", "disabled", '<skipped message="Disabled"/>'),
                   ("missing", "notrun", '<skipped message="Unable to find executable"/>'))
        self.assertEqual(self.summary("e2e")[-1], "e2e           1 passed, 1 failed, 2 skipped, 3 s")

    def test_groups_that_ran_together_have_a_line_each(self):
        self.ctest("waiting", ("a_test", "run", ""), ("page", "run", ""), ("b_test", "fail", "<failure/>"))
        self.gtest("waiting", "a_test", PASSED, PASSED)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), unittest.mock.patch.object(results, "listed_tests", lambda folder: [
                {"name": name, "properties": [{"name": "LABELS", "value": [label]}]}
                for name, label in (("a_test", "e2e"), ("b_test", "e2e"), ("page", "page"))]):
            results.summaries("build", os.path.join(self.logs, "waiting"))
        self.assertEqual([line for line in said.getvalue().splitlines() if not line.startswith("---")],
                         ["page          1 passed, 0 failed, 0 skipped, 1 s",
                          "e2e           2 passed, 1 failed, 0 skipped, 2 s"])
        self.assertEqual(self.total(), (1, "3 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.failed, ["failed: waiting/b_test"])

    def test_a_ctest_that_reports_nothing_is_a_failure(self):
        os.makedirs(os.path.join(self.logs, "unit"))
        self.assertEqual(self.summary("unit")[-1], "unit          0 passed, 1 failed, 0 skipped, 3 s")
        self.assertEqual((self.total()[0], self.failed), (1, ["failed: unit/unit"]))

    def test_a_check_that_is_no_ctest_counts_as_one(self):
        said = io.StringIO()
        for group, *rest in (("good", "0"), ("lines", "1"), ("asan", "77", "no clang++ here")):
            os.makedirs(os.path.join(self.logs, group))
            with contextlib.redirect_stdout(said):
                results.check(group, os.path.join(self.logs, group), "3", *rest)
        self.assertEqual(said.getvalue().splitlines(), ["good          1 passed, 0 failed, 0 skipped, 3 s",
                                                        "lines         0 passed, 1 failed, 0 skipped, 3 s",
                                                        "asan          0 passed, 0 failed, 1 skipped, 3 s"])
        self.assertEqual(self.total(), (1, "1 passed, 1 failed, 1 skipped"))
        self.assertEqual((self.failed, self.skipped), (["failed: lines/lines"], ["skipped: asan/asan: no clang++ here"]))

    def beside(self, text, runs):
        said, logs = io.StringIO(), os.path.join(self.logs, "beside")
        os.makedirs(logs)
        log = os.path.join(logs, "log")
        with open(log, "w", encoding="utf-8") as file:
            file.write(text)
        with contextlib.redirect_stdout(said):
            results.beside(log, logs, runs)
        return said.getvalue().splitlines()

    def test_runs_beside_this_one_are_counted_by_their_sums(self):
        said = self.beside("asan-unit     3 passed, 1 failed, 0 skipped, 5 s\nfailed: asan-unit/b_test\n3 passed, 1 failed, 0 skipped\n"
                           "skipped: tsan/a_test Suite.Skips: only root\n2 passed, 0 failed, 1 skipped\n", "2")
        self.assertEqual(said, ["asan-unit     3 passed, 1 failed, 0 skipped, 5 s"])
        self.assertEqual(self.total(), (1, "5 passed, 1 failed, 1 skipped"))
        self.assertEqual((self.failed, self.skipped),
                         (["failed: asan-unit/b_test"], ["skipped: tsan/a_test Suite.Skips: only root"]))

    def test_a_run_beside_this_one_without_a_sum_is_a_failure(self):
        said = self.beside("3 passed, 0 failed, 0 skipped\nkilled\n", "2")
        self.assertEqual(said[0], "killed")
        self.assertIn("of 2 runs beside this one 1 came to an end", said[1])
        self.assertEqual(self.total(), (1, "3 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.failed, ["failed: beside"])

    def test_a_group_that_is_wanted_and_not_there_is_told(self):
        with unittest.mock.patch.object(results, "listed_tests", lambda folder: [
                {"name": "a", "properties": [{"name": "LABELS", "value": ["unit"]}]}, {"name": "b"},
                {"name": "c", "properties": [{"name": "LABELS", "value": ["essential", "tidy"]}]}]):
            self.assertEqual(results.groups("build", []), ["tidy", "unit", "other"])
            self.assertEqual(results.groups("build", ["essential"]), ["tidy"])
            self.assertEqual(results.groups("build", ["unit"]), ["unit"])
            with self.assertRaises(SystemExit) as told:
                results.groups("build", ["unit", "contract"])
        self.assertEqual(str(told.exception), "no tests in build of: contract")

    def test_nothing_run_is_no_success(self):
        self.assertEqual(self.total(), (1, "0 passed, 0 failed, 0 skipped"))
        self.ctest("e2e", ("skips", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/>'))
        self.summary("e2e")
        self.assertEqual(self.total(), (1, "0 passed, 0 failed, 1 skipped"))


if __name__ == "__main__":
    unittest.main()
