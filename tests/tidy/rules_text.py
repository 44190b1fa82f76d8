"""Head comments, include guards, leftover notes, blanks, line width, and kinds of files."""

import re

import source

_MOST_COLUMNS = 100
_MOST_BYTES = 1 << 18
_MOST_BYTES_OF_DATA = 4 << 20

# Spelt apart, so that this file does not break its own rule.
_NOTES = re.compile(r"\b(%s)\b" % "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]))
_LICENCE = re.compile(r"\b(Copy" + r"right|SP" + r"DX-)")

_KINDS = (".h", ".hpp", ".c", ".cc", ".cu", ".py", ".sh", ".bzl", ".bazel", ".md", ".json",
          ".html", ".css", ".js", ".mjs", ".in", ".yml")
_NAMES = (".bazelrc", ".bazelignore", ".clang-format", ".clang-tidy", ".gitignore", "LICENSE",
          "WORKSPACE", "py.typed", "run")


def _guard(path):
    return "GRAPHTREE_" + re.sub(r"[^A-Z0-9]", "_", path.upper()) + "_"


def _check_guard(file):
    guard = _guard(file.path)
    wanted = ["#ifndef " + guard, "#define " + guard]
    directives = [line for line in file.lines if line.startswith("#")]
    if directives[:2] != wanted or directives[-1:] != ["#endif  // " + guard]:
        yield source.Finding("include-guard", file.path, 1, "the guard must be " + guard)


def _starts_with_comment(file):
    if file.is_cpp or file.is_script:
        return file.lines[0].startswith("// ")
    if file.is_shell:
        return len(file.lines) > 1 and file.lines[1].startswith("# ")
    if file.is_python or file.name.endswith(".bzl"):
        first = file.lines[1] if file.lines[0].startswith("#!") else file.lines[0]
        return first.startswith('"""')
    if file.name.endswith(".bazel"):
        return file.lines[0].startswith("# ")
    return True


def _check_lines(file):
    is_code = (file.is_cpp or file.is_python or file.is_shell or file.is_build or
               file.is_script)
    for number, line in enumerate(file.lines, 1):
        if "\t" in line:
            yield source.Finding("tab", file.path, number, "spaces only")
        if line != line.rstrip():
            yield source.Finding("trailing-blank", file.path, number, "nothing after the last word")
        if is_code and len(line) > _MOST_COLUMNS:
            yield source.Finding("line-width", file.path, number,
                                 "%d columns; at most %d" % (len(line), _MOST_COLUMNS))
        note = _NOTES.search(line)
        if note:
            yield source.Finding("note", file.path, number, note.group(1) + " left behind")
        if is_code and _LICENCE.search(line):
            yield source.Finding("licence", file.path, number, "LICENSE says it for all files")


def _check_kind(file):
    known = file.name.endswith(_KINDS) or file.name in _NAMES or file.is_shell
    most = _MOST_BYTES_OF_DATA if file.is_data else _MOST_BYTES
    if len(file.content) > most:
        yield source.Finding("size", file.path, 1, "more than %d KiB" % (most >> 10))
    if file.is_data:
        return
    if not known:
        yield source.Finding("kind", file.path, 1,
                             "not a kind of file written by hand; test data lives in testdata/")
    elif b"\0" in file.content:
        yield source.Finding("kind", file.path, 1, "binary")


def check(file):
    """Yields findings about the text of one file."""
    yield from _check_kind(file)
    if file.is_data or b"\0" in file.content or not file.content or file.name == "LICENSE":
        return
    if not _starts_with_comment(file):
        yield source.Finding("head-comment", file.path, 1, "say what this file is, first of all")
    if file.name.endswith(".h"):
        yield from _check_guard(file)
    if not file.text.endswith("\n") or file.text.endswith("\n\n"):
        yield source.Finding("last-line", file.path, len(file.lines), "one line break at the end")
    yield from _check_lines(file)


def check_readmes(paths):
    """Every folder of the top level says what lives there."""
    for folder in source.FOLDERS:
        if folder + "/README.md" not in paths:
            yield source.Finding("readme", folder + "/README.md", 1, "missing")
