#!/usr/bin/env bash
# in_installation.sh SHARED STATIC COMMAND HEADER TEST ARGUMENT...: lays an installation out in a
# folder of its own and runs the test with the folder as its first argument.
set -euo pipefail

shared=$1 static=$2 command=$3 header=$4
shift 4
source tools/installing/built_parts.sh
mkdir -p "$TEST_TMPDIR/licences"
cp LICENSE "$TEST_TMPDIR/licences/graphtree.txt"
tools/installing/lay_out.sh --to "$TEST_TMPDIR/graphtree" --version "$(graphtree_version)" \
  --shared "$shared" --static "$static" --command "$command" \
  --headers "$(dirname "$header")" --licences "$TEST_TMPDIR/licences"
test=$1
shift
"$test" "$TEST_TMPDIR/graphtree" "$@"
