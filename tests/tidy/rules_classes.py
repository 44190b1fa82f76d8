"""Classes of the core have at most 40 methods.

A method is what is declared in the class itself and has a body or an argument list: constructors,
operators and private ones count, and each overload for itself. Not counted is what the compiler
makes or what is forbidden (= default, = delete), a friend, and what stands in a nested class, which
is counted for itself.
"""

import re

import source

MOST_METHODS = 40
_FOLDERS = ("graphs/", "allocator/")

_MARK = re.compile(r"[{};]")
_HEAD = re.compile(r"^(?:template\s*<.*>\s*)?(?:class|struct|union)\s+(?:\w+\s+)*?(\w+)"
                   r"(?:\s+final)?\s*(?::[^:].*)?$")
_ACCESS = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")
_NO_METHOD = re.compile(r"^(?:friend|using|typedef|static_assert|alignas|enum|class|struct|union)"
                        r"\b|=\s*(?:default|delete)$")
_ANGLES = re.compile(r"<[^<>()]*>")
_TEMPLATE = re.compile(r"^template\s*<[^<>]*>\s*")
# A name with its argument list; not what follows a value that a member begins with.
_METHOD = re.compile(r"(?:^|[\s*&~])(?:\w+|operator\s*\S+|operator\(\))\s*\(")


def _is_method(statement):
    text = " ".join(_ACCESS.sub(" ", statement).split())
    if text.startswith(",") or _NO_METHOD.search(text):
        return False  # after a comma: the rest of what a constructor initialises
    before = None
    while before != text:  # what stands in angles is the argument of a template
        before, text = text, _ANGLES.sub("", text)
    text = _TEMPLATE.sub("", text)
    head = text.split("=")[0] if "operator" not in text else text
    return bool(_METHOD.search(head))


class _ClassWalker:
    """Walks over C++ code and collects classes as [name, line, methods]."""

    def __init__(self):
        self.classes = []
        self._open = []  # for each open brace: the class that it opens, or None
        self._statement = ""

    def walk(self, code):
        for number, line in enumerate(code, 1):
            if line.lstrip().startswith("#"):
                continue
            done = 0
            for mark in _MARK.finditer(line):
                self._statement += line[done:mark.start()]
                done = mark.end()
                self._step(mark.group(), number)
            self._statement += line[done:] + " "
        return self.classes

    def _inside(self):
        return self._open[-1] if self._open else None

    def _step(self, mark, number):
        statement = _ACCESS.sub(" ", self._statement).strip()
        self._statement = ""
        inside = self._inside()
        if mark == "{":
            head = _HEAD.match(" ".join(statement.split()))
            if head:
                self._open.append([head.group(1), number, 0])
                self.classes.append(self._open[-1])
                return
            if inside is not None and _is_method(statement):
                inside[2] += 1
            self._open.append(None)
        elif mark == "}":
            if self._open:
                self._open.pop()
        elif inside is not None and _is_method(statement):
            inside[2] += 1


def classes(code):
    """[name, line, methods] of every class in lines of code without comments."""
    return _ClassWalker().walk(code)


def check(file):
    """Yields a finding for each class of the core that has too many methods."""
    if not file.is_cpp or file.is_check or not file.path.startswith(_FOLDERS):
        return
    for name, line, methods in classes(file.code):
        if methods > MOST_METHODS:
            yield source.Finding("class-size", file.path, line, "%s has %d methods; at most %d" %
                                 (name, methods, MOST_METHODS))
