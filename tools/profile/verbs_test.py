"""`graphtree profile` as a user runs it: real and made traces, other programs' readers, exit codes.

  verbs_test.py GRAPHTREE
"""

import collections
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, "tools/profile/testing")
import perfetto  # noqa: E402

GRAPHTREE = os.path.abspath(sys.argv.pop(1))
REAL = "tools/trace/testdata"
CORPUS = "tools/trace/testdata/corpus"
SAMPLE = "profiler/trace/testdata/sample.json"
NAMES = ("torch_2_11_graph_replays", "torch_2_11_compiled", "torch_2_11_reduce_overhead",
         "torch_2_13_cpu")
GPU = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")
# What a kernel is, said at its launch in PyTorch's file.
JOINED = {"scopes"}
BASE = "baseTimeNanoseconds"


def run(*words, given=None):
    return subprocess.run([GRAPHTREE, "profile", *words], input=given, capture_output=True,
                          check=False)


def complete(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e.get("cat") != "Trace"], trace


def nanoseconds(microseconds):
    return round(microseconds * 1000)


class ProfileCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def convert(self, source, name, *options):
        done = run("convert", source, self.path(name), *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path(name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)


class ConvertTest(ProfileCase):
    def test_json_keeps_every_event_and_argument_of_pytorch(self):
        for name in NAMES:
            with self.subTest(name):
                before, old = complete(f"{REAL}/{name}.json")
                after, new = complete(self.convert(f"{REAL}/{name}.json", "out.json"))
                self.assertEqual(new[BASE], old[BASE])
                self.assertEqual(len(after), len(before))
                for one, other in zip(before, after):
                    for key in ("name", "cat", "ts", "pid", "tid"):
                        self.assertEqual(one[key], other[key], one)
                    self.assertAlmostEqual(one["dur"], other["dur"], 6)
                    arguments = one.get("args", {})
                    for key, value in arguments.items():
                        self.assertEqual(other["args"].get(key), value, (key, one))
                    self.assertLessEqual(set(other["args"]) - set(arguments), JOINED, one)

    def test_json_keeps_the_arrows_of_pytorch(self):
        path = f"{REAL}/torch_2_13_cpu.json"
        arrows = []
        for source in (path, self.convert(path, "out.json")):
            _, trace = complete(source)
            arrows.append([e for e in trace["traceEvents"] if e.get("cat") == "fwdbwd"])
        self.assertGreater(len(arrows[0]), 10)
        self.assertEqual(arrows[0], arrows[1])

    def test_whatever_is_read_is_written_as_json_for_everybody(self):
        written = 0
        for name in sorted(os.listdir(CORPUS)):
            with self.subTest(name):
                if run("convert", f"{CORPUS}/{name}", self.path("out.json")).returncode == 0:
                    events, _ = complete(self.path("out.json"))
                    written += len(events)
        self.assertGreater(written, 50)

    def test_json_twice_is_the_same(self):
        first = self.convert(f"{REAL}/torch_2_11_compiled.json", "first.json")
        second = self.convert(first, "second.json")
        with open(first, "rb") as one, open(second, "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_perfetto_has_every_slice_with_its_time(self):
        for source in [f"{REAL}/{name}.json" for name in NAMES] + [SAMPLE]:
            with self.subTest(source):
                events, trace = complete(source)
                with open(self.convert(source, "out.pftrace"), "rb") as file:
                    packets = perfetto.read_trace(file.read())
                slices = perfetto.slices(packets)
                wanted = collections.Counter(
                    (e["name"], e["cat"], trace[BASE] + nanoseconds(e["ts"]),
                     trace[BASE] + nanoseconds(e["ts"]) + nanoseconds(e["dur"])) for e in events)
                found = collections.Counter((s["name"], s["category"], s["start"], s["end"])
                                            for s in slices)
                self.assertEqual(found, wanted)

    def test_perfetto_says_what_an_op_is_and_who_launched_it(self):
        with open(self.convert(SAMPLE, "out.pftrace"), "rb") as file:
            slices = perfetto.slices(perfetto.read_trace(file.read()))
        attend = [s for s in slices if s["name"] == "attend"]
        self.assertEqual(len(attend), 2)
        self.assertEqual(attend[0]["facts"]["graph node id"], 3 << 32 | 3)
        self.assertEqual(attend[0]["facts"]["kernel_file"], "kernels/norm.py")
        self.assertEqual(attend[0]["facts"]["more"], '{"priority":0}')
        launches = {s["flow"] for s in slices if s["flow"]}
        first_ops = [s["last_of_flow"] for s in slices if s["last_of_flow"]]
        self.assertEqual(launches, {6, 7, 8})
        self.assertEqual(sorted(first_ops), [6, 7, 8])

    def test_perfetto_names_threads_that_are_named_late(self):
        with open(self.convert(f"{REAL}/torch_2_11_compiled.json", "o.pftrace"), "rb") as file:
            packets = perfetto.read_trace(file.read())
        names = {p["track"]["uuid"]: p["track"].get("thread", {}).get("name")
                 for p in packets if "thread" in p.get("track", {})}
        self.assertIn("thread 523 (python3)", names.values())

    def test_perfetto_is_readable_wherever_it_ends(self):
        with open(self.convert(SAMPLE, "out.pftrace"), "rb") as file:
            data = file.read()
        whole = perfetto.read_trace(data)
        for size in range(0, len(data), 7):
            packets = perfetto.read_trace(data[:size])
            self.assertEqual(packets, whole[:len(packets)])

    def test_sqlite_answers_in_sql(self):
        events, _ = complete(f"{REAL}/torch_2_11_graph_replays.json")
        with sqlite3.connect(self.convert(f"{REAL}/torch_2_11_graph_replays.json",
                                          "out.sqlite")) as database:
            rows = database.execute("SELECT count(*), sum(duration_ns) FROM ops").fetchone()
            launched = database.execute(
                "SELECT count(*) FROM launched WHERE launch = 'cudaGraphLaunch'").fetchone()
            late = database.execute(
                "SELECT min(launch_to_start_ns) FROM launched WHERE launch IS NOT NULL").fetchone()
        database.close()
        on_device = [e for e in events if e["cat"] in GPU]
        self.assertEqual(rows, (len(on_device), sum(nanoseconds(e["dur"]) for e in on_device)))
        self.assertEqual(launched, (44,))
        self.assertGreater(late[0], 0)

    def test_folded_stacks_add_up(self):
        events, _ = complete(SAMPLE)
        with open(self.convert(SAMPLE, "out.folded"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines),
                         sum(nanoseconds(e["dur"]) for e in events if e["cat"] in GPU))
        self.assertIn('llama "8B";decode;tree node 5;layer 3;attention;norm<bf16> 6001', lines)

    def test_svg_is_xml_with_a_frame_for_each_op(self):
        root = xml.etree.ElementTree.parse(self.convert(SAMPLE, "out.svg")).getroot()
        titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertTrue(any("attend" in title and "12.0 us" in title for title in titles), titles)

    def test_lanes_by_tree_node(self):
        events, _ = complete(self.convert(SAMPLE, "out.json", "--lanes", "node"))
        self.assertEqual({e["tid"] for e in events if e["cat"] == "kernel"}, {2**32 + 5})

    def test_what_makes_no_sense_is_refused(self):
        for words, said in ((("a.json", "b.xyz"), b"does not say what to write"),
                            ((SAMPLE, SAMPLE), b"overwritten"),
                            ((SAMPLE, "-", "--to", "sqlite"), b"needs a file"),
                            ((SAMPLE, "x.svg", "--lanes", "node"), b"no timeline")):
            done = run("convert", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(said, done.stderr)

    def test_bad_input_leaves_no_output(self):
        source = self.write("no.json", "hello")
        for name in ("out.json", "out.pftrace", "out.sqlite", "out.svg", "out.folded"):
            done = run("convert", source, self.path(name))
            self.assertEqual(done.returncode, 3)
            self.assertIn(b"no trace", done.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["no.json"])


class ShowTest(ProfileCase):
    def test_numbers_are_those_of_the_file(self):
        events, _ = complete(f"{REAL}/torch_2_11_graph_replays.json")
        done = run("show", f"{REAL}/torch_2_11_graph_replays.json", "--json")
        shown = json.loads(done.stdout)
        kernels = collections.defaultdict(list)
        for event in events:
            if event["cat"] == "kernel":
                kernels[event["name"]].append(nanoseconds(event["dur"]))
        found = collections.defaultdict(lambda: [0, 0])
        for op in shown["ops"]:
            if op["kind"] == "kernel":
                found[op["name"]][0] += op["duration"]["count"]
                found[op["name"]][1] += op["duration"]["total"]
        self.assertEqual({name: [len(times), sum(times)] for name, times in kernels.items()},
                         dict(found))
        replay, = shown["replays"]
        self.assertEqual((replay["wall"]["count"], replay["ops"]), (4, 11))
        self.assertGreater(replay["latency"]["min"], 10000)

    def test_text_names_what_matters(self):
        text = run("show", SAMPLE).stdout.decode()
        eager = run("show", f"{REAL}/torch_2_11_graph_replays.json").stdout.decode()
        self.assertIn("ops were launched one by one", " ".join(eager.split()))
        for part in ("2 replays of 1 graph", "decode, tree node 5", "attend", "fused path",
                     "2 records were dropped", "request 81", "pool bytes live"):
            self.assertIn(part, text)

    def test_cut_trace_is_shown_as_far_as_it_goes(self):
        with open(SAMPLE, encoding="utf-8") as file:
            text = file.read()
        done = run("show", self.write("cut.json", text[:text.rindex('"attend"')]))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"The trace is not whole: the file ends after", done.stdout)
        self.assertIn(b"norm<bf16>", done.stdout)

    def test_standard_input(self):
        with open(SAMPLE, "rb") as file:
            done = run("show", "-", given=file.read())
        self.assertIn(b"standard input: 7 ops", done.stdout)

    def test_compressed_file_and_pipe(self):
        with open(SAMPLE, "rb") as file:
            packed = gzip.compress(file.read())
        with open(self.path("trace.json.gz"), "wb") as file:
            file.write(packed)
        self.assertIn(b": 7 ops", run("show", self.path("trace.json.gz")).stdout)
        self.assertIn(b": 7 ops", run("show", "-", given=packed).stdout)
        with open(self.path("trace.json.gz"), "wb") as file:
            file.write(packed[:len(packed) // 2])
        self.assertIn(b"not whole", run("show", self.path("trace.json.gz")).stdout)

    def test_only_one_function(self):
        done = run("show", SAMPLE, "--function", "decode")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(run("show", SAMPLE, "--function", "prefill").returncode, 2)

    def test_files_that_are_no_trace(self):
        for words in ((self.path("missing.json"),), ("tools",), ("profiler/README.md",),
                      ("tools/trace/testdata/README.md",)):
            self.assertEqual(run("show", *words).returncode, 3, words)


class DiffTest(ProfileCase):
    def test_the_same_program_twice_is_no_difference(self):
        done = run("diff", f"{REAL}/torch_2_11_graph_replays.json",
                   f"{REAL}/torch_2_11_graph_replays_again.json")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn(b"slower", done.stdout)

    def many(self, name, attend_ns):
        events = []
        for replay in range(400):
            at = replay * 100
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1,
                           "tid": 1, "ts": at, "dur": 4, "args": {"correlation": replay + 1}})
            for op, ns in (("norm", 2000), ("attend", attend_ns)):
                events.append({"ph": "X", "cat": "kernel", "name": op, "pid": 0, "tid": 7,
                               "ts": at + 10 + (5 if op == "attend" else 0),
                               "dur": (ns + replay % 7 * 10) / 1000,
                               "args": {"correlation": replay + 1, "stream": 7, "device": 0}})
        return self.write(name, json.dumps({"traceEvents": events}))

    def test_the_slower_op_is_named_and_is_the_exit_code(self):
        before, after = self.many("before.json", 3000), self.many("after.json", 3300)
        done = run("diff", before, after, "--json")
        self.assertEqual(done.returncode, 1)
        verdicts = {op["name"]: op["verdict"] for op in json.loads(done.stdout)["ops"]}
        self.assertEqual(verdicts, {"attend": "slower", "norm": "same"})
        self.assertEqual(run("diff", after, before).returncode, 0)
        self.assertIn(b"attend", run("diff", before, after).stdout)

    def test_wrong_use(self):
        self.assertEqual(run("diff", SAMPLE, SAMPLE, "--least", "-1").returncode, 2)
        self.assertEqual(run("diff", "-", "-").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
