#!/usr/bin/env bash
# tools/setup on systems that this one is not: a bare Debian without root, an unknown system, wrong
# use, and an interrupted download. Its commands are stand-ins, first in the path.
set -euo pipefail

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/tools/scripts" "$root/bin"
cp -L tools/setup "$root/tools/setup"
cp -L tools/scripts/common.sh "$root/tools/scripts/common.sh"
mkdir -p "$root/tools/memory/page" "$root/.deps/page/node_modules"
for folder in tools/memory/page .deps/page; do
  cp -L tools/memory/page/package.json tools/memory/page/package-lock.json "$root/$folder"
done

fail() {
  echo "FAILED: $*"
  echo "--- output:" && cat "$root/output"
  exit 1
}

# stand_in NAME: a command made of the lines on standard input.
stand_in() {
  { echo "#!/bin/bash"; cat; } >"$root/bin/$1"
  chmod +x "$root/bin/$1"
}

# expect CODE ARGUMENT...: runs setup and compares its exit code.
expect() {
  local want=$1 code=0
  shift
  env -u CUDA_HOME -u GRAPHTREE_NVRTC PATH="$root/bin:/usr/bin:/bin" \
    GRAPHTREE_OS_RELEASE="$root/os-release" GRAPHTREE_SYSTEM_CUDA="$root/cuda" \
    "$root/tools/setup" "$@" >"$root/output" 2>&1 || code=$?
  [ "$code" = "$want" ] || fail "setup $*: exit code $code instead of $want"
}

expect_text() { grep -qF -- "$1" "$root/output" || fail "it did not say: $1"; }

readonly kAll="bazel-bootstrap bazel-skylib bazel-platforms bazel-rules-cc bazel-rules-java
bazel-rules-proto g++ libabsl-dev libgtest-dev libgmock-dev libbenchmark-dev libsqlite3-dev
libprotozero-dev zlib1g-dev python3"
stand_in id <<<'echo 1000'
stand_in sudo <<<'echo "$*" >>'"$root"'/sudo.log'
stand_in apt-cache <<<'true'
echo 'ID=debian' >"$root/os-release"

# Everything is there: it says nothing.
stand_in dpkg-query <<<"for p in ${kAll//$'\n'/ }; do echo \$p installed; done"
expect 0 --no-cuda
[ ! -s "$root/output" ] || fail "it spoke although nothing is missing"
expect 0 --no-cuda --list

# A browser is for tests alone, and only Debian has one that simply runs.
expect 1 --no-cuda --tests --list
expect_text "chromium"
expect_text "doxygen"
expect_text "python3-prometheus-client"
expect_text "python3-numpy"
echo 'ID=ubuntu' >"$root/os-release"
expect 1 --no-cuda --tests --list
expect_text "python3-prometheus-client"
if grep -q "chromium" "$root/output"; then fail "Ubuntu's chromium is asked for"; fi
echo 'ID=debian' >"$root/os-release"

# clang is missing and asked for: it is named with its reason and installed through sudo.
expect 1 --no-cuda --all --list
expect_text "clang-14"
expect_text "the second compiler"
expect 0 --no-cuda clang
grep -q "install -y --no-install-recommends clang-14 libclang-rt-14-dev" "$root/sudo.log" ||
  fail "clang-14 was not installed: $(cat "$root/sudo.log")"

# A package that is known but not installed is missing.
stand_in dpkg-query <<<"echo libabsl-dev not-installed; for p in ${kAll//$'\n'/ }; do
[ \$p = libabsl-dev ] || echo \$p installed; done"
expect 1 --no-cuda --list
expect_text "libabsl-dev"
if grep -q "libgtest-dev" "$root/output"; then fail "libgtest-dev is not missing"; fi

# What the memory page is built from is of another version: it is fetched again, through npm.
stand_in dpkg-query <<<"for p in ${kAll//$'\n'/ }; do echo \$p installed; done"
echo '{}' >"$root/.deps/page/package-lock.json"
expect 1 --no-cuda --list
expect_text "npm registry"
stand_in npm <<<'exit 1'
expect 1 --no-cuda
expect_text "npm could not fetch them"
[ -d "$root/.deps/page/node_modules" ] || fail "a failed download removed what was there"
stand_in npm <<<'mkdir node_modules; echo "$*" >node_modules/asked'
expect 0 --no-cuda
grep -q "^ci --ignore-scripts" "$root/.deps/page/node_modules/asked" || fail "npm ci was not run"
expect 0 --no-cuda --list

# Abseil's sources are fetched once, in the version of its headers; a failure leaves nothing.
stand_in dpkg-query <<<"case \"\$*\" in *source:Package*) echo abseil=7-1 ;; *) for p in dpkg-dev \
${kAll//$'\n'/ }; do echo \$p installed; done ;; esac"
expect 1 --no-cuda library --list
expect_text "abseil=7-1"
stand_in apt-get <<<'[[ $* == *update ]]'
expect 1 --no-cuda library
expect_text "libgraphtree.so.1 is left out of the build"
[ "$(ls -A "$root/.deps")" = page ] || fail "it left $(ls -A "$root/.deps")"
stand_in apt-get <<<'[[ $* == *update ]] && exit 0
mkdir -p abseil-7/absl/base
touch abseil-7/LICENSE abseil-7/absl/base/{BUILD.bazel,a.cc} abseil.dsc'
expect 0 --no-cuda library
[ ! -e "$root/.deps/abseil/abseil.dsc" ] || fail "it kept the package"
[ -e "$root/.deps/abseil/absl/base/a.cc" ] || fail "the sources are not there"
[ ! -e "$root/.deps/abseil/absl/base/BUILD.bazel" ] || fail "it kept a build file"
expect 0 --no-cuda library --list
[ ! -s "$root/output" ] || fail "it spoke although nothing is missing"
rm -r "$root/.deps/abseil" "$root/bin/apt-get"

# A package is missing again.
stand_in dpkg-query <<<"for p in ${kAll//$'\n'/ }; do
[ \$p = libabsl-dev ] || echo \$p installed; done"

# apt-get fails, as it does without a network.
stand_in sudo <<<'echo "Temporary failure resolving deb.debian.org"; exit 100'
expect 1 --no-cuda
expect_text "Temporary failure"
expect_text "apt-get could not install them"

# No root and no sudo: the command to run is printed.
rm "$root/bin/sudo"
if ! PATH=/usr/bin:/bin command -v sudo >/dev/null; then
  expect 2 --no-cuda
  expect_text "apt-get install --no-install-recommends libabsl-dev"
fi

# A system that it does not know.
echo 'ID=fedora' >"$root/os-release"
expect 2 --no-cuda
expect_text "neither Debian nor Ubuntu"
expect_text "libbenchmark-dev"
if grep -q "missing" "$root/output"; then fail "it cannot tell what is missing"; fi
rm "$root/os-release"
expect 2 --no-cuda
expect_text "neither Debian nor Ubuntu"

# Wrong use.
expect 2 --wrong
expect_text "there is no option --wrong"
for group in nonsense "" '.*' 'bas' 'base bazel-bootstrap'; do
  expect 2 --no-cuda "$group"
  expect_text "there is no group \"$group\""
done

# An interrupted download leaves nothing that passes for a toolkit.
echo 'ID=ubuntu' >"$root/os-release"
stand_in dpkg-query <<<"for p in ${kAll//$'\n'/ }; do echo \$p installed; done"
stand_in python3 <<END
[ "\$3" = --version ] && exit 0
while [ "\$1" != --target ]; do shift; done
lib=\$2/nvidia/cu13/lib
mkdir -p \$lib \$2/nvidia/cu13/bin
touch \$2/nvidia/cu13/bin/nvcc
[ ! -e $root/network ] && exit 1
if [ -e $root/gated ]; then
  rm $root/gated
  echo here >$root/gate
  read -r <$root/gate
fi
echo fetched >>$root/pip.log
touch \$lib/libcudart_static.a \$lib/libnvrtc.so.13
END
expect 1
expect_text "No CUDA toolkit is installed"
expect_text "pip could not fetch them"
[ "$(ls -A "$root/.deps")" = page ] || fail "it left $(ls -A "$root/.deps")"

# A download that succeeds is not repeated, until other versions are asked for.
touch "$root/network"
expect 0
expect_text "Everything is here now."
expect 0
[ ! -s "$root/output" ] || fail "it spoke although nothing is missing"
[ "$(wc -l <"$root/pip.log")" = 1 ] || fail "it fetched more than once"
echo "nvidia-cuda-nvcc==1.0" >"$root/.deps/cuda/versions"
expect 0
[ "$(wc -l <"$root/pip.log")" = 2 ] || fail "it kept a toolkit of other versions"

# Two commands at once on a fresh machine: one fetches, the other waits and finds it there.
rm -r "$root/.deps/cuda"
: >"$root/pip.log"
mkfifo "$root/gate"
touch "$root/gated"
(expect 0) &
read -r <"$root/gate" # the first is in the middle of it
(expect 0) &
sleep 0.5 # time in which it could fetch, too, if it did not wait
echo go >"$root/gate"
wait %1 && wait %2 || fail "one of two failed"
[ "$(wc -l <"$root/pip.log")" = 1 ] || fail "both fetched"

# A toolkit without NVRTC gets that alone.
rm -r "$root/.deps/cuda"
mkdir -p "$root/cuda/bin" "$root/cuda/lib64"
touch "$root/cuda/bin/nvcc" "$root/cuda/lib64/libcudart_static.a"
expect 0
expect_text "The CUDA toolkit has no NVRTC"
[ -e "$root/.deps/nvrtc/versions" ] && [ ! -e "$root/.deps/cuda" ] || fail "not NVRTC alone"
expect 0
[ ! -s "$root/output" ] || fail "it spoke although nothing is missing"
echo "every case as expected"
