"""The unit of docs/operating.md with the hardening of docs/security.md, as systemd judges it without running it.

unit_test.py ROOT. systemd's exposure goes from 0 to 10; the documents promise 1.9. It exits with 77, which is skipped, if
this machine has no systemd-analyze that can do that.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

MOST = 20  # tenths
SKIPPED = 77


def block(document, begins):
    """The code block whose first line is `begins`."""
    found = re.search(r"```ini\n(" + re.escape(begins) + r"\n.*?)```", document, re.DOTALL)
    if found is None:
        sys.exit(f"no block begins with {begins}")
    return found.group(1)


def main(root):
    docs = pathlib.Path(root) / "docs"
    unit = block((docs / "operating.md").read_text(), "[Unit]")
    hardening = block((docs / "security.md").read_text(), "StateDirectoryMode=0700")
    marker = '# the lines of docs/security.md, "Hardening"\n'
    if marker not in unit:
        sys.exit("the unit does not say where the hardening belongs")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "baton.service"
        path.write_text(unit.replace(marker, hardening))
        try:
            judged = subprocess.run(
                ["systemd-analyze", "security", "--no-pager", "--offline=yes", f"--threshold={MOST}", str(path)],
                capture_output=True, text=True)
        except FileNotFoundError:
            return SKIPPED
    said = judged.stdout + judged.stderr
    if "unrecognized option" in said:
        return SKIPPED
    # A name that systemd does not know is a line of no effect.
    unknown = [line for line in said.splitlines() if "Unknown key" in line or "Failed to parse" in line]
    if judged.returncode != 0 or unknown or "Overall exposure level" not in said:
        print(said)
        return 1
    print(next(line for line in said.splitlines() if "Overall exposure level" in line))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
