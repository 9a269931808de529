"""Nobody runs code by putting a library where somebody starts our programs.

poisoned_test.py COMPILER PROGRAM...: starts each program in a folder that has a library of the name of each one that
the program needs. Their constructor writes a file. Exits with 77, which is skipped, without a compiler.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

POISON = """
#include <cstdio>
__attribute__((constructor)) static void Write() {
  if (std::FILE* const file = std::fopen("poisoned", "w")) std::fclose(file);
}
"""
# The compiler's own: a library of ours needs them, too.
OWN = re.compile(r"ld-linux|lib(?:c|m|gcc_s|stdc\+\+)\.so")


def needed(program):
    shown = subprocess.run(["readelf", "-dW", program], check=True, capture_output=True, text=True).stdout
    return [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", shown) if not OWN.match(name)]


def starts(program, folder, **variables):
    """Whether the program shows its help in this folder, and no library there ran."""
    written = folder / "poisoned"
    written.unlink(missing_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    ran = subprocess.run([program, "--help"], cwd=folder, env={**environment, **variables}, capture_output=True,
                         text=True, check=False)
    return ran.returncode == 0 and "--help" in ran.stdout and not written.exists()


def main(compiler, programs):
    if shutil.which(compiler) is None:
        print(f"skipped: no compiler {compiler}")
        return 77
    bad = 0
    with tempfile.TemporaryDirectory(prefix="baton-poisoned-") as name:
        made = pathlib.Path(name) / "poison.so"
        (pathlib.Path(name) / "poison.cc").write_text(POISON)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", made, pathlib.Path(name) / "poison.cc"], check=True)
        for program in programs:
            folder = pathlib.Path(name) / pathlib.Path(program).name
            folder.mkdir()
            libraries = needed(program)
            for library in libraries:
                shutil.copy(made, folder / library)
            faults = [] if libraries else ["it needs none"]
            if not starts(program, folder):
                faults.append("it does not start beside them, or runs them")
            if starts(program, folder, LD_LIBRARY_PATH=str(folder)):
                faults.append("they do nothing even if it is told to take them")
            bad += len(faults)
            print(f"{program}: {len(libraries)} poisoned libraries:", "; ".join(faults) or "not loaded")
    return 1 if bad else 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
