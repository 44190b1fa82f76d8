"""Round trips of `convert`, compared with Python's own pickle and json."""
import base64
import glob
import json
import os
import pickle
import pickletools
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

GRAPHTREE = sys.argv.pop(1)
SYNTHETIC = "tools/memory/write_synthetic"  # writes large files
FILES = sorted(glob.glob("tools/snapshot/testdata/*.pickle"))


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def plain(value):
    """What JSON can tell of a value: tuples are lists."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def odd_snapshot():
    shared = ["shared", 1.5, None]
    frame = {"name": "f", "filename": "a.py", "line": 1, "fx_node_op": "call"}
    deep = [{"name": "f%d" % i, "filename": "deep.py", "line": i} for i in range(2500)]
    return {
        "segments": [{
            "device": 3, "address": 2**63 + 512, "total_size": 1024, "stream": 2**63 + 1,
            "segment_type": "odd", "segment_pool_id": (7, 2**40), "vendor": {"a": shared},
            "blocks": [{"address": 2**63 + 512, "size": 512, "requested_size": 500,
                        "state": "active_awaiting_free", "frames": deep, "x": shared},
                       {"address": 2**63 + 1024, "size": 512, "requested_size": 0,
                        "state": "inactive", "frames": []}]}],
        "device_traces": [[], [
            {"action": "alloc", "addr": 2**63 + 512, "size": 500, "stream": 0, "time_us": 7,
             "frames": [frame, frame], "forward_frames": ["l1\n", "l2\n"],
             "user_metadata": "ä\ud800"},
            {"action": "teleport", "addr": 1, "size": 2, "stream": -5,
             "note": {"k": [1, [2, [3]]]}},
            {"action": "oom", "device_free": 2**40, "size": 1, "frames": None}], []],
        "floats": [0.1, 1e300, -0.0, float("inf")],
        "ints": [0, -1, 255, 256, 65535, 65536, -2**31, 2**31, 2**62, -2**63, 2**64 - 1],
        "flags": [True, False], "text": "\u20ac \U0001F600 \" \\ \n", "again": shared,
        "looks_like_a_block": {"size": 1, "state": "x", "address": 5},
        "looks_like_segments": [{"total_size": 5, "blocks": [{"size": 5, "state": "y"}]}],
        "allocator_settings": {"roundup": {"1": 0, "2": 8}},
    }


class ConvertTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def convert(self, source, target, *options, code=0):
        done = subprocess.run([GRAPHTREE, "memory", "convert", source, target, *options],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def test_pickles_of_every_protocol_load_as_before(self):
        for source in FILES:
            for protocol in (2, 3, 4, 5):
                with self.subTest(source=source, protocol=protocol):
                    target = self.path("out.pickle")
                    self.convert(source, target, "--protocol", str(protocol))
                    self.assertEqual(load(target), load(source))
                    with open(target, "rb") as file:
                        text = file.read()
                    self.assertEqual(text[:2], bytes([0x80, protocol]))
                    for _ in pickletools.genops(text):  # every opcode is known
                        pass
                    self.assertLessEqual(len(text), 1.05 * os.path.getsize(source))

    def synthetic(self, *shape):
        path = self.path("synthetic.pickle")
        subprocess.run([SYNTHETIC, path, *map(str, shape)], check=True, stdout=subprocess.DEVNULL)
        return path

    def test_large_files_of_every_protocol_load_as_before(self):
        for protocol in (2, 3, 4, 5):
            with self.subTest(protocol):
                source = self.synthetic(protocol, 4000)
                self.convert(source, self.path("out.pickle"))
                self.assertEqual(load(self.path("out.pickle")), load(source))

    def test_the_input_is_never_overwritten(self):
        source = self.path("in.pickle")
        with open(FILES[0], "rb") as file:
            good = file.read()
        with open(source, "wb") as file:
            file.write(good)
        os.symlink(source, self.path("symbolic.pickle"))
        os.link(source, self.path("hard.json"))
        for target in (source, self.path("symbolic.pickle"), self.path("hard.json"),
                       self.folder.name + "/./in.pickle"):
            for words in (("convert", source, target), ("flame", source, "-o", target)):
                done = subprocess.run([GRAPHTREE, "memory", *words], capture_output=True, text=True)
                self.assertEqual(done.returncode, 2, words)
                self.assertIn("overwritten", done.stderr)
            with open(source, "rb") as file:
                self.assertEqual(file.read(), good)
        self.convert(source, self.path("other.pickle"))
        self.convert(source, self.path("other.pickle"))  # over an older output is fine

    def test_an_interrupt_leaves_nothing_behind(self):
        source = self.synthetic(4, 60000)
        for target, number in (("out.json", signal.SIGINT), ("out.sqlite", signal.SIGTERM)):
            with self.subTest(target):
                running = subprocess.Popen([GRAPHTREE, "memory", "convert", source,
                                            self.path(target)])
                while running.poll() is None and len(os.listdir(self.folder.name)) < 2:
                    time.sleep(0.002)
                self.assertIn(".part-", " ".join(os.listdir(self.folder.name)))
                running.send_signal(number)
                self.assertEqual(running.wait(), -number)
                self.assertEqual(os.listdir(self.folder.name), ["synthetic.pickle"])

    def test_json_that_would_be_huge_is_refused_with_its_size(self):
        source = self.synthetic(4, 3000)
        said = self.convert(source, self.path("out.json"), "--most", "1MiB", code=2)
        self.assertIn("the stacks alone would take", said)
        self.assertFalse(os.path.exists(self.path("out.json")))
        self.convert(source, self.path("out.json"), "--most", "1GiB")
        # What was foretold is what came, but for what is no stack.
        foretold = float(said.split("take ")[1].split(" MiB")[0]) * 2**20
        size = os.path.getsize(self.path("out.json"))
        self.assertTrue(0.75 * size < foretold < size, (foretold, size))

    def test_tuples_survive_sqlite(self):
        frame = {"name": "f", "filename": "a.py", "line": 1}
        snapshot = odd_snapshot()
        snapshot["tuples"] = {"a": (1, "x", (2,), ()), "(tuple)": [1], "((": 2, "frames": (frame,),
                              "alone": {"(tuple)": [1, 2]}, "pair": (0, 5), "list": [0, 5]}
        snapshot["segments"][0]["(odd"] = (1, 2, 3)
        snapshot["segments"][0]["blocks"][0]["history"] = ({"(tuple)": 1}, [frame])
        with open(self.path("odd.pickle"), "wb") as file:
            pickle.dump(snapshot, file, 4)
        self.convert(self.path("odd.pickle"), self.path("out.sqlite"))
        self.convert(self.path("out.sqlite"), self.path("back.pickle"))
        self.assertEqual(load(self.path("back.pickle")), snapshot)

    def test_bytes_survive_every_kind_of_file(self):
        snapshot = {"segments": [], "raw": bytes(range(256)), "none": b"", "both": [b"a", b"\xff"],
                    "same": [b"shared" * 9] * 3, "text": "\xff", b"key": (b"in a tuple", ())}
        for before in (2, 3, 4, 5):
            with open(self.path("raw.pickle"), "wb") as file:
                pickle.dump(snapshot, file, before)
            for after in (2, 3, 4, 5):
                with self.subTest(before=before, after=after):
                    self.convert(self.path("raw.pickle"), self.path("out.pickle"), "--protocol",
                                 str(after))
                    self.assertEqual(load(self.path("out.pickle")), snapshot)
        for between, kept in (("between.sqlite", snapshot), ("between.json", plain(snapshot))):
            for after in ("2", "4"):
                with self.subTest(between=between, after=after):
                    self.convert(self.path("raw.pickle"), self.path(between))
                    self.convert(self.path(between), self.path("back.pickle"), "--protocol", after)
                    self.assertEqual(load(self.path("back.pickle")), kept)

    def test_protocol_two_writes_bytes_as_python_does(self):
        snapshot = {"segments": [], "raw": b"\x00\x7f\x80\xff", "none": b""}
        with open(self.path("raw.pickle"), "wb") as file:
            pickle.dump(snapshot, file, 4)
        self.convert(self.path("raw.pickle"), self.path("out.pickle"), "--protocol", "2")
        with open(self.path("out.pickle"), "rb") as file:
            ours = file.read()

        def imports(text):
            return [name for opcode, name, _ in pickletools.genops(text) if opcode.name == "GLOBAL"]
        self.assertEqual(imports(ours), imports(pickle.dumps(snapshot, 2)))

    def test_bytes_in_json_are_base64_for_everybody(self):
        raw = bytes(range(256))
        snapshot = {"segments": [], "raw": raw, "(bytes)": 1, "((bytes)": {"(bytes)": "AP8="},
                    "no_base64": {"(bytes)": "?"}, "more": {"(bytes)": "AP8=", "k": 1}, "(": "("}
        with open(self.path("raw.pickle"), "wb") as file:
            pickle.dump(snapshot, file, 4)
        self.convert(self.path("raw.pickle"), self.path("out.json"))
        with open(self.path("out.json")) as file:
            written = json.load(file)
        self.assertEqual(base64.b64decode(written["raw"].pop("(bytes)"), validate=True), raw)
        self.assertEqual(written["raw"], {})
        self.convert(self.path("out.json"), self.path("back.pickle"))
        self.assertEqual(load(self.path("back.pickle")), snapshot)

    def test_what_follows_the_pickle_is_mentioned(self):
        with open(FILES[0], "rb") as file:
            good = file.read()
        with open(self.path("long.pickle"), "wb") as file:
            file.write(good + b"tail")
        self.assertIn("goes on for 4 bytes",
                      self.convert(self.path("long.pickle"), self.path("out.pickle")))

    def test_texts_that_are_not_utf8_are_mentioned_once(self):
        frames = [{"name": "f", "filename": name, "line": 1} for name in ("a?.py", "b?.py")]
        snapshot = {"segments": [], "device_traces": [
            [], [{"action": "alloc", "addr": 1, "size": 2, "stream": 0, "time_us": 3,
                  "frames": frames, "user_metadata": "half \udcff"}]]}
        odd = pickle.dumps(snapshot).replace(b"?.py", b"\xff.py")
        with open(self.path("odd.pickle"), "wb") as file:
            file.write(odd)
        said = self.convert(self.path("odd.pickle"), self.path("out.json"))
        self.assertEqual(said.count("UTF-8"), 1)
        self.assertIn("odd.pickle has 2 texts that are not UTF-8, the first in "
                      "device_traces[1][0].frames[0].filename", said)
        with open(self.path("out.json"), encoding="utf-8") as file:
            entry = json.load(file)["device_traces"][1][0]
        self.assertEqual(entry["frames"][0]["filename"], "a\ufffd.py")
        self.assertEqual(entry["user_metadata"], "half \udcff")
        self.convert(self.path("odd.pickle"), self.path("out.pickle"))
        with open(self.path("out.pickle"), "rb") as file:
            self.assertIn(b"b\xff.py", file.read())
        self.assertEqual(self.convert(FILES[0], self.path("out.json")), "")

    def test_key_order_survives(self):
        for source in FILES:
            self.convert(source, self.path("out.pickle"))
            before, after = load(source), load(self.path("out.pickle"))
            self.assertEqual(list(before), list(after))
            for trace, copy in zip(before["device_traces"], after["device_traces"]):
                for entry, twin in zip(trace, copy):
                    self.assertEqual(list(entry), list(twin))

    def test_json_is_what_python_would_write(self):
        for source in FILES:
            with self.subTest(source):
                self.convert(source, self.path("out.json"))
                with open(self.path("out.json")) as file:
                    self.assertEqual(json.load(file), plain(load(source)))

    def test_there_and_back_through_json_and_sqlite(self):
        for source in FILES:
            for between in ("between.json", "between.sqlite"):
                with self.subTest(source=source, between=between):
                    self.convert(source, self.path(between))
                    self.convert(self.path(between), self.path("back.pickle"))
                    self.assertEqual(load(self.path("back.pickle")), load(source))

    def test_odd_values_and_unknown_parts_survive(self):
        snapshot = odd_snapshot()
        for protocol in (2, 3, 4, 5):
            with open(self.path("odd.pickle"), "wb") as file:
                pickle.dump(snapshot, file, protocol)
            self.convert(self.path("odd.pickle"), self.path("out.pickle"))
            self.assertEqual(load(self.path("out.pickle")), snapshot)
        for between in ("between.json", "between.sqlite"):
            self.convert(self.path("odd.pickle"), self.path(between))
            self.convert(self.path(between), self.path("back.pickle"))
            self.assertEqual(plain(load(self.path("back.pickle"))), plain(snapshot))

    def test_keys_that_are_no_text_survive_every_kind_of_file(self):
        odd = {(0, 1): 5, b"bytes": [], 7: {("a", (2, -3), b"b"): None}, None: 1.0, True: "x",
               2.5: (), (): {}, "(dict)": [[1, 2]], "text": {"(dict)": [[b"no", "pair", 3]]}}
        snapshot = {"segments": [], "odd": odd, b"outermost": [1], (1, 2): odd,
                    "device_traces": [[{"action": "alloc", "addr": 1, "size": 2, "x": {b"k": 3}}]],
                    "(dict)": {"(dict)": [["only", "texts"]]}}
        with open(self.path("odd.pickle"), "wb") as file:
            pickle.dump(snapshot, file, 4)
        for between in ("between.pickle", "between.sqlite", "between.json"):
            for protocol in ("2", "5"):
                with self.subTest(between=between, protocol=protocol):
                    self.convert(self.path("odd.pickle"), self.path(between))
                    self.convert(self.path(between), self.path("back.pickle"), "--protocol",
                                 protocol)
                    back = load(self.path("back.pickle"))
                    if between.endswith("json"):  # values that are tuples are lists there
                        self.assertEqual(plain(back), plain(snapshot))
                    else:
                        self.assertEqual(back, snapshot)
                    self.assertEqual([list(map(type, part["odd"])) for part in (back, snapshot)],
                                     2 * [list(map(type, odd))])

    def test_json_writes_keys_as_python_does_where_it_can(self):
        snapshot = {"segments": [], "numbers": {1: 2, None: 3, True: 4, 1.5: 5}}
        with open(self.path("odd.pickle"), "wb") as file:
            pickle.dump(snapshot, file, 4)
        self.convert(self.path("odd.pickle"), self.path("out.json"))
        with open(self.path("out.json")) as file:
            self.assertEqual(json.load(file), json.loads(json.dumps(snapshot)))

    def test_shared_and_circular_parts_stay_so_in_a_pickle(self):
        around = []
        around.append(around)
        twice = [1]
        with open(self.path("loop.pickle"), "wb") as file:
            pickle.dump({"segments": [], "around": around, "twice": [twice, twice]}, file, 4)
        self.convert(self.path("loop.pickle"), self.path("out.pickle"))
        back = load(self.path("out.pickle"))
        self.assertIs(back["around"][0], back["around"])
        self.assertIs(back["twice"][0], back["twice"][1])
        self.assertIn("contain themselves",
                      self.convert(self.path("loop.pickle"), self.path("x.json"), code=3))

    def test_a_small_file_cannot_become_an_endless_json(self):
        value = ["ha"] * 10
        for _ in range(12):
            value = [value] * 10
        with open(self.path("laugh.pickle"), "wb") as file:
            pickle.dump({"segments": [], "laugh": value}, file, 4)
        self.convert(self.path("laugh.pickle"), self.path("out.pickle"))
        self.assertLess(os.path.getsize(self.path("out.pickle")), 4096)
        self.assertIn("share their way",
                      self.convert(self.path("laugh.pickle"), self.path("x.json"), code=3))

    def test_sqlite_answers_questions(self):
        self.convert("tools/snapshot/testdata/oom_fragmented.pickle", self.path("oom.sqlite"))
        with sqlite3.connect(self.path("oom.sqlite")) as database:
            held, = database.execute(
                "SELECT sum(size) FROM blocks WHERE state = 'active_allocated'").fetchone()
            self.assertEqual(held, 2938896384)
            text, = database.execute(
                "SELECT text FROM stack_text JOIN blocks USING (stack_id) LIMIT 1").fetchone()
            self.assertIn("model.py:49 <module>", text)
        database.close()

    def test_pipes_work_in_both_directions(self):
        with open(FILES[0], "rb") as file:
            done = subprocess.run([GRAPHTREE, "memory", "convert", "-", "-", "--to", "json"],
                                  stdin=file, capture_output=True, check=True)
        self.assertEqual(json.loads(done.stdout), plain(load(FILES[0])))

    def test_outputs_that_cannot_be_written_are_refused(self):
        for target in ("/nonexistent/x.pickle", self.folder.name + "/", "/proc/x.sqlite"):
            options = ["--to", "pickle"] if not target.endswith("sqlite") else []
            self.assertIn("cannot", self.convert(FILES[0], target, *options, code=3))
        self.assertIn("No space", self.convert(FILES[0], "/dev/full", "--to", "json", code=3))
        self.assertIn("--to", self.convert(FILES[0], self.path("x.bin"), code=2))
        self.assertIn("--protocol is a pickle's",
                      self.convert(FILES[0], self.path("x.json"), "--protocol", "4", code=2))
        self.assertIn("--protocol 6", self.convert(FILES[0], self.path("x.pickle"), "--protocol",
                                                   "6", code=2))
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_damaged_sqlite_files_are_refused(self):
        self.convert(FILES[0], self.path("good.sqlite"))
        with open(self.path("good.sqlite"), "rb") as file:
            good = file.read()
        for size in range(16, len(good), len(good) // 40):
            with open(self.path("cut.sqlite"), "wb") as file:
                file.write(good[:size])
            done = subprocess.run([GRAPHTREE, "memory", "stats", self.path("cut.sqlite")],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 3, size)
        empty = self.path("empty.sqlite")
        with sqlite3.connect(empty) as database:
            database.execute("CREATE TABLE other (x)")
        database.close()
        done = subprocess.run([GRAPHTREE, "memory", "stats", empty], capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no allocator snapshot", done.stderr)

    def test_an_endless_view_in_a_made_up_sqlite_file_is_not_followed(self):
        self.convert(FILES[0], self.path("trap.sqlite"))
        with sqlite3.connect(self.path("trap.sqlite")) as database:
            database.executescript(
                "DROP VIEW stack_text; DROP TABLE root; CREATE VIEW root AS WITH RECURSIVE "
                "r(position) AS (SELECT 0 UNION ALL SELECT position + 1 FROM r) "
                "SELECT position, 'k' AS key, '1' AS value FROM r;")
        database.close()
        done = subprocess.run([GRAPHTREE, "memory", "stats", self.path("trap.sqlite")],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3)


if __name__ == "__main__":
    unittest.main()
