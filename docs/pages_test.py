"""The pages name functions and constants that there are, link to what there is, and are short."""

import glob
import os
import re
import unittest

MOST_LINES = 200
_HEADERS = ("runtime/c/graphtree.h", "runtime/c/graphtree.hpp")
# A name that goes on with an ellipsis stands for several.
_NAME = re.compile(r"\b(?:gt_|GT_)\w*[A-Za-z0-9]\b(?!\.\.\.)")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)[^)\s]*\)")
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def pages():
    return sorted(glob.glob("docs/*.md"))


def unknown_names(text, known):
    return sorted(set(_NAME.findall(text)) - known)


def lost_links(path, text):
    found = [link for link in _LINK.findall(_CODE.sub("", text)) if "://" not in link]
    return [link for link in found
            if not os.path.exists(os.path.normpath(os.path.join(os.path.dirname(path), link)))]


class PagesTest(unittest.TestCase):

    def test_there_are_pages(self):
        self.assertIn("docs/server.md", pages())

    def test_names_are_those_of_the_headers(self):
        known = set()
        for header in _HEADERS:
            known.update(_NAME.findall(read(header)))
        self.assertIn("gt_step_run", known)
        for page in pages():
            self.assertEqual(unknown_names(read(page), known), [], page)

    def test_links_lead_somewhere(self):
        for page in pages():
            self.assertEqual(lost_links(page, read(page)), [], page)

    def test_each_page_is_in_the_map(self):
        listed = set(_LINK.findall(read("docs/README.md")))
        for page in pages():
            name = os.path.basename(page)
            self.assertTrue(name == "README.md" or name in listed, name)

    def test_pages_are_short(self):
        for page in pages():
            self.assertLessEqual(read(page).count("\n"), MOST_LINES, page)

    def test_what_is_wrong_is_found(self):
        self.assertEqual(unknown_names("`gt_lost`, `gt_known_...`, `GT_A`", {"GT_A"}), ["gt_lost"])
        self.assertEqual(lost_links("docs/a.md", "[a](b.md) [c](http://d/e) [f](README.md#g)\n"
                                                 "```\n[h](i)\n```"), ["b.md"])


if __name__ == "__main__":
    unittest.main()
