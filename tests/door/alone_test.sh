#!/usr/bin/env bash
# alone_test.sh PROGRAM: compiles the program beside folders that are named like ours, where nothing
# but the prefixed headers can be found.
set -euo pipefail

program=$PWD/$1
headers=$(find -L . -type d -name _prefixed | head -n 1)
[ -n "$headers" ] || { echo "there are no prefixed headers here" >&2; exit 1; }
headers=$(cd "$headers" && pwd)

for header in $(cd "$headers" && find . -name '*.h'); do
  decoy=$TEST_TMPDIR/${header#./graphtree/}
  mkdir -p "$(dirname "$decoy")"
  echo "#error this is the program's own ${header#./graphtree/}" > "$decoy"
done
if [ ! -f "$TEST_TMPDIR/graphs/tree.h" ]; then
  echo "graphs/tree.h is not among the headers" >&2
  exit 1
fi

cd "$TEST_TMPDIR"
g++ -std=c++20 -fsyntax-only -iquote . -I "$headers" "$program"
echo "compiles with the prefixed headers alone"
