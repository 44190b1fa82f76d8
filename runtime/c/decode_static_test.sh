#!/usr/bin/env bash
# decode_static_test.sh PROGRAM.c libgraphtree.a graphtree.h: the program, compiled and linked by
# the C compiler to the archive and the C++ run time alone, does what it does with the shared
# library. Beside it a file with names of the inside's own: they do not meet.
set -euo pipefail
program=$1 archive=$2 header=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/runtime/c"
cp -L "$header" "$folder/runtime/c/graphtree.h"
cat >"$folder/other.cc" <<'CODE'
// A program's own names, which the library has inside, too.
namespace absl::debian3 { class Status { public: static const char kMovedFromString[]; }; }
const char absl::debian3::Status::kMovedFromString[] = "another";
namespace graphtree::c { int CountLayouts() { return 1; } }
CODE
g++ -std=c++20 -c "$folder/other.cc" -o "$folder/other.o"
gcc -std=c99 -Wall -Wextra -pedantic -Werror -I"$folder" "$program" "$folder/other.o" "$archive" \
  -lstdc++ -lm -ldl -lpthread -lrt -o "$folder/program"
"$folder/program"
# Of all names that the archive defines, programs see those of the header.
if nm --defined-only --extern-only "$archive" | awk 'NF == 3 { print $3 }' | grep -v '^gt_'; then
  echo "the archive shows more than the interface"
  exit 1
fi
