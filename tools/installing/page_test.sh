#!/usr/bin/env bash
# page_test.sh INSTALLATION PAGE: the page does what it says. Bazel, where a page asks for it, is
# the distribution's, which would fetch its own parts: it is told where they are.
set -euo pipefail

# The C++ rules that Bazel carries itself, under the names that its tools load.
rules_cc=$TEST_TMPDIR/rules_cc
mkdir -p "$rules_cc/cc" "$TEST_TMPDIR/home"
touch "$rules_cc/WORKSPACE" "$rules_cc/BUILD.bazel" "$rules_cc/cc/BUILD.bazel"
for rule in cc_binary cc_import cc_library cc_test cc_toolchain cc_toolchain_suite; do
  echo "$rule = native.$rule"
done >"$rules_cc/cc/defs.bzl"
cat >"$TEST_TMPDIR/home/.bazelrc" <<END
startup --output_user_root=$TEST_TMPDIR/bazel --max_idle_secs=5
common --override_repository=rules_cc=$rules_cc
common --override_repository=rules_java=/usr/share/bazel/rules/java
END
python3 -B tools/installing/try_page.py "$2" "$1" HOME="$TEST_TMPDIR/home"
