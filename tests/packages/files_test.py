"""The files that the packages get from packaging/, held against the programs, without building a package.

files_test.py ROOT BATOND...: batond, batonctl and baton-guard, of one folder.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
BIN = pathlib.Path(sys.argv[2]).resolve().parent
PACKAGING = ROOT / "packaging"
# Exposure as systemd counts it, from 0 to 10, in tenths.
MOST_EXPOSURE = 20


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)


def flags_of(program, *verbs):
    """Each --flag of the rows of --help."""
    shown = run(BIN / program, *verbs, "--help").stdout
    return set(re.findall(r"^  (?:-\w,)?(--[a-z][a-z-]*)", shown, re.MULTILINE))


def verbs_of(*path):
    shown = run(BIN / "batonctl", *path, "--help").stdout
    rows = re.search(r"^Subcommands:\n((?:  .*\n)+)", shown, re.MULTILINE)
    names = re.findall(r"^  ([a-z][a-z-]*)", rows.group(1), re.MULTILINE) if rows else []
    for name in names:
        yield (*path, name)
        yield from verbs_of(*path, name)


def commands_of(unit):
    return re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)


class GeneratedTest(unittest.TestCase):
    """Man pages and completions, as the build of the packages makes them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        made = run(PACKAGING / "generate-docs", BIN, cls.folder, env={**os.environ, "SOURCE_DATE_EPOCH": "1800000000"})
        assert made.returncode == 0, made.stderr

    def page(self, name):
        return (self.folder / name).read_text().replace("\\-", "-")

    def test_every_flag_and_verb_has_its_place_in_the_man_pages(self):
        for program, page in (("batond", "batond.8"), ("baton-guard", "baton-guard.8"), ("batonctl", "batonctl.1")):
            text = self.page(page)
            flags = flags_of(program)
            self.assertGreater(len(flags), 5, program)
            for flag in flags:
                self.assertRegex(text, r"(?m)^\.B (?:-\w,)?" + re.escape(flag) + r"\b", page)
        text = self.page("batonctl.1")
        verbs = list(verbs_of())
        self.assertGreater(len(verbs), 20)
        for verb in verbs:
            part = text.partition(f'\n.SS "{" ".join(verb)}"\n')[2].partition("\n.SS ")[0]
            for flag in flags_of("batonctl", *verb) - {"--help"}:
                self.assertIn(f".B {flag}", part.replace("-f,", ""), verb)

    def test_man_pages_say_the_version_and_the_day_that_the_package_gives(self):
        version = run(BIN / "batond", "--version").stdout.split()[1]
        for page in self.folder.glob("*.[18]"):
            self.assertIn(f'2027-01-15 "Baton {version}"', page.read_text().splitlines()[0])

    def test_bash_reads_the_completions_and_completes_flags(self):
        for program in ("batond", "baton-guard", "batonctl"):
            script = self.folder / "bash" / program
            asked = run("bash", "-c", f'. {script}; COMP_WORDS=({program} --etc) COMP_CWORD=1; '
                        f'_{program.replace("-", "_")}; echo "${{COMPREPLY[@]}}"')
            self.assertEqual(asked.stderr, "")
            wanted = {flag for flag in flags_of(program) if flag.startswith("--etc")}
            self.assertEqual(set(asked.stdout.split()), wanted, program)

    def test_zsh_and_fish_read_their_completions(self):
        # Each of them only if it is installed.
        for shell, script in (("zsh", "zsh/_batonctl"), ("fish", "fish/batonctl.fish")):
            self.assertGreater((self.folder / script).stat().st_size, 100, script)
            if shutil.which(shell) is None:
                continue
            read = run(shell, "-n" if shell == "zsh" else "--no-execute", self.folder / script)
            self.assertEqual((read.returncode, read.stdout + read.stderr), (0, ""), script)

    def test_troff_has_no_complaint(self):
        if shutil.which("groff") is None:
            self.skipTest("no groff")
        for page in self.folder.glob("*.[18]"):
            drawn = run("groff", "-man", "-Tutf8", "-ww", "-Kutf8", page, env={**os.environ, "MANWIDTH": "100"})
            self.assertEqual(drawn.stderr, "", page.name)


class ExampleTest(unittest.TestCase):
    """The example of a configuration. batond reads it; a flag of ours that is wrong keeps it from starting."""

    def complaints(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "orders.yaml"
            path.write_text(text)
            said = run(BIN / "batond", "--config", path, "--group", "orders", "--state-dir", folder, "--weight", "none",
                       env={"PATH": os.environ["PATH"], "HOME": folder})
            self.assertEqual(said.returncode, 2)
            return [line for line in said.stderr.splitlines() if "--weight" not in line]

    def test_batond_takes_it_as_it_is(self):
        self.assertEqual(self.complaints((PACKAGING / "example.yaml").read_text()), [])

    def test_a_mistake_in_it_would_be_found(self):
        self.assertEqual(len(self.complaints("shards: 1024\nshard: 7\n")), 1)

    def test_what_it_has_in_comments_can_be_taken_too(self):
        # Settings are commented out without a space; then only the files that they name are missing.
        text = (PACKAGING / "example.yaml").read_text()
        given = re.sub(r"(?m)^etcd: .*\n", "", re.sub(r"(?m)^#(?=[a-z-]+: )", "", text))
        self.assertGreater(given.count(": "), 15)
        for line in self.complaints(given):
            self.assertRegex(line, r"/etc/baton/[\w-]+\.(pem|key|yaml)")

    def test_the_guards_settings_are_known(self):
        text = (PACKAGING / "baton-guard.default").read_text()
        given = dict(re.findall(r'(?m)^#(BATON_[A-Z_]+)="?(.*?)"?$', text))
        for flag in re.findall(r"--[a-z-]+", given.pop("BATON_GUARD_OPTIONS")):
            self.assertIn(flag, flags_of("baton-guard"))
        shown = run(BIN / "baton-guard", "--help").stdout
        for name in given:
            self.assertIn(f"Env:{name})", shown)


class UnitTest(unittest.TestCase):
    UNITS = sorted((PACKAGING / "systemd").glob("*.service"))

    def test_there_are_two(self):
        self.assertEqual([unit.name for unit in self.UNITS], ["baton-guard.service", "batond@.service"])

    def test_they_give_flags_that_there_are(self):
        for unit in self.UNITS:
            for command in commands_of(unit.read_text()):
                program = pathlib.Path(command.split()[0]).name
                self.assertLessEqual(set(re.findall(r"--[a-z-]+", command)), flags_of(program))

    def test_the_drop_in_of_the_docs_runs_the_units_own_command_with_a_program(self):
        page = (ROOT / "docs/deploying.md").read_text()
        drop_in, = re.findall(r"(?ms)^```ini\n(.*?)^```$", page)
        own, = commands_of((PACKAGING / "systemd/batond@.service").read_text())
        emptied, command = commands_of(drop_in)
        self.assertEqual(emptied, "")
        program, _, flags = own.partition(" ")
        self.assertTrue(command.startswith(f"{program} run {flags} -- /"), command)

    def test_systemd_finds_little_exposed_and_nothing_unknown(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze")
        for unit in self.UNITS:
            judged = run("systemd-analyze", "security", "--no-pager", "--offline=yes",
                         f"--threshold={MOST_EXPOSURE - 1}", unit)
            said = judged.stdout + judged.stderr
            if "unrecognized option" in said:
                self.skipTest("this systemd-analyze judges no files")
            self.assertEqual(judged.returncode, 0, said)
            self.assertNotRegex(said, "Unknown key|Failed to parse")
            print(unit.name, re.search(r"Overall exposure level.*", said).group())

    def test_the_proof_of_death_is_left_to_them(self):
        # ProcSubset=pid hides the boot id; PrivateUsers= hides callers; a process that dies at once leaves its work.
        for unit in self.UNITS:
            settings = dict(line.split("=", 1) for line in unit.read_text().splitlines() if re.match(r"\w+=", line))
            for hidden in ("ProcSubset", "PrivateUsers", "DynamicUser", "SendSIGKILL"):
                self.assertNotIn(hidden, settings, unit.name)
            self.assertIn(settings.get("KillMode", "control-group"), ("control-group",), unit.name)
            self.assertEqual(settings["Type"], "notify")
        node = (PACKAGING / "systemd" / "batond@.service").read_text()
        self.assertIn("AF_NETLINK", node)
        self.assertNotIn("ProtectClock=yes", node)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
