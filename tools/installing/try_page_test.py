"""What try_page.py sees in a page, and what it does not let pass."""

import importlib.util
import os
import unittest

_PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "try_page.py")
_SPEC = importlib.util.spec_from_file_location("try_page", _PLACE)
try_page = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(try_page)


def page(*blocks):
    return try_page.Page("words\n" + "\n".join("```%s\n%s\n```" % block for block in blocks))


class TryPageTest(unittest.TestCase):

    def test_files_commands_and_output_are_told_apart(self):
        seen = page(("c program.c", "int x;"), ("sh", "not run"), ("sh run", "true"),
                    ("text output", "done"))
        self.assertEqual(seen.files, {"program.c": "int x;\n"})
        self.assertEqual(seen.commands, ["true\n"])
        self.assertEqual(seen.output, "done\n")

    def test_a_page_without_commands_or_output_is_refused(self):
        self.assertEqual(len(try_page.complaints_of(page(("c program.c", "int x;")))), 2)

    def test_a_long_program_is_refused(self):
        long = page(("c program.c", "\n" * 40 + "x"), ("sh run", "true"), ("text output", ""))
        self.assertIn("program.c has 41 lines", try_page.complaints_of(long)[0])

    def test_commands_run_beside_the_files_with_the_variables(self):
        seen = page(("text folder/a.txt", "words"), ("sh run", "cat folder/a.txt"),
                    ("sh run", "echo $NAME"), ("text output", ""))
        self.assertEqual(try_page.run_page(seen, {"NAME": "value"}), (0, "words\nvalue\n"))

    def test_the_first_failure_ends_it(self):
        seen = page(("sh run", "false | cat\necho not reached"), ("text output", ""))
        code, printed = try_page.run_page(seen, {})
        self.assertNotEqual(code, 0)
        self.assertEqual(printed, "")


if __name__ == "__main__":
    unittest.main()
