# Building what an installation or a wheel is made of; sourced, never run, after scripts/common.sh.
# shellcheck shell=bash

graphtree_version() { sed -n 's/.*kVersion\[\] = "\(.*\)".*/\1/p' device/base/version.h; }

# build_parts LICENCES [--no-cuda] TARGET...: builds the targets, optimised, after installing what
# that needs, and gathers the licence texts of what is inside in a new folder.
build_parts() {
  local licences=$1 options=() cuda=""
  shift
  if [ "$1" = --no-cuda ]; then options=(--no-cuda) && shift; fi
  tools/setup library "${options[@]}"
  build_optimised "${options[@]}" "$@"
  [ "${#options[@]}" != 0 ] || cuda=$(cuda_root)
  tools/installing/gather_licences.sh "$licences" "$cuda"
}

# build_and_lay_out TREE LIBDIR [--no-cuda]: an installation in a new folder.
build_and_lay_out() {
  local tree=$1 libdir=$2
  shift 2
  build_parts "$tree.licences" "$@" //runtime/c:libgraphtree.so.1 //runtime/c:graphtree_static \
    //tools:graphtree
  tools/installing/lay_out.sh --to "$tree" --version "$(graphtree_version)" --libdir "$libdir" \
    --headers runtime/c --licences "$tree.licences" \
    --shared "$optimised_bin/runtime/c/libgraphtree.so.1" \
    --static "$optimised_bin/runtime/c/libgraphtree.a" \
    --command "$optimised_bin/tools/graphtree"
  rm -rf "$tree.licences"
}
