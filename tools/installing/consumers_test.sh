#!/usr/bin/env bash
# consumers_test.sh INSTALLATION C_PROGRAM CPP_PROGRAM: other people's programs, compilers and
# flags, and what an installation says where it does not fit.
set -euo pipefail

here=$1 c_program=$PWD/$2 cpp_program=$PWD/$3
work=$TEST_TMPDIR/work
mkdir -p "$work"

fail() { echo "FAILED: $*" && exit 1; }

# compiles NAME COMPILER FLAG...: builds a program and runs it.
compiles() {
  local name=$1
  shift
  "$@" -o "$work/$name" || fail "$name does not compile"
  "$work/$name" >"$work/$name.out" 2>&1 || { cat "$work/$name.out" && fail "$name does not run"; }
}

# The programs name the headers as the project does, where one is held to C++17.
adapt() { sed 's|"runtime/c/|"graphtree/|; /static_assert(__cplusplus/d' "$1" >"$2"; }
adapt "$c_program" "$work/decode.c"
adapt "$cpp_program" "$work/example.cc"

export PKG_CONFIG_PATH=$here/lib/pkgconfig
version=$("$here/bin/graphtree" version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
[ "$(pkg-config --modversion graphtree)" = "$version" ] ||
  fail "pkg-config and the command name different versions"
mapfile -t -d ' ' shared < <(pkg-config --cflags --libs graphtree | tr -d '\n')
mapfile -t -d ' ' static < <(pkg-config --cflags --libs graphtree-static | tr -d '\n')
shared+=("-Wl,-rpath,$here/lib")
strict=(-Wall -Wextra -pedantic -Werror)

compilers_c=(gcc) compilers_cpp=(g++)
! command -v clang-14 >/dev/null || { compilers_c+=(clang-14) && compilers_cpp+=(clang++-14); }
for cc in "${compilers_c[@]}"; do
  compiles "c-shared-$cc" "$cc" -std=c99 "${strict[@]}" "$work/decode.c" "${shared[@]}"
  compiles "c-static-$cc" "$cc" -std=c11 "$work/decode.c" "${static[@]}"
done
for cxx in "${compilers_cpp[@]}"; do
  for flags in "-std=c++17" "-std=c++17 -D_GLIBCXX_DEBUG -D_GLIBCXX_ASSERTIONS" \
    "-std=c++20 -fno-exceptions -fno-rtti -DNDEBUG -O2" "-std=c++17 -fshort-wchar -fPIE -pie"; do
    # shellcheck disable=SC2086
    compiles "cpp-$cxx${flags//[^a-zA-Z0-9]/}" "$cxx" $flags "$work/example.cc" "${shared[@]}"
  done
  compiles "cpp-static-$cxx" "$cxx" -std=c++17 -static-libstdc++ -static-libgcc "$work/example.cc" \
    "${static[@]}"
done

# A CMake project of one target, and the words that CMake has for it.
project() {
  mkdir -p "$work/project"
  cp "$work/example.cc" "$work/project/"
  rm -rf "$work/project/build"
  cat >"$work/project/CMakeLists.txt"
}
configures() {
  cmake -S "$work/project" -B "$work/project/build" "-DCMAKE_PREFIX_PATH=$1" "${@:2}" \
    >"$work/cmake.out" 2>&1
}
expect_words() {
  tr -s ' \n' ' ' <"$work/cmake.out" | grep -qF -- "$1" ||
    { cat "$work/cmake.out" && fail "CMake did not say: $1"; }
}

for target in cpp static graphtree; do
  for cxx in "${compilers_cpp[@]}"; do
    project <<END
cmake_minimum_required(VERSION 3.16)
project(consumer CXX)
find_package(graphtree 1.0 REQUIRED COMPONENTS shared static cpp command)
find_package(graphtree 1)
add_executable(consumer example.cc)
set_target_properties(consumer PROPERTIES CXX_STANDARD 17)
target_link_libraries(consumer PRIVATE graphtree::$target)
add_custom_command(TARGET consumer POST_BUILD COMMAND graphtree::command version)
END
    configures "$here" "-DCMAKE_CXX_COMPILER=$cxx" || { cat "$work/cmake.out" && fail "$target"; }
    cmake --build "$work/project/build" >"$work/cmake.out" 2>&1 ||
      { cat "$work/cmake.out" && fail "graphtree::$target with $cxx"; }
    "$work/project/build/consumer" >/dev/null || fail "graphtree::$target with $cxx does not run"
  done
done

# refused REQUEST WORDS: find_package ends with these words.
refused() {
  project <<<"cmake_minimum_required(VERSION 3.19)
project(consumer CXX)
find_package(graphtree $1 REQUIRED)"
  ! configures "$here" || fail "find_package(graphtree $1) was content"
  expect_words "$2"
}
refused 2 'compatible with requested version "2"'
refused 1.99 'version: 1.'
refused "0.1...<1" 'version: 1.'
refused "1 COMPONENTS python" 'has no component "python"; it has shared, static, cpp and command'
project <<<"cmake_minimum_required(VERSION 3.19)
project(consumer CXX)
find_package(graphtree 1.0...1.5 REQUIRED)
find_package(graphtree 1 OPTIONAL_COMPONENTS python)
if(graphtree_python_FOUND OR NOT graphtree_FOUND)
  message(FATAL_ERROR \"an optional component\")
endif()"
configures "$here" || { cat "$work/cmake.out" && fail "a range of versions"; }

# The installation is moved: nothing in it knows where it was.
cp -a "$here" "$work/moved"
export PKG_CONFIG_PATH=$work/moved/lib/pkgconfig
! grep -rIl "$TEST_TMPDIR" "$work/moved" || fail "a file knows where it lies"
mapfile -t -d ' ' moved < <(pkg-config --cflags --libs graphtree | tr -d '\n')
[[ "${moved[*]}" == *"$work/moved/lib"* ]] || fail "pkg-config still names the old place"
compiles from-there gcc -std=c99 "$work/decode.c" "${moved[@]}" "-Wl,-rpath,$work/moved/lib"

# What people find beside it.
"$here/bin/graphtree" version >/dev/null
grep -q '^\.TH' "$here/share/man/man1/graphtree.1" || fail "the manual page"
bash -c "source '$here/share/bash-completion/completions/graphtree'; complete -p graphtree" \
  >/dev/null || fail "bash's completion"
(cd "$here" && while read -r file; do [ -e "$file" ] || fail "$file is listed and not there"; done \
  <share/graphtree/installed_files)
echo "all consumers compile and run"
