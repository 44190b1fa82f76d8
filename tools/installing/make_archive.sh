#!/usr/bin/env bash
# make_archive.sh TREE ARCHIVE SECONDS: a laid-out tree as a compressed archive, in a folder of the
# archive's name. The same tree gives the same bytes: names are sorted, every file has the given
# time, and nothing of the machine goes in. Beside the tree the folder has the files that make it a
# repository of Bazel's.
set -euo pipefail

tree=$1 archive=$2 seconds=$3
name=$(basename "$archive" .tar.gz)
work=$(mktemp -d "$(dirname "$archive")/.archive.XXXXXX")
trap 'rm -rf "$work"' EXIT

cp -a "$tree" "$work/$name"
cp "$tree/share/graphtree/graphtree.BUILD" "$work/$name/BUILD.bazel"
version=$(sed -n 's/^Version: //p' "$tree"/lib*/pkgconfig/graphtree.pc)
echo 'workspace(name = "graphtree")' >"$work/$name/WORKSPACE"
echo "module(name = \"graphtree\", version = \"$version\")" >"$work/$name/MODULE.bazel"
chmod 644 "$work/$name"/{BUILD.bazel,WORKSPACE,MODULE.bazel}
tar --create --format=ustar --sort=name --mtime="@$seconds" --owner=0 --group=0 --numeric-owner \
  --directory "$work" "$name" | gzip -9 -n >"$work/archive"
mv "$work/archive" "$archive"
