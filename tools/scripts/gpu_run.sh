#!/usr/bin/env bash
# Runs Graphtree's tests and benches on this machine, which needs a GPU but neither Bazel nor a
# compiler. It belongs to a folder that tools/gpu_bundle made.
#
#   ./run [--only=TEXT] [--filter=PATTERN] [--no-bench] [--out=FOLDER]
#
#   --only=TEXT        only binaries whose path contains it
#   --filter=PATTERN   only these test cases (GoogleTest's pattern)
#   --no-bench         tests only
#   --out=FOLDER       write test results (XML) and bench rows (JSON) there
#
# It closes with one line, `N passed, N failed, N skipped`, counted in test cases; a binary that
# crashed or ran out of time counts as one failed case. Exit codes: 0 all passed, 1 not all, 2 wrong
# use, such as a TEXT or a PATTERN that nothing has. Set GRAPHTREE_NVRTC to the folder of
# libnvrtc.so.13 if it is not found, and GRAPHTREE_CUBLAS to that of libcublas.so.13.

set -euo pipefail
caller=$PWD
# What the caller names, it names from where it stands.
for variable in GRAPHTREE_NVRTC GRAPHTREE_CUBLAS; do
  [ -z "${!variable:-}" ] || [[ ${!variable} == /* ]] || export "$variable=$PWD/${!variable}"
done
cd "$(dirname "${BASH_SOURCE[0]}")"
source ./bench_run.sh

refuse() {
  echo "run: $*" >&2
  exit 2
}

only=
filter='*'
bench=1
out=
for argument in "$@"; do
  case "$argument" in
    --only=*) only=${argument#*=} ;;
    --filter=*) filter=${argument#*=} ;;
    --no-bench) bench=0 ;;
    --out=*) out=${argument#*=} ;;
    --help | -h) sed -n '2,/^[^#]/{/^#/{s/^# \{0,1\}//;p}}' run && exit 0 ;;
    *) refuse "there is no option $argument; see ./run --help" ;;
  esac
done
[[ -z $out || $out == /* ]] || out=$caller/$out
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${out:-$work}
mkdir -p "$out"

# find_library VARIABLE FILE: exports the folder of it, unless the caller named one. A wheel of
# PyTorch brings such libraries along; the system's own come first.
find_library() {
  local found
  [ -z "${!1:-}" ] || return 0
  found=$(find /usr/local /usr/lib /opt -name "$2" -print -quit 2>/dev/null || true)
  if [ -n "$found" ]; then export "$1=$(dirname "$found")"; fi
}

passed=0
failed=()
skipped=()

# Reads what a GoogleTest binary printed and adds its cases to the counts.
count_cases() {
  local binary=$1 log=$2 line name="" reason=""
  while IFS= read -r line; do
    case "$line" in
      '[ RUN      ] '*) name=${line#*] } reason= ;;
      '[       OK ] '*'ms)') passed=$((passed + 1)) name= ;;
      '[  FAILED  ] '*'ms)') failed+=("$binary: ${line#*] }") name= ;;
      '[  SKIPPED ] '*'ms)')
        skipped+=("${reason:-no reason given}"$'\t'"$binary $name")
        name=
        ;;
      *': Skipped' | '') ;;
      # The sentence given to GTEST_SKIP is the last that a skipped case says.
      *) reason=$line ;;
    esac
  done <"$log"
  unfinished=$name
}

run_test() {
  local binary=$1 code=0 before=${#failed[@]} unfinished=
  echo
  echo "== $binary"
  timeout 900 "$binary" --gtest_color=no --gtest_filter="$filter" \
    --gtest_output="xml:$out/${binary//\//_}.xml" >"$work/log" 2>&1 </dev/null || code=$?
  count_cases "$binary" "$work/log"
  if [ "$code" != 0 ]; then
    cat "$work/log"
    if [ "${#failed[@]}" = "$before" ]; then
      failed+=("$binary: exit code $code${unfinished:+ in $unfinished}")
    fi
  else
    tail -n 1 "$work/log"
  fi
}

report() {
  local what reason last=
  if [ "${#skipped[@]}" -gt 0 ]; then
    echo
    echo "skipped:"
    while IFS=$'\t' read -r reason what; do
      [ "$reason" = "$last" ] || echo "  $reason"
      last=$reason
      echo "    $what"
    done < <(printf '%s\n' "${skipped[@]}" | sort)
  fi
  if [ "${#failed[@]}" -gt 0 ]; then
    echo
    echo "failed:"
    for what in "${failed[@]}"; do echo "  $what"; done
  fi
  echo
  echo "$passed passed, ${#failed[@]} failed, ${#skipped[@]} skipped"
  [ "${#failed[@]}" = 0 ]
}

# Binaries travel packed, in one file.
[ -e bin/.unpacked ] || { tar -xf bin.tar.xz && touch bin/.unpacked; }
find_library GRAPHTREE_NVRTC libnvrtc.so.13
find_library GRAPHTREE_CUBLAS libcublas.so.13
export LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
bin/tools/graphtree devices || true

mapfile -t tests < <(grep -F -- "$only" tests.txt || true)
mapfile -t benches < <(grep -F -- "$only" benches.txt || true)
[ "$bench" = 1 ] || benches=()
[ "$((${#tests[@]} + ${#benches[@]}))" != 0 ] || refuse "no binary's path contains \"$only\""
for test in "${tests[@]}"; do run_test "$test"; done
[ "${#tests[@]}" = 0 ] || [ "$((passed + ${#failed[@]} + ${#skipped[@]}))" != 0 ] ||
  refuse "no test case matches \"$filter\""

if [ "${#benches[@]}" -gt 0 ]; then
  # A missed goal is said, and is no failed test; a bench that crashes is.
  run_benches "$work" "${benches[@]}" -- || true
  [ "$out" = "$work" ] || cp "$work/rows.json" "$out/"
  while read -r line; do failed+=("$line"); done <"$work/crashed"
fi
report
