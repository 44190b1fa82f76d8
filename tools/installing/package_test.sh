#!/usr/bin/env bash
# package_test.sh INSTALLATION PAGE...: the archive has the same bytes however often it is made,
# works where it is unpacked, and needs no newer system than is promised.
set -euo pipefail

here=$1
shift
fail() { echo "FAILED: $*" && exit 1; }

mkdir "$TEST_TMPDIR/one" "$TEST_TMPDIR/two"
name=graphtree-test-linux-x86_64
tools/installing/make_archive.sh "$here" "$TEST_TMPDIR/one/$name.tar.gz" 1700000000
(cd / && find "$here" -exec touch -h {} +)
(umask 077 && tools/installing/make_archive.sh "$here" "$TEST_TMPDIR/two/$name.tar.gz" 1700000000)
cmp "$TEST_TMPDIR/one/$name.tar.gz" "$TEST_TMPDIR/two/$name.tar.gz" ||
  fail "two archives of one tree differ"
[ "$(ls -A "$TEST_TMPDIR/two")" = "$name.tar.gz" ] || fail "it left something beside the archive"

tar -xzf "$TEST_TMPDIR/one/$name.tar.gz" -C "$TEST_TMPDIR"
unpacked=$TEST_TMPDIR/$name
diff -r --exclude=BUILD.bazel --exclude=WORKSPACE --exclude=MODULE.bazel "$here" "$unpacked" ||
  fail "the archive is not the tree"
python3 -B tools/installing/needed_versions.py --check "$unpacked"/lib/libgraphtree.so.*.*.* \
  "$unpacked/bin/graphtree"
for page in "$@"; do tools/installing/page_test.sh "$unpacked" "$page"; done
