"""The rules of the house that a program can check. Each is a function from the tree's root and its
files to findings, "path:line: what is wrong"; RULES names them all."""
import datetime
import os
import re
import subprocess

import shown_code
import source
from reference import quoted_lines, reference
from wording import comment_starts, wording

MAX_FILE_LINES, MAX_FUNCTION_LINES = 500, 70
TEST_FOLDERS = ("tests", "bench")
MAX_TEST_FILE_LINES, MAX_TEST_FUNCTION_LINES = 600, 100  # often lists

# Folders below src and what each may include besides itself, include/baton and libraries. A folder that
# is not named belongs to the one above it.
# include <- base <- {access, core, etcd, lab} <- runtime <- {routing, fencing, sidecar} <- http <- app
# The two sides of routing know only what they share; batond and batonctl likewise.
LAYERS = {"base": set()}
LAYERS["core"] = {"base"}
LAYERS["etcd"] = {"base"}
LAYERS["etcd/grpc"] = {"base", "etcd"}
LAYERS["access"] = {"base"}
LAYERS["lab"] = {"base"}
LAYERS["runtime"] = {"access", "base", "core", "etcd", "etcd/grpc"}
for beside in ("routing", "fencing", "sidecar"):
    LAYERS[beside] = LAYERS["runtime"] | {"runtime"}
for side in ("routing/client", "routing/server"):
    LAYERS[side] = LAYERS["routing"] | {"routing"}
LAYERS["http"] = LAYERS["routing/server"] | {"routing/server", "fencing", "sidecar"}
LAYERS["app/common"] = LAYERS["http"] | {"http"}
for program in ("app/daemon", "app/ctl"):
    LAYERS[program] = LAYERS["app/common"] | {"app/common"}
LAYERS["app/demo"] = LAYERS["app/ctl"] | {"app/ctl", "lab"}
LAYERS["app"] = LAYERS["app/demo"] | {"app/demo", "app/daemon"}  # the two mains

OPT_IN_HEADERS = ("baton/credentials.h", "baton/grpc.h", "baton/owner_guard.h", "baton/prometheus.h", "baton/router.h")
INCLUDE = re.compile(r'^\s*#include\s*([<"])([^>"]+)[>"]')

# Effects have no place in the core: threads, clocks, chance, files, libraries.
CORE_BANNED_HEADERS = {
    "atomic", "barrier", "condition_variable", "ctime", "filesystem", "fstream", "future", "iostream",
    "latch", "mutex", "random", "semaphore", "shared_mutex", "stop_token", "thread", "cstdio",
}
CORE_BANNED_CODE = re.compile(
    r"::now\s*\(|\bNow\s*\(|\bClock::Real\b|\b(?:s?rand|time|clock_gettime|getenv)\s*\("
    r"|\brandom_device\b|\b(?:float|double)\b|\bstd::(?:thread|jthread|mutex|atomic)\b")

# Spelled apart, so that this file passes its own rule.
LEFTOVERS = re.compile(r"\b(?:%s)\b" % "|".join(("TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK")))
SLEEPS = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\s*\(")
MACHINE_PATH = re.compile(r"(?<![\w./~$}*-])/(?:home|root|Users|work|workspace|mnt|media)/\w")

TOP_LEVEL = {
    "README.md", "CMakeLists.txt", "CMakePresets.json", "src", "include", "proto", "tests", "bench",
    "dashboards", "examples", "packaging", "LICENSE", "CHANGELOG.md", "SECURITY.md", ".ci", ".gitignore",
    ".clang-format", ".clang-tidy", ".git", "docs", "CONTRIBUTING.md",
}
NAMED_PATH = re.compile(
    r"`((?:src|include|proto|tests|bench|dashboards|examples|docs|packaging)/[\w./-]*\w)(?: [^`]*)?/?`")
NAMED_TEST = re.compile(r"`([A-Z]\w+\.(?:[A-Z]\w+|\*))`")
DEFINED_TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
TABLE_OF_FAULTS = "tests/support/cves.md"


def includes(file):
    """(line, is_quoted, path) of each include."""
    for number, line in file.code_lines_with_includes():
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def below(path, *folders):
    return path.startswith(tuple(folder + "/" for folder in folders))


def layer_of(path):
    """The innermost folder of LAYERS that holds a path below src; None for others."""
    folder = os.path.dirname(path)
    while folder and folder not in LAYERS:
        folder = os.path.dirname(folder)
    return folder or None


def layering(_, files):
    """Includes run one way."""
    for file in files:
        layer = layer_of(file.path.removeprefix("src/")) if below(file.path, "src") else None
        if not file.is_cpp or layer is None:
            continue
        for number, quoted, path in includes(file):
            if quoted and "/" not in path:
                yield f"{file.path}:{number}: name {path} from src/ or include/"
            elif quoted and layer_of(path) not in LAYERS[layer] | {layer, None}:
                yield f"{file.path}:{number}: src/{layer} must not include {path}"


def public_headers(_, files):
    """Public headers need the standard library and our own, but for those named after a library."""
    for file in files:
        if not below(file.path, "include") or file.path.endswith(OPT_IN_HEADERS):
            continue
        for number, quoted, path in includes(file):
            ours = path.startswith("baton/") and not path.endswith(".pb.h")
            standard = not quoted and re.fullmatch(r"[a-z_0-9]+", path)
            if not standard and (not ours or path in OPT_IN_HEADERS):
                yield f"{file.path}:{number}: a public header must not include {path}"


def pure_core(_, files):
    """No library, thread, clock, chance or floating point in src/core."""
    for file in files:
        if not file.is_cpp or not below(file.path, "src/core"):
            continue
        for number, quoted, path in includes(file):
            library = not quoted and not re.fullmatch(r"[a-z_0-9]+", path)
            if library or path in CORE_BANNED_HEADERS or path.endswith(".pb.h") \
                    or path in OPT_IN_HEADERS:
                yield f"{file.path}:{number}: the core must not include {path}"
        for number, line in file.code_lines():
            match = CORE_BANNED_CODE.search(line)
            if match:
                yield f"{file.path}:{number}: the core must not use {match.group().strip()}"


def file_length(_, files):
    """Files a reader can hold in mind."""
    for file in files:
        count = len(file.text.splitlines())
        most = MAX_TEST_FILE_LINES if below(file.path, *TEST_FOLDERS) else MAX_FILE_LINES
        if count > most and (file.is_cpp or file.path.endswith((".py", ".sh", ".proto"))):
            yield f"{file.path}:{count}: {count} lines, at most {most}"


CONTAINER = re.compile(r"^(?:template\s*<.*>\s*)?(?:inline\s+)?(?:typedef\s+)?"
                       r"(?:namespace|class|struct|union|enum|extern)\b", re.DOTALL)


def without_preprocessor(text):
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.MULTILINE)


# A constructor's `: member_{...}`: its brace opens no body, and the words go on after it.
MEMBER_INITIALISER = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:).*[\w>]$", re.DOTALL)


def functions(text):
    """(first line, last line) of each outermost function body. By braces: a brace whose words since
    the last statement hold parentheses, and don't start a type or namespace, opens a body."""
    stack, words, line = [], "", 1
    for symbol in without_preprocessor(source.strip(text)):
        line += symbol == "\n"
        if symbol == "{":
            head, inside = words.strip(), any(kind == "body" for kind, _, _ in stack)
            if MEMBER_INITIALISER.search(head):
                stack.append(("initialiser", line, head + "()"))
            elif not inside and "(" in head and not CONTAINER.match(head):
                stack.append(("body", line, ""))
            else:
                stack.append(("other", line, ""))
            words = ""
        elif symbol == "}":
            kind, first, words = stack.pop() if stack else ("other", line, "")
            if kind == "body":
                yield first, line
        else:
            words = "" if symbol == ";" else words + symbol


def function_length(_, files):
    """Functions that fit on a screen or two."""
    for file in files:
        if not file.is_cpp:
            continue
        most = MAX_TEST_FUNCTION_LINES if below(file.path, *TEST_FOLDERS) else MAX_FUNCTION_LINES
        for first, last in functions(file.text):
            if last - first + 1 > most:
                yield f"{file.path}:{first}: a function of {last - first + 1} lines, at most {most}"


def one_source(_, files):
    """Each source has the header of its name beside it, or is the source of a public one; programs have none."""
    paths = {file.path for file in files}
    for file in files:
        if not file.path.endswith(".cc") or not below(file.path, "src") or "int main(" in file.text:
            continue
        header = file.path.removesuffix(".cc") + ".h"
        if header not in paths and "include/baton/" + os.path.basename(header) not in paths:
            yield f"{file.path}:1: there is no {header}: a source defines what the header of its name declares"


def leftovers(_, files):
    """Nothing is left for later."""
    for file in files:
        for number, line in file.lines():
            match = LEFTOVERS.search(line)
            if match:
                yield f"{file.path}:{number}: {match.group()} left behind"


def no_sleeps(_, files):
    """Code waits for conditions, not for time to pass."""
    for file in files:
        if not file.is_cpp or not below(file.path, "src", "tests", "include"):
            continue
        for number, line in file.code_lines():
            match = SLEEPS.search(line)
            if match:
                yield f"{file.path}:{number}: {match.group().rstrip(' (')} is not allowed here"


def machine_paths(_, files):
    """Nothing names a place that exists on one machine only."""
    for file in files:
        for number, line in file.lines():
            match = MACHINE_PATH.search(line)
            if match and file.path != "tests/tidy/rules_test.py":
                yield f"{file.path}:{number}: the path {match.group()}... exists on one machine only"


def scripts(_, files):
    """Scripts can be run as they are, and shells can read them."""
    for file in files:
        if file.is_script and not os.access(file.absolute, os.X_OK):
            yield f"{file.path}:1: not executable"
        if file.is_script and re.match(r"#!.*\b(ba)?sh\b", file.text):
            answer = subprocess.run(["bash", "-n", file.absolute], capture_output=True, text=True,
                                    check=False)
            if answer.returncode != 0:
                yield f"{file.path}:1: {answer.stderr.strip()}"


def is_guide(file):
    """Whether it is one of docs/*.md, which are written for users and operators."""
    return below(file.path, "docs") and file.path.endswith(".md")


def documents(root, files):
    """Files that the documents point to exist."""
    for file in files:
        if not file.path.endswith(".md"):
            continue
        folder = os.path.dirname(file.path)
        for number, line in file.lines():
            named = [(path, path) for path in NAMED_PATH.findall(line)]
            linked = [(path, os.path.join(folder, path)) for path in LINK.findall(line)]
            for shown, path in named + linked:
                if not os.path.exists(os.path.join(root, path)):
                    yield f"{file.path}:{number}: {shown} does not exist"


LINK_TO_HEADING = re.compile(r"\]\(([^)#\s:]*)#([^)\s]+)\)")


def headings(text):
    """The names by which links reach a document's headings."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", line.lower()) for line in re.findall(r"^#+ +(.*)$", prose, re.MULTILINE))
    return {line.strip().replace(" ", "-") for line in words}


def links_to_headings(_, files):
    """Links between documents reach a heading that is there."""
    texts = {file.path: file.text for file in files if file.path.endswith(".md")}
    for file in files:
        if file.path not in texts:
            continue
        for number, line in file.lines():
            for path, heading in LINK_TO_HEADING.findall(line):
                target = os.path.normpath(os.path.join(os.path.dirname(file.path), path)) if path else file.path
                if target in texts and heading not in headings(texts[target]):
                    yield f"{file.path}:{number}: {target} has no heading #{heading}"


def named_tests(_, files):
    """Tests that the documents for users name by `Suite.Test` or `Suite.*` exist."""
    defined = [match for file in files if file.is_cpp and below(file.path, "tests")
               for match in DEFINED_TEST.findall(file.text)]
    there = {".".join(match) for match in defined} | {match[0] + ".*" for match in defined}
    for file in files:
        if file.path in ("README.md", "SECURITY.md", "CONTRIBUTING.md", TABLE_OF_FAULTS) or is_guide(file):
            for number, line in file.lines():
                for name in NAMED_TEST.findall(line):
                    if name not in there:
                        yield f"{file.path}:{number}: there is no test {name}"


def code_shown(root, files):
    """The README shows its code from files that are built and run, as they are; so do documents that
    name the file before the code."""
    for file in files:
        if file.path != "README.md" and not is_guide(file):
            continue
        for number, why in shown_code.differences(root, file.text):
            yield f"{file.path}:{number}: {why}"
        if file.path == "README.md":
            for number in shown_code.blocks_without_file(file.text):
                yield f"{file.path}:{number}: say which file this code is from (see shown_code.py)"


# Documents that a newcomer reads first stay short: README.md in five minutes, the architecture in one sitting.
MAX_DOCUMENT_LINES = {"README.md": 200, "src/ARCHITECTURE.md": 150}


def document_length(_, files):
    """The first documents of a reader stay short."""
    for file in files:
        count, most = len(file.text.splitlines()), MAX_DOCUMENT_LINES.get(file.path)
        if most is not None and count > most:
            yield f"{file.path}:{count}: {count} lines, at most {most}"


def top_level(root, _):
    """The root holds what a newcomer expects, and nothing else."""
    for name in source.top_level_names(root):
        if name not in TOP_LEVEL and not source.SKIPPED.match(name) \
                and not source.is_build_folder(os.path.join(root, name)):
            yield f"{name}:1: does not belong at the top level"


TWO_COMMANDS = re.compile(r"^```sh\n(examples/quickstart\.sh\b.*?)^```$", re.MULTILINE | re.DOTALL)
OWN_SCRIPT = re.compile(r"\b(?:examples|tests)/[\w.]+\.sh\b")


def own_scripts(text):
    """The scripts of ours that a shell text runs, in order; comments and messages name none."""
    lines = (re.sub(r"(?:^|\s)#.*|\becho\b.*", "", line) for line in text.splitlines())
    return [name for line in lines for name in OWN_SCRIPT.findall(line)]


def readme_commands(root, _):
    """Continuous integration runs the two commands that README shows, in README's order."""
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        block = TWO_COMMANDS.search(file.read())
    with open(os.path.join(root, ".ci", "run"), encoding="utf-8") as file:
        run = own_scripts(file.read())
    shown = own_scripts(block.group(1)) if block else []
    if len(shown) != 2:
        yield "README.md:1: no sh block shows examples/quickstart.sh and one command after it"
    elif run != shown:
        yield f".ci/run:1: runs {' '.join(run) or 'nothing'}, but README shows {' '.join(shown)}"


BUILDS_SERVER = re.compile(r"\bgrpc::ServerBuilder\s+\w+\s*[;{(]")
MAKES_CHANNEL = re.compile(r"\bCreate(?:Custom)?Channel\s*\(")


def grpc_limits(_, files):
    """Whoever builds a gRPC server or a channel sets its limits (src/base/grpc), or says there why not."""
    for file in files:
        if not file.is_cpp or not below(file.path, "src", "examples"):
            continue
        limited = "LimitServer" in file.text or "SetServerLimits" in file.text
        for number, line in file.code_lines():
            if BUILDS_SERVER.search(line) and not limited:
                yield f"{file.path}:{number}: builds a gRPC server without SetServerLimits or LimitServer"
            if MAKES_CHANNEL.search(line) and "LimitChannel" not in file.text:
                yield f"{file.path}:{number}: makes a gRPC channel without LimitChannel"


CVE = re.compile(r"\bCVE-\d{4}-\d{4,}\b")
TABLE_DATE = re.compile(r"^As of (\d{4}-\d{2}-\d{2})\b", re.MULTILINE)
TABLE_DAYS = 90


def table_date(text):
    match = TABLE_DATE.search(text)
    try:
        return datetime.date.fromisoformat(match.group(1)) if match else None
    except ValueError:
        return None


def rows_by_fault(lines):
    """The (section, line) of each fault that a row of the table names."""
    section, found = "", {}
    for number, line in lines:
        if line.startswith("## "):
            section = line[3:].strip()
        for fault in CVE.findall(line) if line.startswith("|") else ():
            found.setdefault(fault, (section, number))
    return found


def known_faults(_, files, today=None):
    """The table of known faults has a date, all that SECURITY.md names, and of gRPC's nothing that it doesn't. Prints a
    line if the date is old: time alone makes nothing fail."""
    by_path = {file.path: file for file in files}
    table, page = by_path.get(TABLE_OF_FAULTS), by_path.get("SECURITY.md")
    if table is None or page is None:
        yield f"{TABLE_OF_FAULTS}:1: it and SECURITY.md belong together, and one is not there"
        return
    date = table_date(table.text)
    if date is None:
        yield f"{TABLE_OF_FAULTS}:1: no date; expected a line that begins with 'As of YYYY-MM-DD'"
    elif (days := ((today or datetime.date.today()) - date).days) > TABLE_DAYS:
        print(f"{TABLE_OF_FAULTS}: looked at {days} days ago, on {date}; look again")
    rows, named = rows_by_fault(table.lines()), set()
    if "gRPC" not in {section for section, _ in rows.values()}:
        yield f"{TABLE_OF_FAULTS}:1: no fault in a section gRPC"
    for number, line in page.lines():
        for fault in CVE.findall(line):
            named.add(fault)
            if fault not in rows:
                yield f"SECURITY.md:{number}: {TABLE_OF_FAULTS} has no row for {fault}"
    for fault, (section, number) in rows.items():
        if section == "gRPC" and fault not in named:
            yield f"{TABLE_OF_FAULTS}:{number}: SECURITY.md does not name {fault}"


RULES = [layering, public_headers, pure_core, file_length, function_length, one_source, leftovers, no_sleeps,
         machine_paths, scripts, documents, links_to_headings, named_tests, code_shown, document_length, reference,
         quoted_lines, top_level, readme_commands, wording, comment_starts,
         grpc_limits, known_faults]
