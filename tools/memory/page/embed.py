"""Writes parts.cc: the page's parts as C++ texts.

  python3 embed.py page.html style.css script.js "why the script is missing" > parts.cc
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
    print("// The parts of the memory page; made by embed.py.")
    print('#include "tools/memory/page/parts.h"\n\nnamespace graphtree::memory {\nnamespace {\n')
    for name, text in fields.items():
        print(f"constexpr char {name}[] =\n{literal(text)};\n")
    print("}  // namespace\n\nconst PageParts& Parts() {")
    views = ", ".join(f"{{{name}, sizeof({name}) - 1}}" for name in fields)
    print(f"  static constexpr PageParts kParts = {{{views}}};")
    print("  return kParts;\n}\n\n}  // namespace graphtree::memory")


if __name__ == "__main__":
    main()
