"""Writes parts.cc: the page's parts as C++ texts.

  python3 embed.py page.html style.css script.js "why the script is missing" [FOLDER] > parts.cc

FOLDER, of tools/, has the page and is its namespace: memory, if it is not given.
"""

import sys

LINE = 6000


def literal(text):
    """A C++ string literal in pieces, since compilers limit the length of one."""
    pieces = [text[i:i + LINE] for i in range(0, len(text), LINE)] or [b""]
    return "\n".join('    "' + "".join(map(escaped, piece)) + '"' for piece in pieces)


def escaped(byte):
    if byte == 10:
        return "\\n"
    if byte in b'"\\?' or not 32 <= byte < 127:
        return f"\\{byte:03o}"
    return chr(byte)


def main():
    html, style, script = (open(path, "rb").read() for path in sys.argv[1:4])
    fields = {"kHtml": html, "kStyle": style, "kScript": script, "kMissing": sys.argv[4].encode()}
    folder = sys.argv[5] if len(sys.argv) > 5 else "memory"
    print(f"// The parts of the {folder} page; made by embed.py.")
    print(f'#include "tools/{folder}/page/parts.h"\n')
    print(f"namespace graphtree::{folder} {{\nnamespace {{\n")
    for name, text in fields.items():
        print(f"constexpr char {name}[] =\n{literal(text)};\n")
    print("}  // namespace\n\nconst PageParts& Parts() {")
    views = ", ".join(f"{{{name}, sizeof({name}) - 1}}" for name in fields)
    print(f"  static constexpr PageParts kParts = {{{views}}};")
    print(f"  return kParts;\n}}\n\n}}  // namespace graphtree::{folder}")


if __name__ == "__main__":
    main()
