"""Where a line of a C or C++ header stands: between declarations, or inside of one.

Not a parser: it knows comments, strings, brackets and the words that open a scope of declarations,
which is what our headers need.
"""

import re

_OPENS_DECLARATIONS = re.compile(r"^(typedef |template ?<.*> ?)*(struct|class|enum|union|namespace|"
                                 r"inline namespace)\b[^()=]*$")
_LANGUAGE = re.compile(r"^extern \"C(\+\+)?\"$")
_LABEL = re.compile(r"^(public|private|protected):")
_LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'')


def split_comment(line):
    """The code of a line, and its comment with the two slashes, or None."""
    blanked = _LITERAL.sub(lambda found: "x" * len(found.group()), line)
    start = blanked.find("//")
    return (line, None) if start < 0 else (line[:start], line[start:])


class Scopes:
    """Reads a header line by line."""

    def __init__(self):
        self.statement = ""    # what was read of it; empty between two
        self._open = []        # for each brace: whether it holds declarations, and what opened it
        self._round = 0        # open round brackets
        self._in_macro = False

    @property
    def is_between(self):
        """Whether the next line begins a declaration."""
        return not self.statement and self.is_among_declarations

    @property
    def is_among_declarations(self):
        return all(declares for declares, _ in self._open)

    @property
    def depth(self):
        return len(self._open)

    def read(self, code):
        """Goes on after one line, without its comment."""
        is_macro = self._in_macro or code.lstrip().startswith("#")
        self._in_macro = is_macro and code.rstrip().endswith("\\")
        if is_macro:
            return
        for part in re.findall(r"[(){};]|[^(){};]+", self._plain(code)):
            self._read_part(part)
        self.statement = self.statement.strip() and self.statement.rstrip() + " "

    def _plain(self, code):
        if _LANGUAGE.match((self.statement + code).split("{")[0].strip()):
            return code
        return _LITERAL.sub("x", code)

    def _read_part(self, part):
        if part in "()":
            self._round += 1 if part == "(" else -1
        if self._round or part in "()":
            self.statement += part
        elif part == "{":
            self._begin()
        elif part == "}":
            self._end()
        elif part == ";":
            self.statement = ""
        else:
            self.statement = _LABEL.sub("", (self.statement + part).lstrip())

    def _begin(self):
        head = self.statement.strip()
        declares = bool(_OPENS_DECLARATIONS.match(head) or _LANGUAGE.match(head))
        self._open.append((declares, self.statement))
        self.statement = ""

    def _end(self):
        declares, head = self._open.pop() if self._open else (True, "")
        # After a function's body a new statement begins; after a type or a value comes the rest.
        is_body = "(" in head and not declares
        is_complete = is_body or head.startswith(("namespace", "extern", "inline namespace"))
        self.statement = "" if is_complete else head + "{} "
