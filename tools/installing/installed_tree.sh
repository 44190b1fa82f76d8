# Putting an installation into its place, and taking it away; sourced, never run, after
# scripts/common.sh. It stands on what share/graphtree/installed_files lists, and touches no other
# file.
# shellcheck shell=bash

readonly kInstalledFiles=share/graphtree/installed_files

# The nearest folder above a path, itself included, that exists.
nearest_folder() {
  local path=$1
  while [ ! -e "$path" ] && [ "$path" != / ]; do path=$(dirname "$path"); done
  echo "$path"
}

# can_be_made ROOT: may files be written there? Says why not.
can_be_made() {
  local folder
  folder=$(nearest_folder "$1")
  if [ ! -d "$folder" ]; then
    say "$(basename "$0"): cannot install under $1: $folder is not a folder"
    return 1
  fi
  # Asked by doing, since root may write where the file system is read only, by its rights.
  local probe
  if ! probe=$(mktemp -d "$folder/.graphtree.XXXXXX" 2>/dev/null); then
    say "$(basename "$0"): cannot install under $1: $(id -un) may not write to $folder." \
      "Another PREFIX (\$HOME/.local), or sudo, would do"
    return 1
  fi
  rmdir "$probe"
}

# Does an installation have this file?
is_listed() { [ -f "$1/$kInstalledFiles" ] && grep -qxF -- "$2" "$1/$kInstalledFiles"; }

# Files of others that lie where ours would.
others_in_the_way() {
  local tree=$1 root=$2 file
  while read -r file; do
    if [ -e "$root/$file" ] || [ -L "$root/$file" ]; then
      is_listed "$root" "$file" || echo "$file"
    fi
  done <"$tree/$kInstalledFiles"
}

# What an older installation had and the new tree has not.
left_from_before() {
  [ -f "$2/$kInstalledFiles" ] || return 0
  LC_ALL=C comm -13 "$1/$kInstalledFiles" "$2/$kInstalledFiles"
}

# all_can_be_made TREE ROOT: may files be written to every folder of the tree's?
all_can_be_made() {
  local folder
  while read -r folder; do
    can_be_made "$2/$folder" || return 1
  done < <(sed 's|/[^/]*$||' "$1/$kInstalledFiles" | LC_ALL=C sort -u)
}

# move_into_place TREE ROOT: the files of a laid-out tree, each replaced in one step. They are first
# copied to the file system of their place, where lack of space shows before anything is changed.
move_into_place() {
  local tree=$1 root=$2 others staged file old
  others=$(others_in_the_way "$tree" "$root")
  if [ -n "$others" ]; then
    say "$(basename "$0"): nothing was installed: under $root lie files of the same names, which" \
      "no earlier installation has put there:"
    say "$(sed 's/^/  /' <<<"$others")"
    return 1
  fi
  all_can_be_made "$tree" "$root" || return 1
  old=$(left_from_before "$tree" "$root")
  mkdir -p "$root"
  staged=$(mktemp -d "$root/.graphtree.XXXXXX")
  if ! cp -a "$tree/." "$staged/"; then
    rm -rf "$staged"
    say "$(basename "$0"): nothing was installed: $root has no room for it"
    return 1
  fi
  # The list goes first: an installation that is cut short here can be removed or made again.
  while read -r file; do
    mkdir -p "$(dirname "$root/$file")"
    mv -fT "$staged/$file" "$root/$file"
  done < <(echo "$kInstalledFiles" && grep -vxF "$kInstalledFiles" "$tree/$kInstalledFiles")
  rm -rf "$staged"
  [ -z "$old" ] || remove_files "$root" <<<"$old"
}

# Removes the files on standard input, and the folders that this leaves empty.
remove_files() {
  local root=$1 file folder
  while read -r file; do
    # A list that somebody has changed must not lead out of the folder.
    case "/$file/" in *"/../"* | "//"*) continue ;; esac
    rm -f "$root/$file"
    folder=$(dirname "$file")
    while [ "$folder" != . ] && rmdir "$root/$folder" 2>/dev/null; do
      folder=$(dirname "$folder")
    done
  done
}

remove_installed() {
  local root=$1 list
  if [ ! -f "$root/$kInstalledFiles" ]; then
    say "$(basename "$0"): nothing is installed under $root: there is no $root/$kInstalledFiles"
    return 1
  fi
  if [ ! -w "$root/$(dirname "$kInstalledFiles")" ]; then
    say "$(basename "$0"): cannot remove what is under $root: $(id -un) may not write there"
    return 1
  fi
  # The list goes last, so that a removal that is cut short can be made again.
  list=$(grep -vxF "$kInstalledFiles" "$root/$kInstalledFiles")
  remove_files "$root" <<<"$list"
  remove_files "$root" <<<"$kInstalledFiles"
  echo "graphtree is no longer installed under $root"
}

say_how_it_is_found() {
  local prefix=$1 libdir=$2
  case "$prefix" in
    /usr | /usr/local) say "The loader finds new libraries after ldconfig" ;;
    *)
      say "  PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig    for pkg-config"
      say "  -Dgraphtree_DIR=$prefix/$libdir/cmake/graphtree    for CMake"
      say "  LD_LIBRARY_PATH=$prefix/$libdir    for programs without a path of their own to it"
      say "  PATH=$prefix/bin:\$PATH    for the command"
      ;;
  esac
}
