#!/usr/bin/env bash
# workspace_test.sh WORKSPACE: another workspace, with this one as an external repository. Bazel is
# asked whether it may depend on what is public, and on what is not; nothing is compiled.
set -euo pipefail

project=$(dirname "$(readlink -f "$1")")
mkdir -p "$TEST_TMPDIR/home" "$TEST_TMPDIR/program"
cd "$TEST_TMPDIR/program"
cat >"$TEST_TMPDIR/home/.bazelrc" <<END
startup --output_user_root=$TEST_TMPDIR/bazel --max_idle_secs=5
END
cat >WORKSPACE <<END
workspace(name = "program")
local_repository(name = "graphtree", path = "$project")
load("@graphtree//bazel:bazel_parts.bzl", "bazel_parts")
load("@graphtree//bazel:system_libraries.bzl", "system_libraries")
load("@graphtree//bazel:cuda_toolkit.bzl", "cuda_toolkit")
load("@graphtree//bazel:page_parts.bzl", "page_parts")
bazel_parts()
system_libraries()
cuda_toolkit(name = "cuda")
page_parts(name = "page_parts")
END

# program TARGET...: a program that depends on these.
program() {
  {
    echo 'cc_binary(name = "program", srcs = ["program.cc"], deps = ['
    printf '"@graphtree//%s",\n' "$@"
    echo '])'
  } >BUILD.bazel
}
analyse() { HOME=$TEST_TMPDIR/home bazel build --nobuild --keep_going //:program >words 2>&1; }

touch program.cc
program :graphtree runtime/c:header runtime/c:cpp_header runtime/c:interface
analyse || { cat words && echo "FAILED: what is public is not to be had" && exit 1; }

private=(allocator/books:ledger graphs/run:decide runtime/core:lanes device/base:status_macros)
program "${private[@]}"
if analyse; then cat words && echo "FAILED: nothing is private" && exit 1; fi
for target in "${private[@]}"; do
  # Every folder of the inside: either the target is not visible, or the test names what is gone.
  grep -qE "'@graphtree//$target' is not visible" words ||
    { cat words && echo "FAILED: $target may be depended on, or is gone" && exit 1; }
done
echo "what is public can be depended on, and nothing else"
