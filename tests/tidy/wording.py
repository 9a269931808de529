"""The rules for plain English: what comments, documents and messages must not say, how rarely "where", and with which
words comments don't start."""
import re

# Phrases that stand for something plainer. The right side is what the finding advises.
BANNED = {
    r"whoever|whomever": "name who it is",
    r"(?:is|are|was|were|be|been|being) told(?! to\b)": "say who tells whom",
    r"(?<!there )(?:is|are) none": "say what is missing",
    r"(?:is|are) off(?= \(|[.;:,]|$)": "say that it is not valid, not set, or out of range",
    r"of (?:before|then|old)": "earlier",
    r"anew": "again",
    r"but for": "except",
    r"for so long": "name the time",
    r"thought over": "checked again",
    r"where (?:there|nobody|nothing|none|one) (?:is|are|was|were|has|have|does|can|may|must)": "if, or when",
    r"where it (?:has|does|can|may|must)": "if, or when",
}
BANNED_RE = re.compile("|".join(rf"(?P<p{i}>(?<![\w-])(?:{pattern})(?![\w-]))"
                               for i, pattern in enumerate(BANNED)), re.IGNORECASE)

# The most "where" in 1,000 words: of the whole tree, and of one file. Texts below MIN_WORDS are too short to judge.
MAX_WHERE = 1.0
MAX_WHERE_IN_FILE = 4.0
MIN_WORDS = 500

SLASHES = re.compile(r"(?:^|\s)//+!?(.*)")
HASHES = re.compile(r"(?:^|\s)#+ (.*)")
COMMENTS = {(".h", ".cc", ".proto", ".js", ".mjs"): SLASHES,
            (".py", ".sh", ".cmake", ".txt", ".yaml", ".yml"): HASHES}
# Not written by hand: inputs and records of runs. And the lists of banned phrases themselves.
NOT_PROSE = re.compile(r"(?:^|/)(?:corpus|scenarios|RESULTS\.md|wording\.py|rules_test\.py)(?:/|$)|"
                       r"^tests/sim/mutants/.*\.patch|^LICENSE")
# Users read these of a program: its help, log lines and errors.
MESSAGES = re.compile(r"(?:src|examples)/.*\.(?:cc|h|py)")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def prose(file):
    """(line, words) of comments and messages, or of a document outside of its code blocks."""
    if NOT_PROSE.search(file.path) and not file.path.endswith((".cc", ".h")):
        return
    if file.path.endswith(".md"):
        fenced = False
        for number, line in file.lines():
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced:
                yield number, re.sub(r"`[^`]*`", " ", line)
        return
    marks = [mark for endings, mark in COMMENTS.items() if file.path.endswith(endings)]
    if file.is_script and not marks:
        marks = [HASHES]
    for number, line in file.lines() if marks else ():
        match = marks[0].search(line)
        if match:
            yield number, re.sub(r"`[^`]*`", " ", match.group(1))
        elif MESSAGES.fullmatch(file.path):
            yield number, re.sub(r"`[^`]*`", " ", " . ".join(LITERAL.findall(line)))


def wording(_, files):
    """Comments, documents and messages are plain English."""
    words = places = 0
    for file in files:
        here, there = 0, 0
        for number, text in prose(file):
            for match in BANNED_RE.finditer(text):
                advice = list(BANNED.values())[int(match.lastgroup[1:])]
                yield f"{file.path}:{number}: \"{match.group().strip()}\": {advice}"
            found = re.findall(r"[A-Za-z']+", text.lower())
            here, there = here + len(found), there + found.count("where")
        words, places = words + here, places + there
        if here > MIN_WORDS and 1000 * there > MAX_WHERE_IN_FILE * here:
            yield f"{file.path}:1: \"where\" {there} times in {here} words: if, or when"
    if words > MIN_WORDS and 1000 * places > MAX_WHERE * words:
        yield f".:1: \"where\" {places} times in {words} words of the tree: if, or when"


START_FOLDERS = ("src/", "include/", "proto/")
START = re.compile(r"(?:^|\s)(//+!?<?|/\*+|#+) *(?:(What|Who|Such) )?")
MARKS = {SLASHES: ("//", "/*"), HASHES: ("#",)}


def comment_starts(_, files):
    """Comments, and their paragraphs, start with their subject."""
    for file in files:
        kinds = [MARKS[mark] for endings, mark in COMMENTS.items() if file.path.endswith(endings)]
        if not file.path.startswith(START_FOLDERS) or not kinds:
            continue
        goes_on = False
        for number, line in file.lines():
            text = line.strip()
            alone = text.startswith(kinds[0])
            for match in START.finditer(line):
                if match[2] and match[1].startswith(kinds[0]) and not (alone and goes_on):
                    yield f"{file.path}:{number}: a comment starts with \"{match[2]}\": name the subject"
            goes_on = alone and len(text.strip("/#! ")) > 0
