"""Where declarations begin in the headers that the reference is made from."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from scopes import Scopes, split_comment  # noqa: E402


def beginnings(text):
    """The lines of the text at which a declaration begins."""
    scopes = Scopes()
    found = []
    for line in text.strip("\n").split("\n"):
        code, _ = split_comment(line)
        if scopes.is_between and code.strip():
            found.append(code.strip())
        scopes.read(code)
    return found


class ScopesTest(unittest.TestCase):

    def test_a_comment_begins_outside_of_strings(self):
        self.assertEqual(split_comment("int a;  // b"), ("int a;  ", "// b"))
        self.assertEqual(split_comment('const char* a = "http://b";'),
                         ('const char* a = "http://b";', None))
        self.assertEqual(split_comment("char a = '\"';  // b"), ("char a = '\"';  ", "// b"))

    def test_a_declaration_over_several_lines_begins_once(self):
        self.assertEqual(beginnings("int a(int b,\n      int c);\nint d;"),
                         ["int a(int b,", "int d;"])

    def test_members_are_declarations_and_what_functions_do_is_none(self):
        self.assertEqual(beginnings("class A {\n public:\n  int b() const {\n    c();\n  }\n"
                                    "  int d = {1};\n};\nint e;"),
                         ["class A {", "public:", "int b() const {", "int d = {1};", "};",
                          "int e;"])

    def test_a_namespace_a_linkage_and_an_enum_hold_declarations(self):
        self.assertEqual(beginnings('extern "C" {\nnamespace a {\nenum B : uint8_t { kC };\n}\n}\n'
                                    "int d;"),
                         ['extern "C" {', "namespace a {", "enum B : uint8_t { kC };", "}", "}",
                          "int d;"])

    def test_values_in_braces_and_defaults_open_nothing(self):
        self.assertEqual(beginnings("int a(B b = {}, int c = D(1));\nE f = {\n    1};\nint g;"),
                         ["int a(B b = {}, int c = D(1));", "E f = {", "int g;"])

    def test_macros_are_no_declarations(self):
        self.assertEqual(beginnings("#define A(b) \\\n  {b\nint c;"),
                         ["#define A(b) \\", "{b", "int c;"])

    def test_depth_counts_open_scopes(self):
        scopes = Scopes()
        for line in ("namespace a {", "class B {", "  int c();"):
            scopes.read(line)
        self.assertEqual(scopes.depth, 2)
        scopes.read("};")
        self.assertEqual(scopes.depth, 1)


if __name__ == "__main__":
    unittest.main()
