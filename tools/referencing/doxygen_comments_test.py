"""What the filter makes of our comments, so that Doxygen knows what each speaks for."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from doxygen_comments import Filter  # noqa: E402


def filtered(*lines, name="words.h", is_front=False):
    return Filter("folder/" + name, "\n".join(lines), is_front).run().rstrip("\n").split("\n")


class DoxygenCommentsTest(unittest.TestCase):

    def test_a_comment_speaks_for_the_declaration_below_it(self):
        self.assertEqual(filtered("int a;", "// What b is.", "int b;"),
                         ["int a;", "/** What b is. */", "int b;"])

    def test_a_comment_behind_a_declaration_speaks_for_it_and_may_go_on(self):
        self.assertEqual(filtered("int a;  // what a is,", "        // and more", "int b;"),
                         ["int a;  ///< what a is,", "        ///< and more", "int b;"])
        self.assertEqual(filtered("enum A {", "  kB,  // b", "  kC   // c", "};"),
                         ["enum A {", "  kB,  ///< b", "  kC   ///< c", "};"])

    def test_what_stands_inside_of_a_function_stays_as_it_is(self):
        lines = ["int a() {", "  // A step.", "  b();  // b", "}", "", "// Alone.", "", "int c;"]
        self.assertEqual(filtered(*lines), lines)

    def test_functions_below_the_first_have_its_words(self):
        self.assertEqual(filtered("int z;", "// Both.", "int a();", "int b();", "", "int c();"),
                         ["int z;", "/** Both. */", "int a();", "/** Both. */", "int b();", "",
                          "int c();"])

    def test_no_words_are_handed_on_to_what_is_no_function_or_says_little(self):
        for line in ("int b;", "A(const A&) = delete;", "~A();", "struct B { int c; };"):
            self.assertEqual(filtered("int z;", "// One.", "int a();", line)[-1:], [line])
            self.assertEqual(len(filtered("int z;", "// One.", "int a();", line)), 4)
        self.assertEqual(filtered("int z;", "// One.", "struct A { int a; };", "int b();")[-2:],
                         ["struct A { int a; };", "int b();"])

    def test_drawings_stand_as_they_are(self):
        self.assertEqual(filtered("int z;", "// A:", "//", "//   a <-- b", "//", "//     c@d", "//",
                                  "// End.", "int a;")[1:],
                         ["/** A:", "", "\\verbatim", "  a <-- b", "", "    c@d", "\\endverbatim",
                          "", "End. */", "int a;"])

    def test_words_that_doxygen_would_read_as_its_own_are_escaped(self):
        self.assertEqual(filtered("int z;", "// a<b> \\c @d #e `f<g>` \"\\n\".", "int a;")[1],
                         "/** a\\<b\\> \\\\c \\@d \\#e <tt>f\\<g\\></tt> \"\\n\". */")

    def test_a_banner_begins_a_topic_that_ends_with_its_namespace(self):
        self.assertEqual(filtered("namespace a {", "// ---- B c ----", "//", "// Words.", "int d;",
                                  "}  // namespace a"),
                         ["namespace a {", "/** \\defgroup words_h_b_c B c", "", "Words. */",
                          "/** \\{ */", "", "int d;", "/** \\} */", "", "}  // namespace a"])

    def test_the_head_is_the_headers_words_and_those_of_its_class(self):
        lines = ["// The words.", "#ifndef A", "class Words {", "};"]
        self.assertEqual(filtered(*lines), ["/** \\file", "The words. */", "#ifndef A",
                                            "/** The words. */", "class Words {", "};"])
        self.assertEqual(filtered(*lines, name="other.h")[3:], ["class Words {", "};"])
        self.assertEqual(filtered(*lines, is_front=True)[0], "/** \\mainpage")

    def test_an_enum_below_its_type_has_that_types_name(self):
        self.assertEqual(filtered("int z;", "// Kinds.", "typedef int32_t gt_kind;", "enum {",
                                  "  GT_A = 0", "};")[1:],
                         ["/** Kinds. */", "/** (Of type int32_t.) */", "enum gt_kind {",
                          "  GT_A = 0", "};"])

    def test_an_end_of_a_comment_inside_of_one_is_taken_apart(self):
        self.assertEqual(filtered("int z;", "// As gt_*/b.", "int a;")[1], "/** As gt_* /b. */")


if __name__ == "__main__":
    unittest.main()
