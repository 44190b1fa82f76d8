"""The files of the project, and what the rules of the tidy test ask of a file."""

import os
import re
import subprocess

FOLDERS = ("device", "allocator", "graphs", "runtime", "profiler", "tests", "tools")

_SKIPPED_FOLDERS = (".git", ".deps", "dist", "__pycache__", "node_modules")


_CHECK = re.compile(r"_(test|bench|fuzz|fixture|matchers)\.\w+$|(^|_)test_")
_SHELL = ("#!/usr/bin/env bash", "#!/bin/")


class Finding:
    """One broken rule in one place."""

    def __init__(self, rule, path, line, message):
        self.rule = rule
        self.path = path
        self.line = line
        self.message = message

    def __str__(self):
        return "%s:%d: [%s] %s" % (self.path, self.line, self.rule, self.message)


class Source:
    """One file: its path from the root, its bytes, its text, and its code without comments."""

    def __init__(self, path, content):
        self.path = path
        self.name = os.path.basename(path)
        self.content = content
        self.text = content.decode("utf-8", errors="replace")
        self.lines = self.text.split("\n")
        self.folder = path.split("/")[0] if "/" in path else ""
        self._code = None

    @property
    def is_data(self):
        """Test data may be of any kind."""
        return "/testdata/" in "/" + self.path

    @property
    def is_cpp(self):
        return self.name.endswith((".h", ".hpp", ".c", ".cc", ".cu")) and not self.is_data

    @property
    def is_python(self):
        return self.name.endswith(".py") and not self.is_data

    @property
    def is_shell(self):
        if self.is_data:
            return False
        return self.name.endswith(".sh") or self.lines[0].startswith(_SHELL)

    @property
    def is_script(self):
        """A script of the memory page, or of its tests."""
        return self.name.endswith((".js", ".mjs")) and not self.is_data

    @property
    def is_build(self):
        return self.name.endswith((".bzl", ".bazel")) or self.name == "WORKSPACE"

    @property
    def is_check(self):
        """A test, a bench, or what only those use."""
        return self.folder == "tests" or bool(_CHECK.search(self.name))

    @property
    def is_library(self):
        """Linked into a server: neither a test, nor a bench, nor a tool."""
        return self.is_cpp and self.folder in FOLDERS[:5] and not self.is_check

    @property
    def code(self):
        """The lines without comments and with empty strings; line numbers stay."""
        if self._code is None:
            text = _TEMPLATE.sub(_without_text, self.text) if self.is_script else self.text
            self._code = strip_cpp(text).split("\n")
        return self._code


# A text of JavaScript that may run over lines.
_TEMPLATE = re.compile(r"`(?:\\.|[^`\\])*`", re.DOTALL)

# A comment, a raw string, a string, or a character; an apostrophe inside a number (1'000) is none.
_NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|'
    r'(?<!\w)R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|'
    r'"(?:\\.|[^"\\\n])*"?|(?<!\w)\'(?:\\.|[^\'\\\n])*\'?',
    re.DOTALL)


def _without_text(match):
    """What stays of a comment or string: its line breaks, and a pair of quotes for a string."""
    text = match.group(0)
    quotes = "" if text.startswith("/") else text[-1] * 2 if text[-1] in "\"'`" else '""'
    return quotes + "\n" * text.count("\n")


def strip_cpp(text):
    """C++ without comments and without what stands in strings and character literals."""
    return _NO_CODE.sub(_without_text, text)


def _paths_by_git(root):
    """What git tracks and what it would track; None where git cannot say."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [path for path in listed.decode().split("\0") if path]


def _paths_by_walking(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [
            name for name in folders
            if name not in _SKIPPED_FOLDERS and not name.startswith("bazel-")
        ]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root)


def load(root):
    """Every file of the project at root, sorted by path."""
    paths = _paths_by_git(root) if os.path.exists(os.path.join(root, ".git")) else None
    if paths is None:
        paths = _paths_by_walking(root)
    sources = []
    for path in sorted(set(paths)):
        full = os.path.join(root, path)
        if os.path.isfile(full):
            with open(full, "rb") as file:
                sources.append(Source(path, file.read()))
    return sources
