#!/usr/bin/env python3
"""How npm's packages are installed: once, whole, and with one clear line where it can't be done. No registry is asked:
the packages lie beside the folder that needs them, or at a port of which nobody answers.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class NpmPackages(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.here = self.folder / "user"
        self.here.mkdir()

    def needs(self, **package):
        """Writes what `user` needs, as npm does."""
        name, = package
        project = {"name": "user", "version": "1.0.0", "dependencies": {name: package[name]["version"]}}
        lock = {"name": "user", "version": "1.0.0", "lockfileVersion": 3, "requires": True,
                "packages": {"": project, f"node_modules/{name}": package[name]}}
        (self.here / "package.json").write_text(json.dumps(project))
        (self.here / "package-lock.json").write_text(json.dumps(lock))

    def needs_one_of_a_file(self):
        """A package as an archive beside it."""
        made = self.folder / "one"
        made.mkdir()
        (made / "package.json").write_text('{"name": "one", "version": "1.0.0"}')
        subprocess.run(("npm", "pack", "--silent", "--pack-destination", self.folder), cwd=made, check=True,
                       capture_output=True)
        self.needs(one={"version": "file:../one-1.0.0.tgz", "resolved": "file:../one-1.0.0.tgz"})

    def start(self, **environment):
        script = 'source "$1/packages.sh" && baton_ensure_npm_packages "$2"'
        return subprocess.Popen(("bash", "-c", script, "bash", HERE, self.here), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**os.environ, "npm_config_cache": str(self.folder / "cache"),
                                     "npm_config_fetch_retries": "0", **environment})

    def install(self, **environment):
        process = self.start(**environment)
        output, _ = process.communicate()
        return process.returncode, output

    def test_installs_once(self):
        self.needs_one_of_a_file()
        self.assertEqual(self.install(), (0, f"baton: installing the npm packages of {self.here}\n"))
        self.assertTrue((self.here / "node_modules" / "one" / "package.json").exists())
        self.assertEqual(self.install(), (0, ""))

    def test_several_runs_at_once_install_once(self):
        self.needs_one_of_a_file()
        runs = [self.start() for _ in range(4)]
        outputs = [run.communicate()[0] for run in runs]
        self.assertEqual([run.returncode for run in runs], [0] * 4)
        self.assertEqual("".join(outputs), f"baton: installing the npm packages of {self.here}\n")

    def test_without_a_registry_the_last_line_says_what_could_not_be_done(self):
        self.needs(far={"version": "1.0.0", "resolved": "http://127.0.0.1:1/far-1.0.0.tgz"})
        code, output = self.install()
        self.assertEqual((code, output.splitlines()[-1]),
                         (1, f"baton: npm could not install the packages of {self.here}"))
        self.assertFalse((self.here / "node_modules" / ".installed-lock.json").exists())

    def test_an_old_node_is_named(self):
        self.needs_one_of_a_file()
        old = self.folder / "node"
        old.write_text("#!/bin/sh\necho v16.20.2\n")
        old.chmod(0o755)
        self.assertEqual(self.install(PATH=f"{self.folder}:{os.environ['PATH']}"),
                         (1, f"baton: {old} is Node.js v16.20.2; 18 or newer is needed\n"))


if __name__ == "__main__":
    if not shutil.which("npm"):
        print("skipped: no npm here; tests/run.sh installs it")
        sys.exit(77)
    unittest.main()
