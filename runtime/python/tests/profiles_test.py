"""Profiles, scopes and watchers: what is in the file, what is told, and what is an error."""

import json
import os
import tempfile
import threading
import unittest

import graphtree
from world import WORDS, TreeTest


class WatchedTest(TreeTest):
    """A tree whose function is called step by step."""

    def setUp(self):
        super().setUp()
        self.x = self.words(4)
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "trace.json")

    def close_more(self):
        del self.x
        self.folder.cleanup()
        super().close_more()

    def steps(self, count):
        """So many calls, each in a step of its own."""
        for _ in range(count):
            self.tree.begin_step()
            self.assertEqual(self.add_three(self.x).tolist(), [7] * WORDS)

    def events(self):
        """What the file has."""
        with open(self.path, encoding="utf-8") as file:
            return json.load(file)["traceEvents"]


class ProfileTest(WatchedTest):
    """Files of profiles, read back."""

    def test_every_launch_is_there_and_every_op_has_its_name(self):
        self.steps(2)
        with graphtree.Profile(self.device, self.path) as profile:
            self.steps(5)
        self.assertEqual(profile.report.mode, "full")
        self.assertEqual(profile.report.why_not_full, "")
        self.assertEqual((profile.report.mismatched, profile.report.dropped), (0, 0))
        self.assertGreaterEqual(profile.report.launches, 5)
        events = self.events()
        names = [event.get("name") for event in events]
        self.assertEqual(names.count("cudaGraphLaunch add_three"), 5)
        kernels = [event["name"] for event in events if event.get("cat") == "kernel"]
        self.assertEqual(kernels.count("add"), 5)
        self.assertNotIn("", kernels)
        self.assertNotIn("unknown op", kernels)
        self.assertGreaterEqual(profile.report.ops, len(kernels))

    def test_scopes_are_in_the_file(self):
        @self.tree.function
        def layers(on, x):
            with graphtree.scope("layer 3", on=on):
                return self.plus(on, x, 1)

        with graphtree.Profile(self.device, self.path), \
                graphtree.scope("decode", on=self.tree):
            for _ in range(4):
                self.tree.begin_step()
                self.assertEqual(layers(self.x).tolist(), [5] * WORDS)
        with open(self.path, encoding="utf-8") as file:
            self.assertIn("layer 3;decode", file.read())

    def test_host_and_light_modes(self):
        for mode in ("host", "light"):
            with graphtree.Profile(self.device, self.path, mode, light_in=1) as profile:
                self.assertEqual(profile.mode, mode)
                self.steps(3)
            self.assertEqual((profile.mode, profile.report.mode), (mode, mode))
            self.assertEqual(profile.report.why_not_full, "")
            self.events()

    def test_figures_without_a_file(self):
        self.steps(2)
        with graphtree.Profile(self.device) as profile:
            self.steps(5)
        rows = {(row["level"], row["op"] or row["function"]): row for row in profile.figures()}
        self.assertEqual(rows[("function", "add_three")]["count"], 5)
        self.assertEqual(rows[("node", "add_three")]["count"], 5)
        add = rows[("op", "add")]
        self.assertEqual(add["count"], 5)
        self.assertLessEqual(add["min_ns"], add["p50_ns"])
        self.assertLessEqual(add["p50_ns"], add["p99_ns"])
        self.assertIn("add of add_three", profile.table())
        self.assertEqual(profile.report.lingers, 0)
        self.assertTrue(graphtree.leave_cupti())
        self.assertTrue(graphtree.leave_cupti(force=True))

    def test_figures_want_to_be_asked_for(self):
        with graphtree.Profile(self.device, self.path, "host") as profile:
            with self.assertRaisesRegex(graphtree.FailedPrecondition, "figures"):
                profile.table()

    def test_labels_of_requests(self):
        self.steps(2)
        with graphtree.Profile(self.device, self.path, "host"):
            with graphtree.label("request 81"), graphtree.label("token 4"):
                self.steps(1)
        names = [event.get("name") for event in self.events()]
        self.assertEqual((names.count("request 81"), names.count("token 4")), (1, 1))
        with self.assertRaisesRegex(TypeError, "the label is 5"):
            graphtree.label(5)
        with self.assertRaises(graphtree.InvalidArgument):
            with graphtree.label(""):
                pass

    def test_for_perfetto(self):
        path = os.path.join(self.folder.name, "trace.pftrace")
        with graphtree.Profile(self.device, path):
            self.steps(3)
        self.assertGreater(os.path.getsize(path), 0)

    def test_a_window_of_replays(self):
        self.steps(2)
        with graphtree.Profile(self.device, self.path, "host", most_replays=2) as profile:
            self.assertFalse(profile.wait(0))
            self.steps(3)
            self.assertTrue(profile.wait())
        self.assertTrue(profile.wait())

    def test_a_window_of_time(self):
        with graphtree.Profile(self.device, self.path, "host", most_seconds=0.001) as profile:
            self.assertTrue(profile.wait())

    def test_a_wait_of_no_time_is_told(self):
        with graphtree.Profile(self.device, self.path, "host") as profile:
            with self.assertRaisesRegex(ValueError, "nan"):
                profile.wait(float("nan"))
            self.assertFalse(profile.wait(-1))

    def test_two_are_one_too_many(self):
        with graphtree.Profile(self.device, self.path, "host") as first:
            with self.assertRaisesRegex(graphtree.FailedPrecondition, "runs in this process"):
                graphtree.Profile(self.device, self.path, "host")
            with self.assertRaisesRegex(graphtree.FailedPrecondition, "still runs"):
                _ = first.report
            self.steps(3)
        self.assertGreaterEqual(first.report.launches, 2)
        self.assertIs(first.stop(), first.report)

    def test_a_device_is_not_closed_while_one_runs(self):
        device = graphtree.Device("host")
        with graphtree.Profile(device, self.path, "host"):
            with self.assertRaisesRegex(graphtree.FailedPrecondition, "profiles left"):
                device.close()
        device.close()

    def test_a_runtimes_pools_are_lines(self):
        with graphtree.Runtime([self.device]) as runtime:
            with graphtree.Profile(self.device, self.path, "host", runtime=runtime) as profile:
                self.steps(2)
        self.assertEqual(profile.report.mode, "host")

    def test_what_makes_no_sense(self):
        def profile(*given, **named):
            with self.assertRaises((TypeError, ValueError, graphtree.Error)) as raised:
                graphtree.Profile(*given, **named)
            return str(raised.exception)

        self.assertIn("'fast'", profile(self.device, self.path, "fast"))
        self.assertIn("0 replays", profile(self.device, self.path, most_replays=0))
        self.assertIn("0 seconds", profile(self.device, self.path, most_seconds=0))
        self.assertIn(".pftrace", profile(self.device, "trace.txt"))
        self.assertIn("the path", profile(self.device, 5))
        self.assertIn("the device", profile(self.tree, self.path))
        self.assertIn("the runtime", profile(self.device, self.path, runtime=self.tree))
        self.assertIn("cannot write", profile(self.device, "/nowhere/at/all/trace.json"))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_disk_is_told_at_the_end(self):
        os.symlink("/dev/full", self.path)
        profile = graphtree.Profile(self.device, self.path, "host")
        self.steps(3)
        with self.assertRaises(graphtree.Unavailable):
            profile.close()
        self.assertGreaterEqual(profile.report.launches, 2)
        self.assertTrue(profile.closed)


class WatcherTest(WatchedTest):
    """Watchers, and what they are told."""

    def test_counts(self):
        seen = []
        with graphtree.Watcher(seen.append, self.tree, ops=True, phases=True) as watcher:
            self.steps(4)
        moments = [event.moment for event in seen]
        self.assertEqual(moments.count("INSTANTIATE"), 1)
        self.assertEqual(moments.count("REPLAY_END"), 3)
        kinds = [event.kind for event in seen]
        self.assertGreaterEqual(kinds.count("OP_BEGIN"), 1)
        self.assertEqual(kinds.count("OP_BEGIN"), kinds.count("OP_END"))
        self.assertEqual(kinds.count("PHASE_BEGIN"), kinds.count("PHASE_END"))
        self.assertIn("WARM_UP", [event.phase for event in seen])
        self.assertIn("add", [event.op for event in seen])
        self.assertEqual({event.function for event in seen if event.function}, {"add_three"})
        self.assertEqual(len({event.tree for event in seen}), 1)
        self.assertEqual(watcher.failures, 0)
        before = len(seen)
        self.steps(1)
        self.assertEqual(len(seen), before)

    def test_of_all_trees_on_all_threads(self):
        trees = set()
        with graphtree.Watcher(lambda event: trees.add(event.tree)):
            self.steps(3)

            def other():
                with graphtree.Tree(self.device) as tree:
                    function = tree.function(lambda on, x: self.plus(on, x, 1))
                    for _ in range(3):
                        tree.begin_step()
                        function(self.x)
                    del function

            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        self.assertEqual(len(trees), 2)

    def test_replays_in_samples(self):
        seen = []
        with graphtree.Watcher(seen.append, self.tree, graphs=False, replay_in=2):
            self.steps(5)
        self.assertEqual([event.moment for event in seen], ["REPLAY_BEGIN", "REPLAY_END"] * 2)

    def test_one_that_raises_is_counted_and_the_call_goes_on(self):
        def saw(event):
            raise KeyError(event.moment)
        with graphtree.Watcher(saw, self.tree) as watcher:
            self.steps(3)
        self.assertGreater(watcher.failures, 1)
        self.assertIsInstance(watcher.last_failure, KeyError)
        self.stream.synchronize()

    def test_one_that_ends_within_its_call(self):
        seen = []

        def saw(event):
            seen.append(event)
            watcher.end()
        watcher = graphtree.Watcher(saw, self.tree)
        self.steps(3)
        self.assertEqual(len(seen), 1)
        self.assertEqual(watcher.failures, 0)
        watcher.close()
        del watcher

    def test_one_that_closes_within_its_call_is_told(self):
        watcher = None

        def saw(_):
            watcher.close()
        watcher = graphtree.Watcher(saw, self.tree)
        self.steps(3)
        self.assertIsInstance(watcher.last_failure, graphtree.FailedPrecondition)
        watcher.close()
        watcher = None

    def test_what_is_no_watcher(self):
        with self.assertRaisesRegex(TypeError, "the watcher is None"):
            graphtree.Watcher(None)
        with self.assertRaisesRegex(TypeError, "the tree is 5"):
            graphtree.Watcher(print, 5)
        with self.assertRaisesRegex(TypeError, "on is 5"):
            graphtree.scope("layer", on=5)
        with self.assertRaisesRegex(TypeError, "the scope's name is 5"):
            graphtree.scope(5, on=self.tree)


if __name__ == "__main__":
    unittest.main()
