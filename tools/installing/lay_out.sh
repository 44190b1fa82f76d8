#!/usr/bin/env bash
# Lays out what an installation consists of, in an empty folder. Nothing in it knows where it will
# lie, so the folder can be moved.
#
#   lay_out.sh --to FOLDER --shared libgraphtree.so.1 --static libgraphtree.a --command graphtree
#              --headers FOLDER --version VERSION [--libdir NAME] [--licences FOLDER]
#
#   bin/graphtree
#   include/graphtree/            graphtree.h, graphtree.hpp
#   lib/                          libgraphtree.so -> .so.1 -> .so.VERSION, libgraphtree.a
#   lib/pkgconfig/                graphtree.pc, graphtree-static.pc
#   lib/cmake/graphtree/          find_package(graphtree 1)
#   share/graphtree/              graphtree.BUILD for Bazel, installed_files
#   share/man, share/bash-completion, share/zsh, share/fish, share/doc/graphtree
set -euo pipefail

parts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
to="" shared="" static="" command="" headers="" version="" libdir=lib licences=""
while [ $# -gt 0 ]; do
  case "$1" in
    --to) to=$2 ;;
    --shared) shared=$2 ;;
    --static) static=$2 ;;
    --command) command=$2 ;;
    --headers) headers=$2 ;;
    --version) version=$2 ;;
    --libdir) libdir=$2 ;;
    --licences) licences=$2 ;;
    *) echo "lay_out.sh: there is no option $1" >&2 && exit 2 ;;
  esac
  shift 2
done

# place MODE FILE PATH: a copy at a path below the folder.
place() { install -D -m "$1" "$2" "$to/$3"; }

# fill FILE PATH: a copy of a text in which @VERSION@, @LIBDIR@ and @UP@ (from the library's
# folder to the root) are filled in.
fill() {
  local up
  up=$(sed 's|[^/][^/]*|..|g' <<<"$libdir")
  mkdir -p "$(dirname "$to/$2")"
  sed "s|@VERSION@|$version|g; s|@LIBDIR@|$libdir|g; s|@UP@|$up|g" "$parts/$1" >"$to/$2"
}

lay_out_libraries() {
  place 755 "$shared" "$libdir/libgraphtree.so.$version"
  place 644 "$static" "$libdir/libgraphtree.a"
  strip --strip-unneeded "$to/$libdir/libgraphtree.so.$version"
  strip --strip-debug --enable-deterministic-archives "$to/$libdir/libgraphtree.a"
  ln -s "libgraphtree.so.$version" "$to/$libdir/libgraphtree.so.${version%%.*}"
  ln -s "libgraphtree.so.${version%%.*}" "$to/$libdir/libgraphtree.so"
}

# The headers name one another from the project's root; outside they begin with graphtree/.
lay_out_headers() {
  local name
  mkdir -p "$to/include/graphtree"
  for name in graphtree.h graphtree.hpp; do
    sed 's|^#include "runtime/c/|#include "graphtree/|' "$headers/$name" \
      >"$to/include/graphtree/$name"
  done
}

lay_out_command() {
  local shells=share
  place 755 "$command" bin/graphtree
  strip "$to/bin/graphtree"
  mkdir -p "$to/share/man/man1" "$to/$shells/bash-completion/completions" \
    "$to/$shells/zsh/site-functions" "$to/$shells/fish/vendor_completions.d"
  "$to/bin/graphtree" man >"$to/share/man/man1/graphtree.1"
  "$to/bin/graphtree" completion bash >"$to/$shells/bash-completion/completions/graphtree"
  "$to/bin/graphtree" completion zsh >"$to/$shells/zsh/site-functions/_graphtree"
  "$to/bin/graphtree" completion fish >"$to/$shells/fish/vendor_completions.d/graphtree.fish"
}

lay_out_build_files() {
  fill graphtree.pc.in "$libdir/pkgconfig/graphtree.pc"
  fill graphtree-static.pc.in "$libdir/pkgconfig/graphtree-static.pc"
  fill graphtree-config.cmake.in "$libdir/cmake/graphtree/graphtree-config.cmake"
  fill graphtree-config-version.cmake.in "$libdir/cmake/graphtree/graphtree-config-version.cmake"
  fill graphtree.BUILD.in share/graphtree/graphtree.BUILD
}

lay_out_libraries
lay_out_headers
lay_out_command
lay_out_build_files
if [ -n "$licences" ]; then
  mkdir -p "$to/share/doc/graphtree/licences"
  cp "$licences"/* "$to/share/doc/graphtree/licences/"
fi
# Whoever removes the installation removes these and nothing else.
mkdir -p "$to/share/graphtree"
: >"$to/share/graphtree/installed_files"
list=$(cd "$to" && find . ! -type d -printf '%P\n' | LC_ALL=C sort)
echo "$list" >"$to/share/graphtree/installed_files"
find "$to" -type d -exec chmod 755 {} +
find "$to" -type f ! -perm /111 -exec chmod 644 {} +
