#!/usr/bin/env bash
# The GPU bundle's run script over a bundle of stand-ins: every way in which a test or a bench can
# end, and the closing line.
set -euo pipefail

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin/tools"
cp -L tools/scripts/gpu_run.sh "$root/run"
cp -L tools/scripts/bench_run.sh "$root/bench_run.sh"
chmod +x "$root/run"

fail() {
  echo "FAILED: $*"
  echo "--- output:" && cat "$root/output"
  exit 1
}

# stand_in PATH: a binary made of the lines on standard input, unpacked already.
stand_in() {
  { echo "#!/bin/bash"; cat; } >"$root/bin/$1"
  chmod +x "$root/bin/$1"
}
# What lies in bin/ is packed, as it travels.
pack() { tar -C "$root" -cJf "$root/bin.tar.xz" bin && rm -r "$root/bin"; }

# expect CODE ARGUMENT...: runs the script from elsewhere and compares its exit code.
expect() {
  local want=$1 code=0
  shift
  (cd / && "$root/run" "$@") >"$root/output" 2>&1 || code=$?
  [ "$code" = "$want" ] || fail "run $*: exit code $code instead of $want"
}

expect_line() { grep -qxF -- "$1" "$root/output" || fail "no line: $1"; }
expect_last() { [ "$(tail -n 1 "$root/output")" = "$1" ] || fail "the last line is not: $1"; }

stand_in tools/graphtree <<<'echo no devices'
stand_in good_test <<'END'
echo "[ RUN      ] A.One"
echo "[       OK ] A.One (0 ms)"
echo "[ RUN      ] A.OnGpu"
echo "a_test.cc:3: Skipped"
echo "needs a GPU"
echo
echo "[  SKIPPED ] A.OnGpu (0 ms)"
echo "[  PASSED  ] 1 test."
END
stand_in bad_test <<'END'
echo "[ RUN      ] B.Two/3"
echo "[  FAILED  ] B.Two/3, where GetParam() = 3 (1 ms)"
echo "[  FAILED  ] 1 test, listed below:"
echo "[  FAILED  ] B.Two/3, where GetParam() = 3"
exit 1
END
stand_in crash_test <<'END'
echo "[ RUN      ] C.Three"
echo "[       OK ] C.Three (0 ms)"
echo "[ RUN      ] C.Four"
kill -SEGV $$
END
stand_in met_bench <<'END'
[ "$1" = --list ] && echo row && exit
echo '{"name":"a","met":true,"skipped":null,"failed":null}' >"$2"
END
stand_in missed_bench <<'END'
[ "$1" = --list ] && echo row && exit
printf '%s\n' '{"name":"b","met":false,"skipped":null,"failed":null},' \
  '{"name":"c","met":null,"skipped":"no GPU","failed":null}' >"$2"
exit 1
END
stand_in crash_bench <<<'kill -SEGV $$'

# All is well: a missed goal is said and is no failed test.
echo bin/good_test >"$root/tests.txt"
printf 'bin/%s\n' met_bench missed_bench >"$root/benches.txt"
pack
expect 0 --out="$root/out"
expect_line "rows: 1 met, 1 missed, 0 without goal, 1 skipped, 0 failed, 0 benches crashed"
expect_line "  needs a GPU"
expect_line "    bin/good_test A.OnGpu"
expect_last "1 passed, 0 failed, 1 skipped"
[ "$(cat "$root/out/rows.json")" = '{"rows":[
{"name":"a","met":true,"skipped":null,"failed":null},
{"name":"b","met":false,"skipped":null,"failed":null},
{"name":"c","met":null,"skipped":"no GPU","failed":null}
]}' ] || fail "rows.json: $(cat "$root/out/rows.json")"

# Failures and crashes count, each once, and are named.
printf 'bin/%s\n' good_test bad_test crash_test >"$root/tests.txt"
printf 'bin/%s\n' met_bench crash_bench >"$root/benches.txt"
expect 1
expect_line "  bin/bad_test: B.Two/3, where GetParam() = 3 (1 ms)"
expect_line "  bin/crash_test: exit code 139 in C.Four"
expect_line "  bin/crash_bench: exit code 139"
expect_last "2 passed, 3 failed, 1 skipped"

# Parts of it.
expect 0 --only=good --no-bench
expect_last "1 passed, 0 failed, 1 skipped"
expect 0 --only=met_bench

# Folders in the environment are named from where the caller stands, which is / here.
stand_in folder_test <<'END'
[ "$GRAPHTREE_NVRTC" = //nvrtc ] || exit 1
echo "[       OK ] D.Five (0 ms)"
END
echo bin/folder_test >"$root/tests.txt"
GRAPHTREE_NVRTC=nvrtc expect 0 --no-bench

# What was asked for is not there: nothing passed, and nobody may take it for that.
expect 2 --only=nonsense
expect_line "run: no binary's path contains \"nonsense\""
expect 2 --only=met_bench --no-bench
stand_in empty_test <<<'echo "[==========] 0 tests from 0 test suites ran."'
echo bin/empty_test >"$root/tests.txt"
expect 2 --filter=Nonsense.*
expect_last 'run: no test case matches "Nonsense.*"'
expect 2 --wrong
echo "every case as expected"
