"""The tidy test's own test: a planted tree in which every rule must fire, and what must not."""

import os
import re
import tempfile
import unittest

import rules_calls
import rules_classes
import rules_environment
import rules_includes
import rules_length
import source
import tidy

_HEAD = "// A planted file.\n"


def _findings(path, text, others=()):
    """The rules that fire for one planted file, as "rule:line"."""
    planted = source.Source(path, text.encode() if isinstance(text, str) else text)
    readmes = [source.Source(folder + "/README.md", b"x\n") for folder in source.FOLDERS]
    rest = [source.Source(other, b"") for other in others]
    found = [f for f in tidy.findings(readmes + rest + [planted]) if f.path == path]
    return ["%s:%d" % (f.rule, f.line) for f in found]


class EnvironmentTest(unittest.TestCase):

    def rules(self, path, text):
        """What fires beside a list of one setting and one other variable."""
        known = source.Source("runtime/configuration.cc",
                              b'"GRAPHTREE_TOOL" GRAPHTREE_SETTING("MODE", x)')
        planted = source.Source(path, text.encode())
        return ["%s:%d" % (f.rule, f.line)
                for f in rules_environment.check([known, planted])]

    def test_what_is_read_is_listed(self):
        self.assertEqual(self.rules("tools/a.cc", '\nstd::getenv("GRAPHTREE_NEW")'),
                         ["environment:2"])
        self.assertEqual(self.rules("runtime/python/a.py", "os.environ['GRAPHTREE_NEW']"),
                         ["environment:1"])
        for fine in ['getenv("GRAPHTREE_TOOL")', 'getenv("GRAPHTREE_MODE")', '"GRAPHTREE_"',
                     "#define GRAPHTREE_NEW", '"NOT_GRAPHTREE_NEW"']:
            self.assertEqual(self.rules("tools/a.cc", fine), [], fine)
        self.assertEqual(self.rules("tools/a.md", '"GRAPHTREE_NEW"'), [])

    def test_without_a_list_nothing_is_held(self):
        planted = source.Source("tools/a.cc", b'"GRAPHTREE_NEW"')
        self.assertEqual(list(rules_environment.check([planted])), [])


class IncludeTest(unittest.TestCase):

    def expect(self, path, include, wanted, others=()):
        got = [f.split(":")[0] for f in _findings(path, _HEAD + "#include %s\n" % include, others)]
        got = [rule for rule in got if rule != "include-guard"]
        self.assertEqual(got, wanted, "%s includes %s" % (path, include))

    def test_direction(self):
        there = ["device/a.h", "allocator/a.h", "graphs/a.h", "runtime/a.h", "profiler/a.h",
                 "tests/a.h", "tools/a.h", "tools/benching/row.h"]
        for path, include, wanted in [
            ("device/b.cc", "allocator/a.h", "include-direction"),
            ("device/b.cc", "device/a.h", None),
            ("allocator/b.cc", "graphs/a.h", "include-direction"),
            ("allocator/b.cc", "device/a.h", None),
            ("allocator/b.cc", "profiler/a.h", "include-direction"),
            ("graphs/b.cc", "runtime/a.h", "include-direction"),
            ("graphs/b.cc", "profiler/a.h", "include-direction"),
            ("graphs/b.cc", "allocator/a.h", None),
            ("runtime/b.cc", "profiler/a.h", None),
            ("profiler/b.cc", "runtime/a.h", "include-direction"),
            ("profiler/b.cc", "allocator/a.h", "include-direction"),
            ("profiler/b.cc", "device/a.h", None),
            ("device/b.cc", "tests/a.h", "include-direction"),
            ("device/b_test.cc", "tests/a.h", None),
            ("device/b_bench.cc", "tools/benching/row.h", None),
            ("device/b.cc", "tools/benching/row.h", "include-direction"),
            ("device/b_test.cc", "tools/a.h", "include-direction"),
            ("device/b_test.cc", "graphs/a.h", "include-direction"),
            ("tests/b.cc", "runtime/a.h", None),
            ("tools/b.cc", "profiler/a.h", None),
        ]:
            self.expect(path, '"%s"' % include, [wanted] if wanted else [], there)

    def test_the_c_interface_stands_on_public_headers(self):
        there = ["graphs/tree.h", "graphs/run/call.h", "runtime/runtime.h", "runtime/core/lane.h",
                 "runtime/shapes/key.h", "runtime/shapes/cover_index.h", "runtime/c/graphtree.h",
                 "device/host/engine/engine.h", "device/base/check.h", "allocator/pool.h",
                 "allocator/books/ledger.h"]
        for include in there:
            inside = ("run/", "core/", "cover_index", "engine/", "books/")
            wrong = any(part in include for part in inside)
            self.expect("runtime/c/b.cc", '"%s"' % include,
                        ["include-direction"] if wrong else [], there)
            self.expect("runtime/c/b.c", '"%s"' % include,
                        ["include-direction"] if wrong else [], there)

    def test_the_door_of_graphs_leads_to_nothing_inside(self):
        there = ["graphs/tensor.h", "graphs/random/generator.h", "graphs/reports/outline.h",
                 "graphs/match/match.h", "graphs/run/call.h", "graphs/history/call_stack.h",
                 "allocator/ids.h", "allocator/books/ledger.h", "device/host/engine/engine.h"]
        for path, include, wanted in [
            ("graphs/tree.h", "graphs/tensor.h", None),
            ("graphs/tree.h", "graphs/random/generator.h", None),
            ("graphs/tree.h", "graphs/reports/outline.h", None),
            ("graphs/reports/outline.h", "graphs/match/match.h", "include-direction"),
            ("graphs/tree.h", "graphs/match/match.h", "include-direction"),
            ("graphs/random/source.h", "graphs/run/call.h", "include-direction"),
            ("graphs/tree.cc", "graphs/run/call.h", None),
            ("graphs/tree.h", "allocator/ids.h", None),
            ("graphs/tree.h", "allocator/books/ledger.h", "include-direction"),
            ("graphs/tree.h", "device/host/engine/engine.h", "include-direction"),
            ("graphs/run/b.h", "allocator/books/ledger.h", None),
            ("graphs/match/b.h", "graphs/tensor.h", None),
            ("graphs/match/b.cc", "graphs/history/call_stack.h", None),
            ("graphs/match/b.cc", "graphs/run/call.h", "include-direction"),
            ("graphs/match/b_test.cc", "graphs/run/call.h", None),
            ("graphs/history/b.cc", "graphs/match/match.h", "include-direction"),
            ("graphs/run/b.cc", "graphs/match/match.h", None),
            ("runtime/b.cc", "graphs/match/match.h", None),
        ]:
            self.expect(path, '"%s"' % include, [wanted] if wanted else [], there)

    def test_a_room_includes_of_its_folder_only_what_is_below_it(self):
        there = ["allocator/a.h", "allocator/snapshot/a.h", "device/base/a.h", "tools/benching/a.h",
                 "tools/snapshot/read/a.h", "tools/snapshot/analysis/a.h", "tools/memory/a.h",
                 "allocator/placement/a.h", "allocator/books/a.h", "allocator/pool_types.h",
                 "allocator/tests/a.h", "device/host/ops/a.h", "device/host/engine/a.h",
                 "device/host/host_options.h", "device/host/native.h"]
        for path, include, wanted in [
            ("allocator/snapshot/b.cc", "allocator/a.h", "include-direction"),
            ("allocator/snapshot/b_test.cc", "allocator/a.h", "include-direction"),
            ("allocator/snapshot/b.cc", "allocator/snapshot/a.h", None),
            ("allocator/snapshot/b.cc", "device/base/a.h", None),
            ("allocator/b.cc", "allocator/snapshot/a.h", None),
            ("tools/snapshot/read/b.cc", "tools/snapshot/analysis/a.h", "include-direction"),
            ("tools/snapshot/read/b.cc", "tools/memory/a.h", "include-direction"),
            ("tools/snapshot/read/b.cc", "allocator/a.h", None),
            ("tools/snapshot/analysis/b.cc", "tools/snapshot/read/a.h", None),
            ("tools/snapshot/replay/b_bench.cc", "tools/benching/a.h", None),
            ("tools/snapshot/b.cc", "tools/snapshot/analysis/a.h", None),
            ("allocator/books/b.cc", "allocator/placement/a.h", None),
            ("allocator/placement/b.cc", "allocator/books/a.h", "include-direction"),
            ("allocator/placement/b_test.cc", "allocator/books/a.h", "include-direction"),
            ("allocator/pool/b.cc", "allocator/pool_types.h", None),
            ("allocator/pool/b.cc", "allocator/a.h", "include-direction"),
            ("allocator/pool/b.cc", "allocator/tests/a.h", "include-direction"),
            ("allocator/b.h", "allocator/books/a.h", None),
            ("device/host/engine/b.cc", "device/host/ops/a.h", None),
            ("device/host/engine/b.cc", "device/host/host_options.h", None),
            ("device/host/engine/b.cc", "device/host/native.h", "include-direction"),
            ("device/host/ops/b.cc", "device/host/engine/a.h", "include-direction"),
            ("device/host/b.h", "device/host/engine/a.h", "include-direction"),
            ("device/host/b.cc", "device/host/engine/a.h", None),
        ]:
            self.expect(path, '"%s"' % include, [wanted] if wanted else [], there)

    def test_paths_start_at_the_root(self):
        self.expect("device/b.cc", '"a.h"', ["include-path"])
        self.expect("device/b.cc", '"device/missing.h"', ["include-path"])
        self.expect("device/b.cc", '"device/made.inc"', [])
        self.expect("device/b.cc", '"absl/status/status.h"', [])
        self.expect("device/b.cc", "<vector>", [])

    def test_native_headers(self):
        for header in ("<cuda.h>", "<cuda_runtime_api.h>", '"cuda_fp16.h"', "<nvrtc.h>"):
            self.expect("device/b.cc", header, ["cuda-header"])
            self.expect("tests/conformance/b.cc", header, ["cuda-header"])
            self.expect("device/cuda/b.cc", header, [])
            self.expect("tests/gpu/b_test.cc", header, [])
            self.expect("tests/kernels/b.cu", header, [])
        self.expect("profiler/b.cc", "<cupti.h>", ["cupti-header"])
        self.expect("device/cuda/b.cc", "<cupti_activity.h>", ["cupti-header"])
        self.expect("profiler/cupti/b.cc", "<cupti.h>", [])

    def test_allowed_files_have_a_reason(self):
        self.assertTrue(all(rules_includes.CUDA_ALLOWED.values()))


class CallTest(unittest.TestCase):

    # rule, a line that breaks it, lines that look alike and do not
    CASES = [
        ("print", "  std::cout << 1;", ['  Log("std::cout");', "  std::snprintf(a, 4, b);"]),
        ("print", '  printf("x");', ["  out.printf(x);", "  // printf(x)"]),
        ("getenv", '  std::getenv("HOME");', ["  MyGetenv();"]),
        ("exit", "  std::abort();", ["  stream.abort();", "  at_exit(f);"]),
        ("exit", "  exit(1);", ["  state->exit(1);"]),
        ("rand", "  int i = rand();", ["  int i = random(generator);", "  Grand();"]),
        ("random-device", "  std::random_device seed;", []),
        ("using-namespace", "using namespace std;", [
            "using std::string;", "using namespace a;  // NOLINT: its words"
        ]),
        ("exception", "  throw 1;", ["  throws = 1;"]),
        ("exception", "  try {", ["  try_again();"]),
        ("exception", "  } catch (...) {", ["  catch_up();"]),
        ("assert", "  assert(x);", ["  static_assert(x);"]),
        ("absl-mutex", "absl::Mutex mutex;", ["std::mutex mutex;"]),
        ("thread-local", "thread_local int i;", []),
        ("detach", "  thread.detach();", ["  pool.detach(block);"]),
        ("unsafe-text", "  sprintf(a, b);", ["  std::snprintf(a, 4, b);"]),
        ("number-text", "  std::stoi(a);", ["  StoiLike(a);"]),
        ("number-text", "  atoi(a);", []),
        ("build-time", "  F(__DATE__);", []),
        ("new", "  auto* x = new Thing();", [
            "  auto x = std::unique_ptr<Thing>(new Thing());", "  new_size = 3;",
            "  static auto* const x = new Thing();", "  ::new (place) Thing();"
        ]),
        ("delete", "  delete x;", ["  Thing(const Thing&) = delete;", "  void Delete(int);"]),
        ("delete", "  delete[] x;", []),
    ]

    def test_each_banned_call_fires_and_its_likeness_does_not(self):
        for rule, bad, good in self.CASES:
            got = _findings("device/a.cc", _HEAD + bad + "\n")
            self.assertEqual(got, [rule + ":2"], bad)
            for line in good:
                self.assertEqual(_findings("device/a.cc", _HEAD + line + "\n"), [], line)

    def test_every_rule_has_a_case(self):
        covered = {rule for rule, _, _ in self.CASES} | {"sleep", "kernel-namespace"}
        self.assertEqual({entry[0] for entry in rules_calls._BANNED} - covered, set())

    def test_sleep_is_for_tests_alone(self):
        line = _HEAD + "  std::this_thread::sleep_for(x);\n"
        self.assertEqual(_findings("device/a_test.cc", line), ["sleep:2"])
        self.assertEqual(_findings("tests/a.cc", line), ["sleep:2"])
        self.assertEqual(_findings("device/a.cc", line), [])
        loop = _HEAD + "  while (!done) {\n    std::this_thread::sleep_for(x);\n  }\n"
        self.assertEqual(_findings("tests/a.cc", loop), [])

    def test_kernels_have_names_that_no_build_changes(self):
        line = _HEAD + "namespace {\n"
        self.assertEqual(_findings("graphs/a.cu", line), ["kernel-namespace:2"])
        self.assertEqual(_findings("tools/a.cu", line), ["kernel-namespace:2"])
        self.assertEqual(_findings("tests/a.cu", line), [])
        self.assertEqual(_findings("graphs/a.cc", line), [])
        self.assertEqual(_findings("graphs/a.cu", _HEAD + "namespace pad {\n"), [])

    def test_tools_and_tests_may_speak_and_leave(self):
        text = _HEAD + '  std::cout << std::getenv("HOME");\n  std::exit(1);\n'
        self.assertEqual(_findings("tools/a.cc", text), [])
        self.assertEqual(_findings("device/a_test.cc", text), [])

    def test_exceptions_end_in_one_file(self):
        text = _HEAD + "  try {\n  } catch (...) {\n"
        self.assertEqual(_findings("device/base/guarded_call.cc", text), [])
        self.assertEqual(_findings("device/base/check.cc", text), ["exception:2", "exception:3"])

    def test_comments_and_strings_are_no_code(self):
        text = _HEAD + '/* throw 1;\n throw 2; */ Say("throw 3"); // throw 4\n'
        text += 'Say(R"x(throw 5;\nthrow 6;)x"); int i = 1\'000\'000;\nthrow 7;\n'
        self.assertEqual(_findings("device/a.cc", text), ["exception:6"])
        quotes = _HEAD + "Say('\\'', '\"'); throw 1;\n" + 'Say("\\\\"); throw 2;\n'
        self.assertEqual(_findings("device/a.cc", quotes), ["exception:2", "exception:3"])


class LengthTest(unittest.TestCase):

    def test_files(self):
        limit = rules_length.MOST_LINES_IN_FILE
        self.assertEqual(_findings("device/a.cc", _HEAD + ";\n" * (limit - 1)), [])
        self.assertEqual(_findings("device/a.cc", _HEAD + ";\n" * limit),
                         ["file-length:%d" % (limit + 1)])

    def body(self, lines):
        return "  x();\n" * (lines - 2)

    def test_functions_in_every_shape(self):
        for head in ("void F() {", "Thing::Thing(int a) : a_(a), b_{1} {", "TEST(A, B) {",
                     "auto f = [](int a) {", "template <typename T> T F(T a) noexcept {",
                     "  int Get() const override {", "GRAPHTREE_ROW(A, {.name = \"b\"}) {",
                     "[[nodiscard]] int F() {", "std::vector<int> F(std::vector<int> a = {}) {"):
            fine = _HEAD + head + "\n" + self.body(60) + "}\n"
            self.assertEqual(_findings("device/a.cc", fine), [], head)
            long = _HEAD + head + "\n" + self.body(61) + "}\n"
            self.assertEqual(_findings("device/a.cc", long), ["function-length:2"], head)

    def test_a_long_function_after_others_is_found(self):
        text = _HEAD + "namespace a {\nclass B : public C {\n  B() : x_{1}, y_({2}) {}\n"
        text += "  const int t[2] = {1, 2};\n  void F() {\n" + self.body(61) + "  }\n};\n}\n"
        self.assertEqual(_findings("device/a.cc", text), ["function-length:6"])

    def test_what_is_long_and_no_function(self):
        for head in ("namespace a {", "class B : public C<decltype(f())> {", "enum class E : int {",
                     "struct S {", "const Table kTable[] = {", "constexpr auto k = Make({"):
            self.assertEqual(_findings("device/a.cc", _HEAD + head + "\n" + "1,\n" * 80 + "}\n"),
                             [], head)

    def test_lambdas_and_branches_count_to_the_function_around(self):
        text = _HEAD + "void F() {\n  auto f = [&] {\n" + "  x();\n" * 30 + "  };\n  if (a) {\n"
        text += "  x();\n" * 30 + "  }\n}\n"
        self.assertEqual(_findings("device/a.cc", text), ["function-length:2"])

    def test_macros_do_not_upset_the_count(self):
        text = _HEAD + "#define OPEN(x) \\\n  if (x) {\nvoid F() {\n" + self.body(61) + "}\n"
        self.assertEqual(_findings("device/a.cc", text), ["function-length:4"])

    def test_python_and_shell(self):
        python = '"""X."""\n\n\ndef f():\n' + "    x()\n" * 60
        self.assertEqual(_findings("tools/a.py", python), ["function-length:4"])
        shell = "#!/usr/bin/env bash\n# X.\nf() {\n" + "  x\n" * 59 + "}\n"
        self.assertEqual(_findings("tools/a.sh", shell), ["function-length:3"])
        self.assertEqual(_findings("tools/a.sh", shell.replace("  x\n", "", 1)), [])


    def test_scripts_of_the_page(self):
        for head in ("export function draw(canvas, {width, height}) {", "function* all() {",
                     "test('a thing', () => {"):
            fine = "// X.\n" + head + "\n" + "  say(`${a}{ {`);\n" * 58 + "}\n"
            self.assertEqual(_findings("tools/a.js", fine), [], head)
            long = fine.replace("}\n", "  x();\n}\n")
            self.assertEqual(_findings("tools/a.js", long), ["function-length:2"], head)


class ClassTest(unittest.TestCase):

    def count(self, body):
        text = _HEAD + "namespace a {\nclass Thing final : public Other {\n" + body + "};\n}\n"
        found = rules_classes.classes(source.strip_cpp(text).split("\n"))
        self.assertEqual(found[0][:2], ["Thing", 3])
        return found[0][2]

    def test_what_is_a_method(self):
        for line in ("void F();", "int f() const { return g(); }",
                     "explicit Thing(int a) : a_(a) {}",
                     "Thing() : a_(1), b_{2}, c_(f(3)) {\n  g();\n}", "~Thing();",
                     "template <typename T>\nT F(std::function<void(T)> f) {\n  return f(1);\n}",
                     "bool operator==(const Thing& other) const;", "void operator()(int a);",
                     "public: static std::vector<std::pair<int, int>> F(int a = 1);",
                     "virtual void F() = 0;", "Thing& F(absl::Span<const int> a = {}) const;"):
            self.assertEqual(self.count(line + "\n"), 1, line)

    def test_what_is_none(self):
        for line in ("int a_ = f(1);", "int a_{f(1)};", "std::function<void(int)> f_;",
                     "Thing(const Thing&) = delete;", "Thing() = default;", "friend void F(int a);",
                     "using F = void (*)(int a);", "// void F();", "class Inner;",
                     "static_assert(sizeof(int) == 4);", "enum class E { kA, kB };",
                     "static constexpr int kA = f(1);", "std::atomic<bool> a_{false};",
                     "struct Inner {\n  int f();\n};", "alignas(64) int a_;"):
            self.assertEqual(self.count(line + "\n"), 0, line)

    def test_classes_of_the_core_are_bounded(self):
        most = rules_classes.MOST_METHODS
        fine = _HEAD + "class Thing {\n" + "  void F();\n" * most + "};\n"
        more = fine.replace("};", "  void F();\n};")
        self.assertEqual(_findings("graphs/run/b.cc", fine), [])
        self.assertEqual(_findings("graphs/run/b.cc", more), ["class-size:2"])
        self.assertEqual(_findings("allocator/pool/b.cc", more), ["class-size:2"])
        self.assertEqual(_findings("runtime/b.cc", more), [])
        self.assertEqual(_findings("graphs/run/b_test.cc", more), [])


class TextTest(unittest.TestCase):

    def test_head_comments(self):
        for path, bad, good in [
            ("device/a.cc", "int i;\n", _HEAD),
            ("tools/a.py", "import os\n", '"""X."""\n'),
            ("tools/a.mjs", "import a from 'a';\n", "// X.\n"),
            ("tools/a.sh", "#!/usr/bin/env bash\nset -e\n", "#!/usr/bin/env bash\n# X.\n"),
            ("tools/a", "#!/usr/bin/env bash\nset -e\n", "#!/usr/bin/env bash\n# X.\n"),
            ("bazel/a.bzl", "x = 1\n", '"""X."""\n'),
            ("device/BUILD.bazel", "cc_library()\n", "# X.\n"),
        ]:
            self.assertEqual(_findings(path, bad), ["head-comment:1"], path)
            self.assertEqual(_findings(path, good), [], path)

    def test_include_guards(self):
        guard = "GRAPHTREE_DEVICE_BASE_A_H_"
        good = _HEAD + "#ifndef %s\n#define %s\n\n#endif  // %s\n" % (guard, guard, guard)
        self.assertEqual(_findings("device/base/a.h", good), [])
        for bad in (good.replace("BASE_", ""), good.replace("#endif  // " + guard, "#endif"),
                    _HEAD + "#pragma once\n", good.replace("#define", "#undef")):
            self.assertEqual(_findings("device/base/a.h", bad), ["include-guard:1"], bad)

    def test_leftover_notes_and_licences(self):
        for word in ("TO" + "DO", "FIX" + "ME", "XX" + "X"):
            self.assertEqual(_findings("device/a.cc", _HEAD + "// %s: later\n" % word), ["note:2"])
            self.assertEqual(_findings("device/a.md", "%s\n" % word), ["note:1"])
        self.assertEqual(_findings("device/a.cc", _HEAD + "// mktemp XX" + "XXXX\n"), [])
        self.assertEqual(_findings("device/a.cc", _HEAD + "// Copy" + "right 2020\n"),
                         ["licence:2"])

    def test_blanks_and_width(self):
        self.assertEqual(_findings("device/a.cc", _HEAD + "\tx;\n"), ["tab:2"])
        self.assertEqual(_findings("device/a.cc", _HEAD + "x; \n"), ["trailing-blank:2"])
        self.assertEqual(_findings("device/a.cc", _HEAD + "x;\r\n"), ["trailing-blank:2"])
        self.assertEqual(_findings("device/a.cc", _HEAD + "x;"), ["last-line:2"])
        self.assertEqual(_findings("device/a.cc", _HEAD + "\n"), ["last-line:3"])
        self.assertEqual(_findings("device/a.cc", _HEAD + "x" * 101 + "\n"), ["line-width:2"])
        self.assertEqual(_findings("device/a.cc", _HEAD + "\u00b5" * 100 + "\n"), [])
        self.assertEqual(_findings("device/a.md", "x" * 101 + "\n"), [])

    def test_kinds(self):
        self.assertEqual(_findings("device/a.o", "x\n"), ["kind:1"])
        self.assertEqual(_findings("device/a.md", b"\0\n"), ["kind:1"])
        self.assertEqual(_findings("tests/testdata/a.pickle", b"\0\x80"), [])
        self.assertEqual(_findings("tests/testdata/a.png", b"\0" * (5 << 20)), ["size:1"])
        self.assertEqual(_findings("device/a.md", "x\n" * (1 << 18)), ["size:1"])


class ProjectTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def plant(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def run_tidy(self):
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            kept = os.dup(1)
            os.dup2(nowhere.fileno(), 1)
            try:
                return tidy.main([os.path.join(self.root, "WORKSPACE")])
            finally:
                os.dup2(kept, 1)
                os.close(kept)

    def test_exit_codes_and_missing_readmes(self):
        self.assertEqual(tidy.main([]), 2)
        self.plant("WORKSPACE", 'workspace(name = "x")\n')
        self.assertEqual(self.run_tidy(), 1)
        for folder in source.FOLDERS:
            self.plant(folder + "/README.md", "What lives here.\n")
        self.assertEqual(self.run_tidy(), 0)
        self.plant("device/a.cc", "int i;\n")
        self.assertEqual(self.run_tidy(), 1)

    def test_what_the_build_makes_is_not_looked_at(self):
        self.plant("WORKSPACE", 'workspace(name = "x")\n')
        self.plant("bazel-out/a.cc", "int i;\n")
        self.plant(".deps/a.cc", "int i;\n")
        paths = [file.path for file in source.load(self.root)]
        self.assertEqual(paths, ["WORKSPACE"])

    def test_findings_name_the_place(self):
        finding = source.Finding("rule", "a/b.cc", 7, "why")
        self.assertTrue(re.fullmatch(r"a/b\.cc:7: \[rule\] why", str(finding)))


if __name__ == "__main__":
    unittest.main()
