"""Files of at most 500 lines and functions of at most 60.

In C++ and JavaScript a function is found by its braces: the outermost block that follows a closing
parenthesis and is not a class, a namespace or an initialiser. A lambda counts to the function
around it.
"""

import ast
import re

import source

MOST_LINES_IN_FILE = 500
MOST_LINES_IN_FUNCTION = 60

# Files that may be longer, each with its reason.
_MAY_BE_LONGER = {
    "runtime/c/graphtree.h": "programs and bindings of every language read one file",
    "runtime/c/graphtree.hpp": "likewise, those in C++",
}

_NOT_A_FUNCTION = re.compile(
    r"^(template\s*<.*>\s*)?(namespace|class|struct|union|enum|extern|inline\s+namespace)\b")


_MARK = re.compile(r"[{};]")
_ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")


class _BraceWalker:
    """Walks over C++ code and collects the outermost function bodies as (name, first, last)."""

    def __init__(self):
        self.functions = []
        self._open = []  # for each open brace: the line where a function began, or None
        self._depth_in_function = 0
        self._statement = ""  # what stands before the next brace
        self._name = ""

    def walk(self, code):
        continued = False
        for number, line in enumerate(code, 1):
            directive = continued or line.lstrip().startswith("#")
            continued = directive and line.rstrip().endswith("\\")
            if not directive:
                self._walk_line(line, number)
        return self.functions

    def _walk_line(self, line, number):
        done = 0
        for mark in _MARK.finditer(line):
            self._statement += line[done:mark.start()]
            done = mark.end()
            if mark.group() == "{":
                self._enter(number)
            elif mark.group() == "}":
                self._leave(number)
            else:
                self._statement = ""
        self._statement += line[done:] + " "

    def _enter(self, number):
        if self._depth_in_function:
            self._depth_in_function += 1
            self._open.append(None)
            return
        value = _is_value(self._statement)
        starts = not value and _is_function(self._statement)
        self._open.append(number if starts else None)
        if starts:
            self._depth_in_function = 1
            self._name = self._statement.strip()
        if not value:
            self._statement = ""

    def _leave(self, number):
        first = self._open.pop() if self._open else None
        if self._depth_in_function:
            self._depth_in_function -= 1
        if first is not None:
            self.functions.append((self._name, first, number))
            self._statement = ""


def _is_value(before):
    """Does a brace after this text open a value, not a block? Glued to a word, or after = ( , ."""
    text = before.rstrip()
    if text != before:
        return text.endswith(("=", "(", ",", "return"))
    return bool(text) and (text[-1] in "=(,>]_" or text[-1].isalnum())


def _is_function(before):
    statement = _ATTRIBUTE.sub("", before).strip()
    return ")" in statement and not _NOT_A_FUNCTION.match(statement)


def cpp_functions(code):
    """(signature, first line, last line) of every function in lines of code without comments."""
    return _BraceWalker().walk(code)


def _python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def _shell_functions(lines):
    start = None
    name = ""
    for number, line in enumerate(lines, 1):
        if re.match(r"^\w+\(\) \{$", line):
            start, name = number, line
        elif line == "}" and start is not None:
            yield name, start, number
            start = None


def _functions(file):
    if file.is_cpp or file.is_script:
        return cpp_functions(file.code)
    if file.is_python:
        return _python_functions(file.text)
    if file.is_shell:
        return _shell_functions(file.lines)
    return []


def check(file):
    """Yields a finding for the file and for each function that is too long."""
    if not (file.is_cpp or file.is_python or file.is_shell or file.is_script):
        return
    count = len(file.lines) - 1
    if count > MOST_LINES_IN_FILE and file.path not in _MAY_BE_LONGER:
        yield source.Finding("file-length", file.path, count,
                             "%d lines; at most %d" % (count, MOST_LINES_IN_FILE))
    for name, first, last in _functions(file):
        if last - first + 1 > MOST_LINES_IN_FUNCTION:
            yield source.Finding(
                "function-length", file.path, first, "%d lines in %s; at most %d" %
                (last - first + 1, name[-40:], MOST_LINES_IN_FUNCTION))
