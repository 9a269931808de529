"""Files and text for the tidy rules: the tree's own files, and C++ text without comments and strings."""
import os
import re
import subprocess

CPP = (".h", ".cc")
SKIPPED = re.compile(r"^(build.*|cmake-build-.*|\.git|\.cache|node_modules|__pycache__)$")

# In the order they must be tried: comments, raw strings, strings, characters (but not the separator
# of 1'000).
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])*'", re.DOTALL)


class File:
    """One text file; `path` is relative to the tree's root, with forward slashes."""

    def __init__(self, root, path):
        self.path = path
        self.absolute = os.path.join(root, path)
        with open(self.absolute, encoding="utf-8") as file:
            self.text = file.read()

    @property
    def is_cpp(self):
        return self.path.endswith(CPP)

    @property
    def is_script(self):
        return self.text.startswith("#!")

    def lines(self):
        return enumerate(self.text.splitlines(), start=1)

    def code_lines(self):
        """C++ lines with comments and the insides of strings blanked."""
        return enumerate(strip(self.text).splitlines(), start=1)

    def code_lines_with_includes(self):
        """As code_lines, but #include lines as they stand."""
        plain = self.text.splitlines()
        for number, line in self.code_lines():
            yield number, plain[number - 1] if line.lstrip().startswith("#include") else line


def strip(text):
    """The text with comments and literals replaced by blanks, line for line."""
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def is_build_folder(path):
    return os.path.exists(os.path.join(path, "CMakeCache.txt"))


def text_files(root):
    """All files of the tree that are text, sorted; build folders left out."""
    found = []
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names
                    if not SKIPPED.match(name) and not is_build_folder(os.path.join(folder, name))]
        for name in sorted(set(files) - {".git"}):  # in a worktree it is a file
            path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
            try:
                found.append(File(root, path))
            except (UnicodeDecodeError, OSError):
                continue  # binary, or gone meanwhile
    return sorted(found, key=lambda file: file.path)


def top_level_names(root):
    """The names at the root: by git where it answers (ignored files don't count), else all."""
    answer = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "--", "."],
                            capture_output=True, text=True, check=False)
    if answer.returncode == 0 and answer.stdout:
        return sorted({line.split("/")[0] for line in answer.stdout.splitlines()})
    return sorted(os.listdir(root))
