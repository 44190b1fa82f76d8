"""Calls and words that the code does without, each with what to do instead."""

import re

import source


def _library(file):
    return file.is_library


def _library_or_tool(file):
    return file.is_cpp and not file.is_check


def _everywhere(file):
    return file.is_cpp


def _tests(file):
    return file.is_cpp and file.is_check


def _kernels(file):
    return _library_or_tool(file) and file.path.endswith(".cu")


# Where exceptions of other people's code end, and the test of it; and those of allocations.
_WITH_EXCEPTIONS = ("device/base/guarded_call.cc", "device/base/guarded_call_test.cc",
                    "runtime/c/cpp_throws_test.cc",
                    "runtime/c/graphtree.hpp", "runtime/c/own_memory.cc",
                    "runtime/c/own_memory_test.cc", "runtime/torch/python_errors.cc",
                    "tests/outsider/throws.cc", "tests/runtime/throws.cc",
                    "tests/tree/throws.cc")


def _without_exceptions(file):
    return file.is_cpp and file.path not in _WITH_EXCEPTIONS


# rule, where it holds, what it looks for, what to do instead
_BANNED = [
    ("print", _library,
     r"\bstd::(cout|cerr|clog|f?printf|f?puts)\b|(?<![\w:.>])(f?printf|f?puts|putchar)\(",
     "a library prints nothing: return a status or a text"),
    ("getenv", _library, r"\b(secure_)?getenv\(", "take the value as an option"),
    ("exit", _library, r"(?<![\w.>])(abort|_?exit|quick_exit|_Exit|terminate)\(",
     "GRAPHTREE_CHECK for a bug, a status for everything else"),
    ("rand", _everywhere, r"(?<![\w.>])(s?rand|[dlm]rand48)\(",
     "a seeded generator, with the seed printed"),
    ("random-device", _library, r"\brandom_device\b", "the same every time: take a seed"),
    ("sleep", _tests, r"\b(sleep_for|sleep_until|usleep|nanosleep|SleepFor)\b|(?<![\w.>])sleep\(",
     "wait for what must happen, not for a time"),
    ("using-namespace", _everywhere, r"\busing\s+namespace\b", "name what is used"),
    ("exception", _without_exceptions, r"\bthrow\b|\bcatch\s*\(|\btry\s*\{", "absl::Status"),
    ("assert", _everywhere, r"(?<![\w])assert\(", "GRAPHTREE_CHECK, or an expectation in a test"),
    ("absl-mutex", _everywhere, r"\babsl::(Mutex|MutexLock|CondVar|Notification|BlockingCounter)\b",
     "std::mutex: the thread sanitizer cannot see into the distribution's Abseil"),
    ("thread-local", _library, r"\bthread_local\b", "nothing in the library belongs to a thread"),
    ("detach", _everywhere, r"\.detach\(\)", "a thread has an owner that joins it"),
    ("unsafe-text", _everywhere,
     r"(?<![\w.>])(std::)?(strcpy|strcat|sprintf|vsprintf|gets|strtok)\(",
     "std::string or snprintf"),
    ("number-text", _everywhere, r"\bstd::sto(i|l|ll|ul|ull|f|d|ld)\(|(?<![\w.>])ato[ifl]l?\(",
     "absl::SimpleAtoi and its kin, which say when it is no number"),
    ("build-time", _everywhere, r"\b__(DATE|TIME|TIMESTAMP)__\b", "builds must be repeatable"),
    ("kernel-namespace", _kernels, r"\bnamespace\s*\{",
     "a namespace with a name: nvcc names it after the folder of the build"),
    ("delete", _everywhere, r"(?<!=)\s\bdelete\b(?!\s*[;,)])(?!d)|\bdelete\s*\[\]",
     "std::unique_ptr"),
    ("new", _library_or_tool, r"(?<![\w.])new\s+[A-Za-z_:]", "std::make_unique"),
]

_LOOP = re.compile(r"\b(while|for)\b")
# The last is bytes that std::make_unique would clear first.
_NEW_IS_OWNED = re.compile(
    r"unique_ptr|shared_ptr|WrapUnique|\bstatic\b|emplace_back\(new char\[")

# Files that may break a rule, each with its reason.
_ALLOWED = {
    ("print", "device/base/check.cc"): "a failed check says so before it stops the process",
    ("exit", "device/base/check.cc"): "a failed check stops the process",
    ("random-device", "allocator/snapshot/id_table.cc"): "a file must not aim at the hash",
    ("delete", "device/cuda/cuda_stream.cc"): "the Runtime owns the closure and ends it by this",
    ("delete", "device/cuda/driver.cc"): "once it is whole it lives as long as the process",
    ("new", "device/cuda/driver.cc"): "as above",
    ("new", "graphs/inputs/ingest/ingest.cc"): "kernels that live as long as the process",
    ("new", "runtime/slots/unpack.cc"): "as above",
    ("new", "graphs/layout.cc"): "interned layouts live as long as the process",
    ("thread-local", "device/cuda/stream_callback.h"): "a host call runs on a thread of CUDA's",
    ("thread-local", "device/host/checks/fault_guard.cc"):
        "a signal handler finds its own thread's frame",
    ("new", "graphs/memory/storage_home.cc"): "it counts its holders and ends with the last",
    ("delete", "graphs/memory/storage_home.cc"): "as above",
    ("delete", "runtime/c/objects.h"): "objects come from memory that a test can let fail",
    ("delete", "runtime/c/graphtree.hpp"): "the C interface owned it, and ends it by this",
    ("print", "runtime/c/graphtree.hpp"): "a Result without a value says so before it ends",
    ("exit", "runtime/c/graphtree.hpp"): "a Result without a value, as std::expected's",
    ("exit", "runtime/c/own_memory.cc"): "the host has no memory left, and nobody to throw to",
    ("delete", "runtime/c/own_memory_test.cc"): "it replaces operator delete beside new",
    ("delete", "runtime/c/heap_test.cc"): "it replaces operator delete to count",
    ("delete", "tests/bare/node_bytes_bench.cc"): "it replaces operator delete to count",
    ("delete", "tests/tree/hit_cost.cc"): "it replaces operator delete to count",
    ("thread-local", "runtime/torch/region.cc"): "torch's allocator is asked by thread",
    ("thread-local", "graphs/history/stack_marks.h"): "marks on a thread's own stack",
    ("thread-local", "graphs/inputs/clone_watch.h"): "a nested call runs on its body's thread",
    ("thread-local", "graphs/storage.h"): "a nested call runs on its part's thread",
    ("thread-local", "allocator/order/thread_guard.h"):
        "only an address that differs between threads",
}

_COMPILED = [(rule, where, re.compile(pattern), instead)
             for rule, where, pattern, instead in _BANNED]


def _statement_before(code, index):
    """The line and the one before it: where the owner of a `new` stands."""
    return code[index - 1] + " " + code[index] if index > 0 else code[index]


def _breaks(file, rule, where, pattern, index):
    if not where(file) or (rule, file.path) in _ALLOWED or not pattern.search(file.code[index]):
        return False
    statement = _statement_before(file.code, index)
    if rule == "new":
        return not _NEW_IS_OWNED.search(statement)
    # A loop that asks again and again waits for what must happen.
    return rule != "sleep" or not _LOOP.search(statement)


def check(file):
    """Yields a finding for each banned call; NOLINT beside a line takes it out."""
    if not file.is_cpp:
        return
    for index, line in enumerate(file.code):
        if line.lstrip().startswith("#") or "NOLINT" in file.lines[index]:
            continue
        for rule, where, pattern, instead in _COMPILED:
            if _breaks(file, rule, where, pattern, index):
                yield source.Finding(rule, file.path, index + 1, "instead: " + instead)
