# What the shell commands in tools/ share; sourced, never run. It stands in the project's root.
# shellcheck shell=bash

set -euo pipefail

# What the caller names, it names from where it stands.
for variable in CUDA_HOME GRAPHTREE_NVRTC; do
  [ -z "${!variable:-}" ] || [[ ${!variable} == /* ]] || export "$variable=$PWD/${!variable}"
done

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$project"

say() { echo "$*" >&2; }

# Ends with "wrong use", after a sentence.
refuse() {
  say "$(basename "$0"): $*"
  exit 2
}

# Prints the comment at the head of the command: its help is written once, there.
print_help() { sed -n '2,/^[^#]/{/^#/{s/^# \{0,1\}//;p}}' "$0"; }

# Where a toolkit is that the system installed; tests look elsewhere.
readonly system_cuda=${GRAPHTREE_SYSTEM_CUDA:-/usr/local/cuda}

# Prints the root of the CUDA toolkit that the build will find, or fails. The order is that of
# bazel/cuda_toolkit.bzl.
cuda_root() {
  local root lib
  for root in "${CUDA_HOME:-}" "$project/.deps/cuda/nvidia/cu13" "$system_cuda"; do
    [ -n "$root" ] && [ -e "$root/bin/nvcc" ] || continue
    for lib in lib lib64; do
      [ -e "$root/$lib/libcudart_static.a" ] || continue
      echo "$root"
      return 0
    done
  done
  return 1
}

# Prints the folder of libnvrtc.so.13, or fails. It is loaded at run time, and not every toolkit has
# it.
nvrtc_folder() {
  local folder root
  root=$(cuda_root) || root=$system_cuda
  for folder in "${GRAPHTREE_NVRTC:-}" "$root/lib" "$root/lib64" \
    "$project/.deps/nvrtc/nvidia/cu13/lib" "$project/.deps/cuda/nvidia/cu13/lib"; do
    [ -n "$folder" ] && [ -e "$folder/libnvrtc.so.13" ] || continue
    echo "$folder"
    return 0
  done
  return 1
}

# The clang that this system calls its own: 14 where there is one, since .bazelrc is tried with it.
clang_name() {
  command -v clang-14 >/dev/null && echo clang-14 && return
  command -v clang >/dev/null && echo clang
}

# build_optimised [--no-cuda] TARGET...: builds quietly, as shipped and as measured. Leaves the
# folder of the binaries in optimised_bin (the link bazel-bin follows whatever was built last).
build_optimised() {
  local flags=(--config=opt --show_result=0)
  if [ "${1:-}" = --no-cuda ]; then
    flags+=(--config=no_cuda)
    shift
  fi
  [ -t 2 ] || flags+=(--noshow_progress --ui_event_filters=-info)
  say "Building $*"
  bazel build "${flags[@]}" -- "$@" </dev/null >&2 || {
    say "$(basename "$0"): the build failed; its own words are above"
    exit 1
  }
  optimised_bin=$(bazel info "${flags[@]}" bazel-bin 2>/dev/null </dev/null)
}

# Tells what runs from here where NVRTC is.
export_nvrtc() {
  local folder
  if folder=$(nvrtc_folder); then export GRAPHTREE_NVRTC=$folder; fi
}

# The targets that carry a tag, and have one of these kinds.
targets_with_tag() {
  bazel query --noshow_progress --ui_event_filters=-info,-debug \
    "kind('$2', attr(tags, '[\\[ ]$1[,\\]]', //...))" </dev/null
}
