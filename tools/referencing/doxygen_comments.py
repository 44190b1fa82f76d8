"""Prints a header of ours with comments that Doxygen reads: its INPUT_FILTER.

    doxygen_comments.py [--front] HEADER

    // What it does.             ->   /** What it does. */
    void Do();                        void Do();

    int a;  // what it is        ->   int a;  ///< what it is

    // ---- Events ----------    ->   a topic, which has what stands below

    //   a drawing, or code      ->   in letters of one width, as it stands

With --front the comment at the head of the header is the first page of all.

A comment speaks for the functions that follow it without a blank line, too: each has its words. A
class without words that has the header's name has those at the header's head. An enum without a
name that stands below its type has that type's name.
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from scopes import Scopes, split_comment  # noqa: E402

_BANNER = re.compile(r"^// -{2,} (.*?) -{2,}$")
_NO_DECLARATION = re.compile(r"^\s*(#(?!define)|}|friend\b|public:|private:|protected:|"
                             r"static_assert|namespace\b|extern\b|$)")
# What only tells versions of a name apart, as each of several forms of a header has one.
_INLINE_NAMESPACE = re.compile(r"^(inline namespace \w+ {|}  // inline namespace)$", re.MULTILINE)
_NO_FUNCTION = re.compile(r"\s*(typedef|using|#|struct|class|enum|friend)\b")
_NUMBER_TYPE = re.compile(r"^typedef (\w+) (\w+);$")
_ENUMERATOR = re.compile(r"^\w+( = [^,;]+)?$")
_SPECIAL = re.compile(r"([\\@&<>#%$])")
# Doxygen leaves what is in quotes as it is.
_QUOTED = re.compile(r'([^"]+|"(?![^"]*"))|("[^"]*")')
_CLASS = re.compile(r"^class (\w+)\b.*{$")


def escaped(text):
    """Words as they stand; what is between backticks in letters of one width."""
    parts = ["".join(quoted or _SPECIAL.sub(r"\\\1", plain)
                     for plain, quoted in _QUOTED.findall(part)) for part in text.split("`")]
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join("<tt>%s</tt>" % part if number % 2 else part
                   for number, part in enumerate(parts))


def is_drawing(text):
    return text.startswith("   ")


def documentation(texts):
    """What a comment says, in Doxygen's words. Each text is a line after its two slashes."""
    lines = []
    open_drawing = False
    for number, text in enumerate(texts):
        rest = texts[number:]
        following = next((line for line in rest if line.strip()), "")
        if open_drawing and not is_drawing(following):
            lines.append("\\endverbatim")
            open_drawing = False
        if not open_drawing and is_drawing(text):
            lines.append("\\verbatim")
            open_drawing = True
        lines.append(text[1:] if open_drawing else escaped(text[1:]))
    return lines + ["\\endverbatim"] * open_drawing


class Filter:
    """One header."""

    def __init__(self, path, text, is_front=False):
        self.name = os.path.basename(path)
        self.is_front = is_front
        self.lines = _INLINE_NAMESPACE.sub("", text.rstrip("\n")).split("\n")
        self.scopes = Scopes()
        self.out = []
        self.words = []         # that the next function has, too, if no blank line comes before it
        self.topic_depth = None  # of the scope in which the open topic began
        self.column = -1        # of the last comment behind code, where it may go on
        self.seen_code = False
        self.head = []          # the words of the whole header

    def run(self):
        number = 0
        while number < len(self.lines):
            code, comment = split_comment(self.lines[number])
            if comment is None or code.strip() or len(code) == self.column:
                self._line(number, code, comment)
                number += 1
            else:
                number = self._block(number)
        self._end_topic()
        return "\n".join(self.out) + "\n"

    def _block(self, number):
        """Lines that are comments alone; returns the number of the line after them."""
        start = number
        texts = []
        while number < len(self.lines):
            code, comment = split_comment(self.lines[number])
            if comment is None or code.strip():
                break
            texts.append(comment[2:])
            number += 1
        self.column = -1
        self.words = []
        indent = " " * (len(self.lines[start]) - len(self.lines[start].lstrip()))
        following = self.lines[number] if number < len(self.lines) else ""
        banner = _BANNER.match(self.lines[start])
        if banner:
            self._topic(banner.group(1), texts[1:])
        elif not self.seen_code and start == 0:
            self.head = documentation(texts)
            self._write("", ["\\mainpage" if self.is_front else "\\file"] + self.head)
        elif self.scopes.is_between and not _NO_DECLARATION.match(following):
            self.words = documentation(texts)
            self._write(indent, self.words)
        else:
            self.out.extend(self.lines[start:number])
        return number

    def _topic(self, title, texts):
        self._end_topic()
        self.topic_depth = self.scopes.depth
        stem = re.sub(r"\W", "_", self.name)
        slug = stem + "_" + re.sub(r"\W+", "_", title.lower())
        self._write("", ["\\defgroup %s %s" % (slug, escaped(title))] + documentation(texts))
        self.out += ["/** \\{ */", ""]

    def _end_topic(self):
        if self.topic_depth is not None:
            self.out += ["/** \\} */", ""]
        self.topic_depth = None

    def _line(self, number, code, comment):
        # The braces of a linkage are in code that only C++ sees, where a topic must not end.
        if self.scopes.depth == self.topic_depth and re.match(r"}.*namespace", self.lines[number]):
            self._end_topic()
        if code.strip():
            self.seen_code = True
            self._repeat_words(number, code)
        elif comment is None:
            self.words = []
        was_among = self.scopes.is_among_declarations
        self.scopes.read(code)
        bare = code.strip()
        is_number_type = self._number_type(number)
        if comment is None or not was_among:
            self.column = -1
        elif not bare or bare[-1] in ",;" or _ENUMERATOR.match(bare):
            self.column = len(code)
            comment = "///< " + escaped(comment[2:].strip())
        if is_number_type:
            self._write("", ["(Of type %s.)" % is_number_type])
        elif self._named_enum(number):
            self.out.append("enum %s {" % self._named_enum(number))
        else:
            self.out.append(code + (comment or ""))

    def _number_type(self, number):
        """The type of the enum that stands below, if this line gives it a name."""
        found = _NUMBER_TYPE.match(self.lines[number])
        below = self.lines[number + 1:number + 2]
        return found.group(1) if found and below == ["enum {"] else None

    def _named_enum(self, number):
        found = number > 0 and self._number_type(number - 1)
        return _NUMBER_TYPE.match(self.lines[number - 1]).group(2) if found else None

    def _repeat_words(self, number, code):
        """The comment above stands here, too, if this is one more function below it."""
        above = self.lines[number - 1].strip() if number else ""
        if not self.scopes.is_between:
            return
        is_function = self._is_function(number)
        if above.startswith("//") or not is_function:
            self.words = self.words if is_function else []
            if not above.startswith("//") and self._is_named_as_header(code):
                self._write("", self.head)
            return
        indent = " " * (len(code) - len(code.lstrip()))
        self._write(indent, self.words)

    def _is_function(self, number):
        """Whether a function, or a macro, is declared from this line on."""
        head = ""
        for line in self.lines[number:]:
            head += split_comment(line)[0] + " "
            if re.search(r"[;{]", head):
                break
        if head.startswith("#define "):
            return True
        if "= delete" in head or head.lstrip().startswith(("~", "virtual ~")):
            return False
        return "(" in head and not _NO_FUNCTION.match(head)

    def _is_named_as_header(self, code):
        found = _CLASS.match(code)
        stem = self.name.split(".")[0].replace("_", "")
        return bool(found) and found.group(1).lower() == stem

    def _write(self, indent, lines):
        """A comment of Doxygen's, unless there is nothing to say."""
        if lines:
            text = "\n".join(lines).replace("*/", "* /")
            self.out += (indent + "/** " + text + " */").split("\n")


def main(arguments):
    path = arguments[-1]
    with open(path, encoding="utf-8") as file:
        sys.stdout.write(Filter(path, file.read(), "--front" in arguments).run())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
