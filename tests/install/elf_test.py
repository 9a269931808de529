"""Programs and libraries look for libraries in named folders alone, never where the user happens to stand.

elf_test.py FOLDER...: every program and shared library directly in these folders.

An empty or relative element of RUNPATH is a folder relative to the current one: who can write there
runs code as everybody who starts the program there.
"""
import pathlib
import re
import subprocess
import sys


def is_elf(path):
    if not path.is_file() or path.is_symlink() or path.suffix in (".a", ".o"):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def loose_elements(dynamic):
    """The elements of RUNPATH and RPATH that depend on the current folder, as readelf -d prints them."""
    loose = []
    for path in re.findall(r"Library r(?:un)?path: \[(.*)\]", dynamic):
        loose += [element for element in path.split(":") if not element.startswith(("/", "$ORIGIN"))]
    return loose


def test_of_this_test():
    shown = " 0x1d (RUNPATH)  Library runpath: [%s]\n"
    assert loose_elements(shown % "$ORIGIN:/usr/lib") == []
    assert loose_elements(shown % "/usr/lib:") == [""]
    assert loose_elements(shown % ":::") == ["", "", "", ""]
    assert loose_elements(shown.replace("runpath", "rpath") % "lib:$ORIGIN/../lib") == ["lib"]


def main(folders):
    test_of_this_test()
    files = [path for folder in folders for path in sorted(pathlib.Path(folder).iterdir()) if is_elf(path)]
    bad = 0
    for path in files:
        dynamic = subprocess.run(["readelf", "-dW", str(path)], check=True, capture_output=True, text=True).stdout
        loose = loose_elements(dynamic)
        if loose:
            bad += 1
            print(f"{path}: RUNPATH has empty or relative elements: {loose}")
    print(f"{len(files)} programs and libraries, {bad} of them bad")
    return 1 if bad or not files else 0


sys.exit(main(sys.argv[1:]))
