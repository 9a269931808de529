"""Rules for the documents that repeat what the sources declare: docs/reference.md has a row for each
name that the sources declare, and for nothing else; each line that docs/troubleshooting.md quotes is
printed by the sources. What only the built programs know, tests/app/reference_test.cc compares."""
import re

REFERENCE = "docs/reference.md"
TROUBLESHOOTING = "docs/troubleshooting.md"

CODE = re.compile(r"`([^`]+)`")
# Adjacent string literals are one string, as the compiler sees them.
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
LITERALS = re.compile(LITERAL.pattern + r'(?:\s*"(?:\\.|[^"\\\n])*")*')
# A metric's name and its help.
METRIC_HELP = re.compile(r'"(?:baton|grpc_server|process)_[a-z_]+"\s*,\s*' + LITERALS.pattern)
# In a quoted line: what stands for any text.
PLACEHOLDER = re.compile(r"\.\.\.|'[^']*'|\b\d+\b")


def rows(text, heading):
    """(line, first cell) of each table row below the heading, up to the next heading of its level."""
    level, inside, table = heading.split()[0], False, False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            words = line.split()
            if len(words[0]) <= len(level):
                inside = line.strip() == heading
            table = False
        elif not line.startswith("|"):
            table = False
        elif inside and re.match(r"\|\s*-", line):
            table = True  # the row before was the head
        elif inside and table:
            yield number, line.split("|")[1]


def named(text, heading, pattern):
    """Name -> line of what the first cells below the heading name in backticks."""
    found = {}
    for number, cell in rows(text, heading):
        for code in CODE.findall(cell):
            match = re.match(pattern, code)
            if match:
                found.setdefault(match.group(1), number)
    return found


def text_of(files, path):
    return next((file.text for file in files if file.path == path), "")


def find(files, path, pattern):
    return set(re.findall(pattern, text_of(files, path)))


def metrics(files):
    """Names of metrics stand as whole literals below src, and nothing else is spelled like one."""
    found = set()
    for file in files:
        if file.is_cpp and file.path.startswith("src/") and file.path != "src/base/types.cc":
            found |= set(re.findall(r'"((?:baton|grpc_server|process)_[a-z_]+)"', file.text))
    return found


def http_paths(files):
    declared = re.search(r"kPaths =\s*((?:\"[^\"]*\"\s*)+);", text_of(files, "src/http/handler.cc"))
    if declared is None:
        return set()
    words = "".join(LITERAL.findall(declared.group(1))).split()
    return {word.split("?")[0] for word in words}


def words_of(files, enum):
    return find(files, "src/base/types.cc", rf'case {enum}::\w+: return "([a-z_-]+)"')


def exit_codes(files):
    declared = re.search(r"enum class ExitCode[^{]*\{(.*?)\};", text_of(files, "src/app/ctl/ctl.h"), re.DOTALL)
    return set(re.findall(r"= (\d+),", declared.group(1))) if declared else set()


def json_fields(files):
    found = set()
    for path in ("src/http/status_json.cc", "src/http/history_json.cc", "src/http/cause_json.cc"):
        found |= find(files, path, r'(?:\{|\[|add\()"([a-z_]+)"[,\]]')
        found |= find(files, path, r'\\"([a-z_]+)\\":')
    return found


# Heading in the reference, the name in a cell, and what declares the names.
TABLES = (
    ("## Metrics", r"((?:baton|grpc|process)_\w+)", metrics),
    ("## HTTP", r"(/[^?\s\[]*)", http_paths),
    ("## Reasons", r"(\w+)$", lambda files: words_of(files, "Reason")),
    ("## States of a shard", r"(\w+)$", lambda files: words_of(files, "ShardState")),
    ("## Exit codes of batonctl", r"(\d+)$", exit_codes),
    ("## JSON", r"(\w+)$", json_fields),
)


def reference(_, files):
    """docs/reference.md lists exactly what the sources declare."""
    text = text_of(files, REFERENCE)
    for heading, pattern, declared_in in TABLES:
        declared, listed = declared_in(files), named(text, heading, pattern)
        if not declared:
            yield f"{REFERENCE}:1: nothing is declared for '{heading}': is reference.py out of date?"
        for name in sorted(declared - set(listed)):
            yield f"{REFERENCE}:1: '{heading}' has no row for {name}"
        for name in sorted(set(listed) - declared):
            yield f"{REFERENCE}:{listed[name]}: {name} is declared nowhere"


def printed(files):
    """All strings of src, adjacent literals joined, one a line; without the help of metrics and flags."""
    strings = []
    for file in files:
        if file.is_cpp and file.path.startswith("src/") and file.path != "src/app/common/flag_table.cc":
            code = METRIC_HELP.sub("", re.sub(r"//[^\n]*\n", "\n", file.text))
            for match in LITERALS.finditer(code):
                strings.append("".join(LITERAL.findall(match.group())).replace('\\"', '"'))
    return "\n".join(strings)


def quoted_lines(_, files):
    """The lines that docs/troubleshooting.md quotes are printed by the sources. Of a quoted line
    `...`, numbers and names in quotes stand for any text; what is left must be in a string."""
    text, strings = text_of(files, TROUBLESHOOTING), printed(files)
    for number, cell in rows(text, "## By line"):
        for quoted in CODE.findall(cell):
            parts = [part.strip() for part in PLACEHOLDER.split(quoted)]
            parts = [part for part in parts if len(part) > 3]
            if not any(len(part) > 7 for part in parts):
                yield f"{TROUBLESHOOTING}:{number}: `{quoted}` is too short to be looked for"
            for part in parts:
                if part not in strings:
                    yield f"{TROUBLESHOOTING}:{number}: no source prints: {part}"
