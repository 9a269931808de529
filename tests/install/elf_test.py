"""Checks what the compiler and the linker wrote into programs and libraries.

elf_test.py [--hardened] FOLDER...: every program and shared library directly in these folders.

They look for libraries in named folders alone: an empty or relative element of RUNPATH is a folder relative to the
current one, and who can write there runs code as everybody who starts the program there. With --hardened, they also
are position independent, guard their stacks, call glibc's checked functions, resolve all symbols at the start, write to
no code and run no data.
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


def lacks(path, shown):
    """The hardening that is not in the file, as `readelf -hdlW --dyn-syms` shows it."""
    lacking = []
    for name, pattern in (("position independence", r"Type:\s+DYN"), ("full RELRO", r"GNU_RELRO"),
                          ("full RELRO (no BIND_NOW)", r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW")):
        if not re.search(pattern, shown):
            lacking.append(name)
    if re.search(r"GNU_STACK.*RWE", shown):
        lacking.append("a stack without code")
    # A small example may have no array to guard and no copy to check.
    if path.name.startswith("baton") or ".so" in path.name:
        if "__stack_chk_fail" not in shown:
            lacking.append("stack protector")
    if path.name.startswith("baton") and not re.search(r"__\w+_chk\b(?<!__stack_chk)", shown):
        lacking.append("checked functions (_FORTIFY_SOURCE)")
    return lacking


def protos_held_twice(libraries):
    """Protos that several shared libraries of ours hold: a program that loads two of these ends at its start."""
    holders = {}
    for library in libraries:
        for name in set(re.findall(rb"\n[\x01-\x7f]((?:etcd|baton/v1)/\w+\.proto)", library.read_bytes())):
            holders.setdefault(name.decode(), []).append(library.name)
    return {name: found for name, found in holders.items() if len(found) > 1}


def test_of_this_test():
    shown = " 0x1d (RUNPATH)  Library runpath: [%s]\n"
    assert loose_elements(shown % "$ORIGIN:/usr/lib") == []
    assert loose_elements(shown % "/usr/lib:") == [""]
    assert loose_elements(shown % ":::") == ["", "", "", ""]
    assert loose_elements(shown.replace("runpath", "rpath") % "lib:$ORIGIN/../lib") == ["lib"]


def main(arguments):
    test_of_this_test()
    hardened = "--hardened" in arguments
    folders = [argument for argument in arguments if not argument.startswith("--")]
    files = [path for folder in folders for path in sorted(pathlib.Path(folder).iterdir()) if is_elf(path)]
    bad = 0
    for path in files:
        shown = subprocess.run(["readelf", "-hdlW", "--dyn-syms", str(path)], check=True, capture_output=True,
                               text=True).stdout
        faults = [f"RUNPATH has the loose element '{element}'" for element in loose_elements(shown)]
        if hardened:
            faults += [f"lacks {lacking}" for lacking in lacks(path, shown)]
        bad += 1 if faults else 0
        for fault in faults:
            print(f"{path}: {fault}")
    for name, found in sorted(protos_held_twice([path for path in files if path.name.startswith("libbaton")]).items()):
        bad += 1
        print(f"{name} is in {', '.join(found)}")
    print(f"{len(files)} programs and libraries, {bad} of them bad")
    return 1 if bad or not files else 0


sys.exit(main(sys.argv[1:]))
