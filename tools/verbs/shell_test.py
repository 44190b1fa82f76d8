"""Completion asked of a real bash, and the manual page put through a real troff."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

GRAPHTREE = sys.argv.pop(1)


def run(*words):
    return subprocess.run([GRAPHTREE, *words], capture_output=True, text=True)


def complete(line):
    """What bash would offer at the end of the line."""
    words = line.split(" ")
    script = run("completion", "bash").stdout
    quoted = " ".join("'%s'" % word for word in words)
    asked = script + (
        "\nCOMP_WORDS=(%s); COMP_CWORD=%d; _graphtree; printf '%%s\\n' \"${COMPREPLY[@]}\""
        % (quoted, len(words) - 1))
    done = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return sorted(done.stdout.split())


class ShellTest(unittest.TestCase):
    def test_bash_completes_verbs_options_and_values(self):
        self.assertIn("memory", complete("graphtree "))
        self.assertEqual(complete("graphtree ver"), ["version"])
        self.assertIn("stats", complete("graphtree memory "))
        self.assertEqual(complete("graphtree memory tim"), ["timeline"])
        self.assertEqual(complete("graphtree memory convert --pro"), ["--protocol"])
        self.assertEqual(complete("graphtree memory convert --to "), ["json", "pickle", "sqlite"])
        self.assertEqual(complete("graphtree memory top --json --by li"), ["line"])
        self.assertIn("--help", complete("graphtree memory leaks a b --"))

    def test_bash_completes_files_where_a_file_is_due(self):
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "some.pickle"), "w").close()
            offered = complete("graphtree memory stats %s/so" % folder)
            self.assertEqual(offered, [os.path.join(folder, "some.pickle")])
        self.assertEqual(os.getcwd(), here)

    def test_every_verb_is_in_every_script_and_in_the_manual(self):
        overview = run("--help").stdout
        verbs = [line.split("  ")[1] for line in overview.splitlines()
                 if line.startswith("  ") and not line.startswith("   ")]
        self.assertGreater(len(verbs), 10)
        for shell in ("bash", "zsh", "fish"):
            script = run("completion", shell).stdout
            for verb in verbs:
                self.assertIn(verb, script, (shell, verb))
        page = run("man").stdout.replace("\\-", "-")
        for verb in verbs:
            self.assertIn('.SS "graphtree %s"' % verb, page)
        self.assertEqual(run("completion", "tcsh").returncode, 2)

    @unittest.skipUnless(shutil.which("groff"), "there is no groff here")
    def test_the_manual_is_good_troff(self):
        page = run("man").stdout
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
