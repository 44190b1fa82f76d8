"""Completion asked of a real bash, zsh and fish, and the manual page put through a real troff."""
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
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
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        open(os.path.join(self.folder, "some.pickle"), "w").close()

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

    @unittest.skipUnless(shutil.which("fish"), "there is no fish here")
    def test_a_real_fish_completes(self):
        def complete(line):
            script = "source %s; complete -C '%s'" % (shlex.quote(self.script("fish")), line)
            done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True,
                                  text=True, env=self.environment(), cwd=self.folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return [word.split("\t")[0] for word in done.stdout.splitlines()]
        self.assertEqual(complete("graphtree ver"), ["version"])
        self.assertEqual(complete("graphtree memory tim"), ["timeline"])
        self.assertEqual(complete("graphtree memory convert --pro"), ["--protocol"])
        self.assertEqual(complete("graphtree memory convert --to "), ["json", "pickle", "sqlite"])
        self.assertIn("--help", complete("graphtree memory leaks a b --"))
        self.assertIn("some.pickle", complete("graphtree memory stats so"))

    @unittest.skipUnless(shutil.which("zsh"), "there is no zsh here")
    def test_a_real_zsh_completes_sourced_and_autoloaded(self):
        sourced = "source " + shlex.quote(self.script("zsh"))
        loaded = "fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D" % shlex.quote(
            os.path.dirname(self.script("zsh", "_graphtree")))
        for setup in (sourced, loaded):
            for typed, completed in (
                    ("graphtree ver", "graphtree version"),
                    ("graphtree memory tim", "graphtree memory timeline"),
                    ("graphtree memory convert --pro", "graphtree memory convert --protocol"),
                    ("graphtree memory top --json --by li",
                     "graphtree memory top --json --by line"),
                    ("graphtree memory stats some.p", "graphtree memory stats some.pickle")):
                with self.subTest(setup=setup, typed=typed):
                    self.assertEqual(self.zsh_line(setup, typed), completed)

    def environment(self):
        return dict(os.environ, HOME=self.folder, TERM="dumb",
                    PATH=os.path.dirname(os.path.abspath(GRAPHTREE)) + ":" + os.environ["PATH"])

    def script(self, shell, name="script"):
        path = os.path.join(self.folder, shell, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(run("completion", shell).stdout)
        return path

    def zsh_line(self, setup, typed):
        """What stands on the line after the tab key: a widget writes it to a file."""
        seen = os.path.join(self.folder, "seen")
        if os.path.exists(seen):
            os.remove(seen)
        note = "note() { print -r -- $BUFFER > %s }; zle -N note; bindkey '^X' note" % seen
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], self.environment())
        try:
            os.write(terminal, ("%s\n%s\n" % (setup, note)).encode())
            os.write(terminal, (typed + "\t\x18").encode())
            deadline = time.monotonic() + 60
            while not (os.path.exists(seen) and os.path.getsize(seen)):
                if select.select([terminal], [], [], 0.1)[0]:
                    os.read(terminal, 1 << 16)
                self.assertLess(time.monotonic(), deadline, "zsh says nothing")
            with open(seen) as file:
                return file.read().strip()
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(terminal)

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
