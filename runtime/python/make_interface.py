"""make_interface.py HEADER OUT: graphtree.h, as Python sees it.

The header is the only place that says what the C interface is: this reads it and writes a module of
ctypes structs, numbers and prototypes, so that nothing is typed twice and nothing can drift.

    typedef struct gt_x_s* gt_x;             a handle: a number, 0 for null
    typedef int32_t gt_x; enum {A = 0};      A = 0
    #define GT_X 1                           GT_X = 1
    typedef struct gt_x {...} gt_x;          class gt_x(Struct)
    typedef R (*gt_x)(...);                  gt_x = ctypes.CFUNCTYPE(R, ...)
    GT_API R gt_x(...) GT_NOEXCEPT;          FUNCTIONS["gt_x"] = (R, (...)), and which of these are
                                             integers: NUMBERS["gt_x"] = ((place, name, type), ...)

What it does not understand is an error, and not left out.
"""

import re
import sys

_PLAIN = {
    "void*": "ctypes.c_void_p",
    "char*": "ctypes.c_char_p",
    "int": "ctypes.c_int",
    "int32_t": "ctypes.c_int32",
    "uint32_t": "ctypes.c_uint32",
    "int64_t": "ctypes.c_int64",
    "uint64_t": "ctypes.c_uint64",
    "uint8_t": "ctypes.c_uint8",
    "size_t": "ctypes.c_size_t",
    "double": "ctypes.c_double",
}
_ANNOTATION = {"ctypes.c_void_p": "typing.Optional[int]",
               "ctypes.c_char_p": "typing.Optional[bytes]",
               "ctypes.c_double": "float"}
_INTEGERS = {kind for word, kind in _PLAIN.items() if "*" not in word and word != "double"}

_HEAD = '''"""The C interface, made from graphtree.h by make_interface.py: not written by hand.

A handle is a number, and 0 is null. Whoever calls keeps what a pointer points to.
"""

import ctypes
import typing

from ._structs import SizedStruct, Struct

'''

_ITEM = re.compile(
    r"typedef struct (?P<handle>gt_\w+)_s\* (?P=handle);"
    r"|typedef (?P<base>u?int32_t) (?P<number>gt_\w+);"
    r"|enum \{(?P<enum>[^}]*)\};"
    r"|typedef struct (?P<struct>gt_\w+) \{(?P<fields>[^}]*)\} (?P=struct);"
    r"|typedef (?P<result>[\w ]+\*?) ?\(\*(?P<callback>gt_\w+)\)\((?P<taken>[^;]*)\);"
    r"|GT_API (?P<returned>(?:const )?\w+\*?) (?P<function>gt_\w+)\((?P<parameters>[^;]*)\)"
    r"\s*GT_NOEXCEPT;")
_DEFINE = re.compile(r"^#define (GT_\w+) \(?(-?\d+)\)?\s*$", re.MULTILINE)
_POINTER = re.compile(r"^(?P<result>[\w ]+\*?) ?\(\*(?P<name>\w+)\)\((?P<taken>.*)\)$")
_NAMED = re.compile(r"^(?P<type>.*?[\s*])(?P<name>\w+)(\[(?P<count>\w+)\])?$")


class NotUnderstood(Exception):
    """The header says something that this module cannot turn into Python."""


class _Writer:
    """Turns one declaration after the other into lines."""

    def __init__(self):
        self.lines = []
        self.functions = []
        self.function_numbers = []
        self._handles = set()
        self._types = dict(_PLAIN)
        self._numbers = {}

    def number(self, name, value):
        self._numbers[name] = int(value)
        self.lines.append("%s = %d" % (name, int(value)))

    def handle(self, name):
        self._types[name] = "ctypes.c_uint64"
        self._handles.add(name)

    def base(self, name, base):
        self._types[name] = _PLAIN[base]

    def enum(self, body):
        for entry in filter(None, (part.strip() for part in body.split(","))):
            name, equals, value = entry.partition(" = ")
            if not equals:
                raise NotUnderstood("a number without a value: " + entry)
            self.number(name, value)

    def type_of(self, text):
        """The ctypes type that a C type has, as source."""
        text = re.sub(r"\bconst\b", "", text)
        text = re.sub(r"\s+", " ", text).strip().replace(" *", "*")
        if text in self._types:
            return self._types[text]
        if text.endswith("*"):
            inner = self.type_of(text[:-1])
            return "ctypes.POINTER(%s)" % inner
        raise NotUnderstood("no such type: " + text)

    def _result(self, text):
        return "None" if text.strip() == "void" else self.type_of(text)

    def _callback(self, result, taken):
        types = [self._result(result)] + [kind for kind, _ in self.parameters(taken)]
        return "ctypes.CFUNCTYPE(%s)" % ", ".join(types)

    def named(self, text):
        """(type, name) of a field or parameter."""
        text = re.sub(r"\s+", " ", text).strip()
        pointer = _POINTER.match(text)
        if pointer:
            return self._callback(pointer["result"], pointer["taken"]), pointer["name"]
        named = _NAMED.match(text)
        if not named:
            raise NotUnderstood(text)
        kind = self.type_of(named["type"])
        if named["count"]:
            kind = "%s * %d" % (kind, self._numbers.get(named["count"]) or int(named["count"]))
        return kind, named["name"]

    def parameters(self, text):
        text = text.strip()
        if text in ("", "void"):
            return []
        # A comma inside of a callback's parentheses is not between two parameters.
        return [self.named(part) for part in re.split(r",(?![^()]*\))", text)]

    def struct(self, name, body):
        self._types[name] = name
        fields = [self.named(field) for field in body.split(";") if field.strip()]
        base = "SizedStruct" if fields[0][1] == "size" else "Struct"
        self.lines += ["", "", "class %s(%s):" % (name, base)]
        for kind, field in fields:
            plain = kind.startswith("ctypes.c_") and "*" not in kind
            self.lines.append("    %s: %s" % (
                field, _ANNOTATION.get(kind, "int") if plain else "typing.Any"))
        self.lines.append("    _fields_ = [")
        self.lines += ["        (\"%s\", %s)," % (field, kind) for kind, field in fields]
        self.lines += ["    ]", "", ""]

    def callback(self, name, result, taken):
        self._types[name] = name
        self.lines.append("%s = %s" % (name, self._callback(result, taken)))

    def function(self, name, returned, parameters):
        taken = self.parameters(parameters)
        types = [kind for kind, _ in taken]
        numbers = [(place, word, kind) for place, (kind, word) in enumerate(taken)
                   if kind in _INTEGERS and not self._is_handle(word, parameters)]
        if numbers:
            self.function_numbers.append("    \"%s\": (%s)," % (name, "".join(
                "(%d, \"%s\", %s), " % number for number in numbers)))
        self.functions.append("    \"%s\": (%s, (%s)),"
                              % (name, self._result(returned), "".join(t + ", " for t in types)))

    def _is_handle(self, word, parameters):
        return any(re.search(r"\b%s %s\b" % (handle, word), parameters)
                   for handle in self._handles)


def _without_comments(text):
    text = re.sub(r"//[^\n]*", "", text)
    # What C++ alone reads, and what C has inline.
    text = re.sub(r"#if defined\(__cplusplus\).*?#(?:else|endif)", "", text, flags=re.DOTALL)
    text = re.sub(r"static inline .*?\n\}", "", text, flags=re.DOTALL)
    return text


def _take(writer, item):
    if item["handle"]:
        writer.handle(item["handle"])
    elif item["number"]:
        writer.base(item["number"], item["base"])
    elif item["enum"] is not None:
        writer.enum(item["enum"])
    elif item["struct"]:
        writer.struct(item["struct"], item["fields"])
    elif item["callback"]:
        writer.callback(item["callback"], item["result"], item["taken"])
    else:
        writer.function(item["function"], item["returned"], item["parameters"])


def make(header):
    """The module's text, from the header's."""
    code = _without_comments(header)
    writer = _Writer()
    for name, value in _DEFINE.findall(code):
        writer.number(name, value)
    code = re.sub(r"^#.*(\\\n.*)*$", "", code, flags=re.MULTILINE)
    rest = []
    end = 0
    for item in _ITEM.finditer(code):
        rest.append(code[end:item.start()])
        end = item.end()
        _take(writer, item)
    rest.append(code[end:])
    left = re.sub(r"extern \"C\" \{|\}|\s", "", "".join(rest))
    if left:
        raise NotUnderstood("left over: " + left[:200])
    table = ["", "# Of each function what it returns, and what it takes.",
             "FUNCTIONS: typing.Dict[str, typing.Tuple[typing.Any, typing.Tuple[typing.Any, ...]]]"
             " = {"] + writer.functions + [
                 "}", "", "# Of each function that takes integers their places, names and types.",
                 "NUMBERS: typing.Dict[str, typing.Tuple[typing.Tuple[int, str, typing.Any], ...]]"
                 " = {"] + writer.function_numbers + ["}", ""]
    text = _HEAD + "\n".join(writer.lines + table)
    return re.sub(r"\n{4,}", "\n\n\n", text)


def main(arguments):
    """Writes the module."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as header:
        text = make(header.read())
    with open(arguments[1], "w", encoding="utf-8") as out:
        out.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
