"""make_interface_test.py MAKE HEADER ABI_TEST: what is read from the header is what the compiler
reads from it.

abi_test.cc holds the size of each struct, and where its last field lies, against the compiler; here
the structs of Python are held against abi_test.cc.
"""

import ctypes
import importlib.util
import re
import sys
import types
import unittest

make_path, header_path, abi_path = sys.argv[1:4]
del sys.argv[1:]

_spec = importlib.util.spec_from_file_location("make_interface", make_path)
make_interface = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_interface)


def _module(header):
    """What is made of a header, as a module, with the plainest of all base classes."""
    text = make_interface.make(header).replace(
        "from ._structs import SizedStruct, Struct", "SizedStruct = Struct = ctypes.Structure")
    module = types.ModuleType("interface")
    exec(compile(text, "interface", "exec"), module.__dict__)
    return module


class HeaderTest(unittest.TestCase):
    """The header as it is."""

    @classmethod
    def setUpClass(cls):
        with open(header_path, encoding="utf-8") as file:
            cls.header = file.read()
        cls.module = _module(cls.header)

    def test_every_struct_is_as_the_compiler_has_it(self):
        with open(abi_path, encoding="utf-8") as file:
            rows = re.findall(r"GRAPHTREE_STRUCT\((gt_\w+), (\d+), (\w+), (\d+)\)", file.read())
        self.assertGreater(len(rows), 40)
        for name, size, field, offset in rows:
            struct = getattr(self.module, name)
            self.assertEqual(ctypes.sizeof(struct), int(size), name)
            self.assertEqual(getattr(struct, field).offset, int(offset), name)
            self.assertEqual(struct._fields_[-1][0], field, name)

    def test_every_function_is_there(self):
        declared = set(re.findall(r"GT_API\s[^;(]*?\b(gt_\w+)\(",
                                  re.sub(r"//[^\n]*", "", self.header)))
        self.assertEqual(declared, set(self.module.FUNCTIONS))

    def test_numbers(self):
        self.assertEqual(self.module.GT_BAD_HANDLE, 100)
        self.assertEqual(self.module.GT_ANY, -1)
        self.assertEqual(self.module.GT_MOST_REASONS, 64)


class MadeUpTest(unittest.TestCase):
    """Headers that are not."""

    def test_declarations(self):
        module = _module("""
            typedef struct gt_thing_s* gt_thing;
            typedef int32_t gt_kind;
            enum { GT_A = 0, GT_B = 5 };
            typedef struct gt_pair {
              gt_thing first; int64_t rows[3]; gt_kind kinds[GT_B];
            } gt_pair;
            typedef void (*gt_told)(void* context, const gt_pair* pair);
            GT_API const char* gt_name(gt_thing thing, void (*end)(void* a, int b),
                                       gt_told told) GT_NOEXCEPT;
            GT_API void gt_set(gt_thing thing, gt_kind kind, const int32_t* rows, uint64_t bytes,
                               double ratio) GT_NOEXCEPT;
        """)
        self.assertEqual(module.GT_B, 5)
        self.assertEqual(ctypes.sizeof(module.gt_pair), 8 + 24 + 24)
        result, parameters = module.FUNCTIONS["gt_name"]
        self.assertIs(result, ctypes.c_char_p)
        self.assertEqual(len(parameters), 3)
        self.assertIs(parameters[2], module.gt_told)
        self.assertEqual(module.NUMBERS, {
            "gt_set": ((1, "kind", ctypes.c_int32), (3, "bytes", ctypes.c_uint64))})

    def test_what_is_not_understood_is_an_error(self):
        for text in ("typedef union gt_u { int a; } gt_u;", "enum { GT_A };",
                     "GT_API gt_unheard gt_f(void) GT_NOEXCEPT;", "int x;",
                     "typedef struct gt_s { long long a; } gt_s;"):
            with self.assertRaises(make_interface.NotUnderstood, msg=text):
                make_interface.make(text)


if __name__ == "__main__":
    unittest.main()
