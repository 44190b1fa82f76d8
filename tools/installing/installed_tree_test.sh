#!/usr/bin/env bash
# Putting an installation into its place and taking it away, with others' files around it.
set -euo pipefail

say() { echo "$*" >&2; }
source tools/installing/installed_tree.sh
work=$TEST_TMPDIR/work
mkdir -p "$work"

fail() { echo "FAILED: $*" && exit 1; }

# tree FOLDER FILE...: a laid-out tree of these files, which say where they are from.
tree() {
  local folder=$1 file
  shift
  rm -rf "$folder"
  for file in "$@" "$kInstalledFiles"; do
    mkdir -p "$(dirname "$folder/$file")"
    echo "$folder" >"$folder/$file"
  done
  printf '%s\n' "$@" "$kInstalledFiles" | LC_ALL=C sort >"$folder/$kInstalledFiles"
}
files_of() { (cd "$1" && find . ! -type d -printf '%P\n' | LC_ALL=C sort | tr '\n' ' '); }
expect_files() { [ "$(files_of "$1")" = "$2" ] || fail "$1 has $(files_of "$1"), and not $2"; }

root=$work/root
tree "$work/one" bin/graphtree lib/libgraphtree.so.1.0.0 lib/old/part
tree "$work/two" bin/graphtree lib/libgraphtree.so.1.1.0

# It is installed where there was nothing, and again, and the newer one takes the older one's place.
move_into_place "$work/one" "$root"
expect_files "$root" "bin/graphtree lib/libgraphtree.so.1.0.0 lib/old/part $kInstalledFiles "
move_into_place "$work/one" "$root"
echo mine >"$root/bin/mine"
exec {running}<"$root/bin/graphtree"
move_into_place "$work/two" "$root"
expect_files "$root" "bin/graphtree bin/mine lib/libgraphtree.so.1.1.0 $kInstalledFiles "
[ ! -e "$root/lib/old" ] || fail "an empty folder was left"
[ "$(cat "$root/bin/graphtree")" = "$work/two" ] || fail "the file was not replaced"
# Whoever has the old file open still has it.
[ "$(cat <&"$running")" = "$work/one" ] || fail "a file in use was written over"

# It goes, and others' files stay.
remove_installed "$root" >/dev/null
expect_files "$root" "bin/mine "
! remove_installed "$root" 2>"$work/words" || fail "nothing was removed, and it said nothing"
grep -qF "nothing is installed under $root" "$work/words" || fail "$(cat "$work/words")"

# A file of another's is not written over, and then nothing is changed at all.
echo theirs >"$root/bin/graphtree"
! move_into_place "$work/two" "$root" 2>"$work/words" || fail "it wrote over another's file"
grep -qF "  bin/graphtree" "$work/words" || fail "$(cat "$work/words")"
expect_files "$root" "bin/graphtree bin/mine "
[ "$(cat "$root/bin/graphtree")" = theirs ] || fail "another's file was changed"
ln -sfn /nowhere "$root/bin/graphtree"
! move_into_place "$work/two" "$root" 2>/dev/null || fail "it wrote over another's link"
rm "$root/bin/graphtree"

# A list that somebody has changed leads nowhere else.
move_into_place "$work/two" "$root"
echo precious >"$work/precious"
printf '%s\n' ../precious "/$work/precious" >>"$root/$kInstalledFiles"
remove_installed "$root" >/dev/null
[ -e "$work/precious" ] || fail "a file outside of the folder was removed"

# Places that cannot be written to.
echo file >"$work/file"
! can_be_made "$work/file/below" 2>"$work/words" || fail "it would install below a file"
grep -qF "$work/file is not a folder" "$work/words" || fail "$(cat "$work/words")"
! can_be_made /proc/graphtree 2>"$work/words" || fail "it would install below /proc"
grep -qF "may not write to /proc" "$work/words" || fail "$(cat "$work/words")"
can_be_made "$work/new/folder" || fail "a new folder"
[ ! -e "$work/new" ] || fail "asking made a folder"

# A folder on the way that is none: nothing is changed.
mkdir -p "$work/half/bin"
echo file >"$work/half/lib"
! move_into_place "$work/one" "$work/half" 2>"$work/words" || fail "it installed over a file"
grep -qF "$work/half/lib is not a folder" "$work/words" || fail "$(cat "$work/words")"
expect_files "$work/half" "lib "

# No room: /dev/full's stand-in is a copy that fails.
cp() { command cp "$1" "$2" "$3" && return 1; }
! move_into_place "$work/one" "$work/full" 2>"$work/words" || fail "a failed copy was not seen"
unset -f cp
grep -qF "nothing was installed: $work/full has no room" "$work/words" ||
  fail "$(cat "$work/words")"
[ -z "$(ls -A "$work/full")" ] || fail "it left something behind"

# What is said at the end names places that are right whatever the libraries' folder is called:
# CMake looks below a prefix in lib, and not on every system in lib64.
say_how_it_is_found /opt/graphtree lib64 2>"$work/words"
grep -qF -- "-Dgraphtree_DIR=/opt/graphtree/lib64/cmake/graphtree " "$work/words" ||
  fail "$(cat "$work/words")"
! grep -qF CMAKE_PREFIX_PATH "$work/words" || fail "$(cat "$work/words")"
echo "installing and removing hold"
