"""The memory verbs on real files: what they say, their JSON, their exit codes, their refusals."""
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

GRAPHTREE = sys.argv.pop(1)
DATA = "tools/snapshot/testdata/"
FILES = sorted(DATA + name for name in os.listdir(DATA) if name.endswith(".pickle"))
LEAKS = [DATA + "leak_step9.pickle", DATA + "leak_step39.pickle"]
ONE_FILE = ("stats", "top", "map", "timeline", "frag", "oom", "replay", "nodes", "query", "check")


def run(*words, **options):
    return subprocess.run([GRAPHTREE, "memory", *words], capture_output=True, text=True,
                          env=dict(os.environ, COLUMNS="100"), timeout=120, **options)


def run_in(columns, *words):
    done = subprocess.run([GRAPHTREE, "memory", *words], capture_output=True, text=True,
                          env=dict(os.environ, COLUMNS=str(columns)), timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def ask(*words, code=0):
    done = run(*words, "--json")
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return json.loads(done.stdout)


class VerbsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_every_verb_answers_for_every_file_in_text_and_json(self):
        for path in FILES:
            for verb in ONE_FILE:
                with self.subTest(path=path, verb=verb):
                    for extra in ((), ("--json",), ("--host",)):
                        if verb in ("stats", "check", "nodes") and extra == ("--host",):
                            continue
                        done = run(verb, path, *extra)
                        empty = verb == "replay" and extra == ("--host",)
                        self.assertIn(done.returncode, (0, 1, 3) if empty else (0, 1), done.stderr)
                        if extra == ("--json",):
                            json.loads(done.stdout)
                        elif not empty:
                            self.assertTrue(done.stdout.strip())
                        self.assertNotIn("\033", done.stdout)  # no colour into a pipe

    def test_a_narrow_terminal_gets_every_figure(self):
        path = DATA + "oom_fragmented.pickle"
        for verb in ("stats", "top", "frag", "oom", "query"):
            narrow = run_in(40, verb, path)
            tables = [line for line in narrow.splitlines() if line.startswith("  ")]
            self.assertGreater(len(tables), 1)
            figures = {word for line in run_in(200, verb, path).splitlines()
                       for word in line.split() if word.replace(".", "").isdigit()}
            missing = figures - set(narrow.split())
            self.assertLessEqual(len(missing), max(1, len(figures) // 20), (verb, missing))
        for line in run_in(40, "frag", path).splitlines():
            if line.startswith("  device "):
                self.assertLessEqual(len(line), 40)

    def test_no_line_is_wider_than_the_terminal(self):
        for words in (("stats",), ("top",), ("map",), ("timeline",), ("frag", "--request", "8MiB"),
                      ("oom",), ("replay",), ("nodes",), ("check",), ("query", "--limit", "3")):
            for path in FILES:
                for line in run_in(80, words[0], path, *words[1:]).splitlines():
                    with self.subTest(words=words, path=path):
                        self.assertLessEqual(len(line), 80, line)
                        if words != ("timeline",):  # whose chart has an edge
                            self.assertEqual(line, line.rstrip())
        for verb in ("diff", "leaks"):
            text = run_in(80, verb, DATA + "leak_step9.pickle", DATA + "leak_step39.pickle")
            self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_a_full_disk_behind_the_output_is_an_error(self):
        for words in (("stats",), ("top", "--json"), ("flame", "--svg"), ("query", "--json")):
            with open("/dev/full", "w") as full:
                done = subprocess.run([GRAPHTREE, "memory", words[0], FILES[0], *words[1:]],
                                      stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 3, words)
            self.assertIn("could not be written whole", done.stderr)

    def test_colour_only_where_it_is_wanted(self):
        self.assertIn("\033[", run("stats", FILES[0], "--color", "always").stdout)
        self.assertNotIn("\033[", run("stats", FILES[0], "--color", "never").stdout)

    def test_top_adds_up_and_has_its_fields(self):
        for path in FILES:
            total = ask("stats", path)["allocated_bytes"]
            for by in ("stack", "line", "tag", "node", "pool", "size"):
                holders = ask("top", path, "--by", by)["holders"]
                self.assertEqual(sum(holder["bytes"] for holder in holders), total)
                sizes = [holder["bytes"] for holder in holders]
                self.assertEqual(sizes, sorted(sizes, reverse=True))
                for holder in holders:
                    self.assertIsInstance(holder["key"], str)
                    self.assertGreater(holder["blocks"], 0)

    def test_top_by_depth_is_coarser(self):
        path = DATA + "train_step7.pickle"
        whole = len(ask("top", path)["holders"])
        one = len(ask("top", path, "--depth", "1")["holders"])
        self.assertLess(one, whole)
        self.assertEqual(run("top", path, "--depth", "-1").returncode, 2)

    def test_the_leak_is_found_with_its_line_count_and_bytes(self):
        leaks = ask("leaks", *LEAKS, code=1)["leaks"]
        self.assertEqual([leak["count"] for leak in leaks], [30, 30])
        self.assertEqual([leak["bytes"] for leak in leaks], [30 * 262144, 30 * 512])
        for leak in leaks:
            self.assertIn("model.py:33 <module>", leak["stack"])
            self.assertEqual(leak["per_interval"],
                             [{"bytes": leak["bytes"], "count": leak["count"]}])
        self.assertEqual(ask("leaks", LEAKS[1], LEAKS[0])["leaks"], [])
        self.assertEqual(ask("leaks", LEAKS[0], LEAKS[0], LEAKS[0])["leaks"], [])
        self.assertEqual(ask("leaks", LEAKS[0], LEAKS[1], LEAKS[1])["leaks"], [])
        self.assertEqual(len(ask("leaks", *LEAKS, "--min", "1MiB", code=1)["leaks"]), 1)
        self.assertEqual(run("leaks", LEAKS[0]).returncode, 2)

    def test_diff_tells_new_gone_and_kept(self):
        there = ask("diff", *LEAKS, code=1)
        self.assertEqual(there["new"]["count"], 60)
        self.assertEqual(there["gone"]["count"], 0)
        back = ask("diff", LEAKS[1], LEAKS[0], code=1)
        self.assertEqual(back["gone"], there["new"])
        same = ask("diff", LEAKS[0], LEAKS[0])
        self.assertEqual(same["kept"]["count"], 25)

    def test_the_peak_of_the_timeline_is_what_python_counts(self):
        for path in FILES:
            with open(path, "rb") as file:
                snapshot = pickle.load(file)
            for device in ask("timeline", path, "--points", "1000000")["devices"]:
                now = peak = 0
                for entry in snapshot["device_traces"][device["device"]]:
                    if entry["action"] == "alloc":
                        now += entry["size"]
                    elif entry["action"] == "free_requested":
                        now -= entry["size"]
                    peak = max(peak, now)
                self.assertEqual(device["peak"]["requested_bytes"], peak)
                self.assertEqual(len(device["points"]), device["entries"])
                self.assertEqual(max(point["requested_high"] for point in device["points"]), peak)
                self.assertEqual(sum(item["bytes"] for item in device["alive_at_peak"]), peak)

    def test_oom_explains_the_fragmented_failure(self):
        case, = ask("oom", DATA + "oom_fragmented.pickle", code=1)["cases"]
        self.assertEqual(case["asked_bytes"], 8650752)
        self.assertEqual(case["cause"], "fragmented")
        self.assertTrue(case["limited"])
        self.assertEqual(case["reserved_bytes"], 3001024512)
        self.assertEqual(case["largest_hole_bytes"], 6553600)
        self.assertGreater(case["free_bytes"], case["asked_bytes"])
        verdicts = {one["setting"]: one["verdict"] for one in case["experiments"]}
        self.assertEqual(verdicts["expandable_segments:True"], "fits")
        self.assertEqual(verdicts["max_split_size_mb:64"], "does_not_fit")
        text = run("oom", DATA + "oom_fragmented.pickle").stdout
        self.assertIn("Fragmentation", text)
        self.assertIn("model.py:49 <module>", text)

    def test_oom_knows_what_could_never_fit(self):
        case, = ask("oom", DATA + "torch_2_15_mixed.pickle", code=1)["cases"]
        self.assertEqual(case["cause"], "request_too_large")
        self.assertEqual(case["experiments"], [])
        self.assertEqual(ask("oom", DATA + "train_step7.pickle")["cases"], [])

    def test_frag_answers_a_request(self):
        path = DATA + "oom_fragmented.pickle"
        request = ask("frag", path, "--request", "8650752")["request"]
        self.assertFalse(request["fits"])
        self.assertEqual(request["new_segment_bytes"], 20971520)
        self.assertTrue(ask("frag", path, "--request", "6MiB")["request"]["fits"])
        self.assertEqual(run("frag", path, "--pool", "x").returncode, 2)

    def test_query_filters_are_all_applied(self):
        path = DATA + "torch_2_15_mixed.pickle"
        found = ask("query", path, "--tag", "hello")
        self.assertEqual([entry["entry"] for entry in found["entries"]], [2, 3])
        self.assertEqual(len(found["blocks"]), 1)
        address = found["blocks"][0]["address"]
        found = ask("query", path, "--address", "0x%x" % (address + 1), "--action", "alloc")
        self.assertEqual(found["blocks"], [])
        self.assertEqual(len(ask("query", path, "--pool", "0,1")["blocks"]), 2)
        self.assertEqual(len(ask("query", path, "--state", "inactive")["blocks"]), 5)
        self.assertEqual(len(ask("query", path, "--entries", "5-8")["entries"]), 4)
        self.assertEqual(len(ask("query", path, "--min-size", "20MiB", "--state",
                                 "inactive")["blocks"]), 1)
        late = ask("query", path, "--since", "1.5255")["entries"]
        self.assertTrue(0 < len(late) < 26)
        for words in (("--address", "x"), ("--entries", "5"), ("--limit", "0")):
            self.assertEqual(run("query", path, *words).returncode, 2, words)

    def test_what_nothing_can_match_is_a_slip_and_names_what_there_is(self):
        path = DATA + "torch_2_15_mixed.pickle"
        for words, named in (
                (("query", "--state", "nope"), "active_allocated"),
                (("query", "--action", "nope"), "segment_alloc"),
                (("query", "--stream", "nope"), "it has 0"),
                (("query", "--entries", "8-5"), "ends before"),
                (("query", "--since", "2", "--until", "1"), "ends before"),
                (("query", "--min-size", "2K", "--max-size", "1K"), "ends before"),
                (("query", "--address", "0x2000-0x1000"), "range"),
                (("frag", "--request", "1K", "--stream", "3"), "there are 0"),
                (("frag", "--request", "1K", "--pool", "9,9"), "0,0"),
                (("frag", "--stream", "0"), "--request"),
                (("top", "--field", "x"), "--by tag"),
                (("top", "--by", "tag", "--depth", "3"), "--by stack"),
                (("flame", "--json", "--svg"), "two outputs"),
                (("flame", "--json", "--out", self.folder + "/x.svg"), "two outputs"),
                (("top", "--at", "26"), "0 to 25"),
                (("map", "--at", "26"), "0 to 25"),
                (("flame", "--at", "26"), "0 to 25")):
            with self.subTest(words):
                done = run(words[0], path, *words[1:])
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(named, done.stderr)
        for words in (("diff", "-", "-"), ("leaks", "-", path, "-"),
                      ("html", "-", "--against", "-", "-o", self.folder + "/x.html")):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("only one snapshot", done.stderr)
        self.assertEqual(run("map", path, "--at", "25").returncode, 0)
        self.assertEqual(run("flame", path, "--device", "7").returncode, 3)

    def test_host_memory_is_apart(self):
        path = DATA + "torch_2_15_mixed.pickle"
        self.assertEqual(sum(holder["bytes"] for holder in ask("top", path, "--host")["holders"]),
                         1049088)
        self.assertEqual(run("top", path, "--device", "5").returncode, 3)

    def test_check_finds_a_contradiction(self):
        with open(FILES[0], "rb") as file:
            snapshot = pickle.load(file)
        snapshot["segments"][0]["blocks"][0]["size"] -= 512
        path = self.write("bad.pickle", pickle.dumps(snapshot, 4))
        result = ask("check", path, code=1)
        self.assertFalse(result["consistent"])
        self.assertIn("segments[0]", result["findings"][0]["where"])

    def test_bad_files_end_with_three_and_say_why(self):
        class Evil:
            def __reduce__(self):
                return (os.system, ("touch %s/ran" % self.folder_of_test,))
        Evil.folder_of_test = self.folder
        evil = pickle.dumps({"segments": [], "x": Evil()}, 4)
        good = open(FILES[0], "rb").read()
        deep = b"\x80\x04" + b"(" * 100000
        cases = {"evil": (evil, "system"), "cut": (good[:1000], "cut off"), "empty": (b"", "empty"),
                 "text": (b"hello", "no allocator snapshot"), "deep": (deep, "deep"),
                 "future": (b"\x80\x06" + good[2:], "protocol 6"),
                 "huge": (b"\x80\x04\x8e" + b"\xff" * 8, "cut off"),
                 "other": (pickle.dumps([1, 2]), "segments[0]")}
        for name, (data, reason) in cases.items():
            path = self.write(name, data)
            for verb in ONE_FILE:
                done = run(verb, path)
                self.assertEqual(done.returncode, 3, (name, verb))
                self.assertIn(reason, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertLess(len(done.stderr), 1500)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "ran")))
        self.assertEqual(run("stats", "/nonexistent").returncode, 3)
        self.assertEqual(run("stats").returncode, 2)
        self.assertEqual(run("stats", FILES[0], "--nonsense").returncode, 2)

    def test_text_from_a_file_cannot_steer_the_terminal(self):
        frame = {"name": "f\033[2J", "filename": "a\nb.py", "line": 1}
        segment = {"device": 0, "address": 0, "total_size": 512, "segment_type": "\033[31m",
                   "blocks": [{"address": 0, "size": 512, "requested_size": 512,
                               "state": "active_allocated", "frames": [frame]}]}
        trace = [{"action": "al\033loc", "addr": 0, "size": 1},
                 {"action": "alloc", "addr": 0, "size": 512, "user_metadata": "\033]0;t\007",
                  "frames": [frame]}]
        path = self.write("rude.pickle", pickle.dumps({"segments": [segment],
                                                       "device_traces": [trace]}))
        for verb in ONE_FILE:
            self.assertNotIn("\033", run(verb, path).stdout, verb)
        self.assertNotIn("\033", run("top", path, "--by", "tag", "--stacks").stdout)

    def test_our_own_nodes_are_shown(self):
        snapshot = {
            "segments": [{"device": 0, "address": 0, "total_size": 1024, "blocks": [
                {"address": 0, "size": 1024, "state": "active_allocated", "node": 1}]}],
            "graphtree": {"nodes": [
                {"id": 0, "parent": None, "function": "prefill", "ranges": [(0, 512)]},
                {"id": 1, "parent": 0, "function": "decode", "ranges": [(0, 1024)], "outputs": [
                    {"output": 0, "address": 0, "bytes": 64, "alive": True, "handles": 1}]}]}}
        path = self.write("own.pickle", pickle.dumps(snapshot))
        nodes = ask("nodes", path)["nodes"]
        self.assertEqual([node["alone_bytes"] for node in nodes], [0, 512])
        self.assertIn("Outputs that are alive", run("nodes", path).stdout)

    def test_a_large_tree_is_shown_in_part_and_counted_whole(self):
        nodes = [{"id": i, "parent": None if i == 0 else (i - 1) // 3, "function": "f%d" % (i % 7),
                  "ranges": [(4096 * i, 512 * (1 + i % 8))],
                  "outputs": [{"output": 0, "address": 4096 * i, "bytes": 64, "alive": True}]}
                 for i in range(5000)]
        snapshot = {"segments": [{"device": 0, "address": 0, "total_size": 4096 * 5000,
                                  "blocks": [{"address": 0, "size": 4096 * 5000,
                                              "state": "inactive"}]}],
                    "graphtree": {"nodes": nodes}}
        path = self.write("large.pickle", pickle.dumps(snapshot))
        said = run("nodes", path).stdout
        self.assertLess(len(said.splitlines()), 240)
        self.assertIn("4,900 nodes that use less", said)
        whole = ask("nodes", path)["nodes"]
        self.assertEqual(len(whole), 5000)
        seen = set()
        for node in whole:  # parents first
            self.assertTrue(node["parent"] in seen or node["parent"] == "")
            seen.add(node["id"])
        self.assertEqual(sum(node["alone_bytes"] for node in whole),
                         sum(512 * (1 + i % 8) for i in range(5000)))
        self.assertLess(len(run("nodes", path, "--limit", "7").stdout.splitlines()), 60)

    def test_every_help_shows_an_example(self):
        for verb in ONE_FILE + ("diff", "leaks", "convert", "flame", "html"):
            done = run(verb, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Example", done.stdout)
            self.assertIn("graphtree memory " + verb, done.stdout)


if __name__ == "__main__":
    unittest.main()
