#!/usr/bin/env bash
# The commands of tools/ in careless hands: wrong options, other folders, names that nothing has.
# What they call is stand-ins: setup, Bazel and what Bazel builds.
set -euo pipefail

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/tools/scripts" "$root/tools/installing" "$root/bin" "$root/out/tools" \
  "$root/elsewhere"
for file in test demo bench install package wheel reference \
  installing/built_parts.sh installing/installed_tree.sh \
  scripts/common.sh scripts/bench_run.sh scripts/test_report.py; do
  cp -L "tools/$file" "$root/tools/$file"
done

fail() {
  echo "FAILED: $*"
  echo "--- output:" && cat "$root/output"
  exit 1
}

# stand_in PATH: a command made of the lines on standard input.
stand_in() {
  { echo "#!/bin/bash"; cat; } >"$root/$1"
  chmod +x "$root/$1"
}

# expect CODE COMMAND ARGUMENT...: runs it from another folder and compares its exit code.
expect() {
  local want=$1 command=$2 code=0
  shift 2
  : >"$root/bazel.log"
  (cd "$root/elsewhere" && PATH="$root/bin:/usr/bin:/bin" "$root/tools/$command" "$@") \
    >"$root/output" 2>&1 || code=$?
  [ "$code" = "$want" ] || fail "$command $*: exit code $code instead of $want"
}

expect_text() { grep -qF -- "$1" "$root/output" || fail "it did not say: $1"; }
expect_asked() { grep -qE -- "$1" "$root/bazel.log" || fail "Bazel was not asked for: $1"; }

stand_in tools/setup <<<"echo \"\$*\" >>$root/setup.log; [ ! -e $root/unknown_system ] || exit 2"
stand_in bin/bazel <<END
echo "\$*" >>$root/bazel.log
case "\$1" in
  info) echo $root/out ;;
  query) echo //tools:one_bench ;;
  build) [ ! -e $root/broken ] ;;
  test) exit 4 ;;
esac
END
stand_in out/tools/graphtree <<<'echo "$* in $PWD"; exit 3'
stand_in out/tools/one_bench <<'END'
[ "$1" = --list ] && { [ "${2:-row}" = row ] && echo row; exit 0; }
while [ "$1" != --json ]; do shift; done
echo '{"name":"row","met":true,"skipped":null,"failed":null}' >"$2"
END

mkdir "$root/tools/peers"
stand_in tools/peers/peers.py <<'END'
[ "$1" = --list ] && { [ "${2:-peer}" = peer ] && echo peer; exit 0; }
while [ "$1" != --json ]; do shift; done
echo '{"name":"peer","met":null,"skipped":"needs PyTorch","failed":null}' >"$2"
END

# Wrong options, before anything is installed or built.
for command in test demo bench install package wheel; do
  expect 0 "$command" --help
  expect_text "tools/$command ["
done
expect 0 reference --help
expect_text "dist/reference/index.html"
expect 2 reference here
expect_text "it takes nothing, and was given here"
expect 2 test --wrong
expect_text "there is no option --wrong"
expect 2 test -x
expect 2 bench --wrong
for json in --json --json= '--json --no-cuda' --json=/no/such/folder/rows.json; do
  # shellcheck disable=SC2086
  expect 2 bench $json
done
expect_text "cannot write to /no/such/folder/rows.json"
expect 2 install --wrong
expect 2 install --libdir
for libdir in /lib lib/../.. "" "my lib"; do expect 2 install --libdir "$libdir"; done
for prefix in "" "--uninstall "; do
  # shellcheck disable=SC2086
  expect 2 install $prefix ""
  expect_text "a PREFIX without a name"
done
expect 2 install here there
expect_text "it takes one PREFIX, and was given here and there"
expect 2 package here
expect 2 wheel here
# Before half an hour is spent on a build.
expect 1 install /proc/graphtree
expect_text "cannot install under /proc/graphtree"
DESTDIR=/proc expect 1 install /usr
expect_text "cannot install under /proc/usr"
expect 1 install --uninstall there
expect_text "nothing is installed under $root/elsewhere/there"
[ ! -s "$root/bazel.log" ] && [ ! -e "$root/setup.log" ] || fail "wrong use set something going"

# Targets reach Bazel; what is only left out is left out of everything. Nothing ran: no success.
expect 2 test //tools:graphtree
expect_text "there is no test among the targets"
expect_asked '-- //tools:graphtree$'
expect 2 test -//tools:slow_test
expect_asked '-- //\.\.\. -//tools:slow_test$'
expect 2 test --no-cuda
expect_asked '--config=no_cuda.* -- //\.\.\.$'

# The demo runs where the caller stands, so its files come there; its exit code is the command's.
expect 3 demo --json figures.json
expect_text "demo --json figures.json in $root/elsewhere"
expect 3 demo -- --help
expect_text "demo --help in "

# Folders in the environment are named from there, too.
mkdir "$root/elsewhere/nvrtc"
touch "$root/elsewhere/nvrtc/libnvrtc.so.13"
stand_in out/tools/graphtree <<<'echo "NVRTC in $GRAPHTREE_NVRTC"'
GRAPHTREE_NVRTC=nvrtc expect 0 demo
expect_text "NVRTC in $root/elsewhere/nvrtc"

# Rows are written where the caller stands; a name that no row has leaves the file as it was.
expect 0 bench --json rows.json
expect_text "rows: 1 met, 0 missed, 0 without goal, 1 skipped"
grep -q '"name":"row"' "$root/elsewhere/rows.json" || fail "no rows in the file"
expect 2 bench --json rows.json nonsense
expect_text "no row has such a name"
grep -q '"name":"row"' "$root/elsewhere/rows.json" || fail "the rows of before are gone"

# What fails on the way is the command's failure, too.
touch "$root/broken"
expect 1 demo
expect_text "the build failed"
expect 1 bench
expect 1 install there
[ ! -e "$root/elsewhere/there" ] || fail "a build that failed left a folder"
touch "$root/unknown_system"
for command in test demo bench install package wheel reference; do expect 2 "$command"; done
echo "every case as expected"
