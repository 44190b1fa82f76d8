#!/usr/bin/env bash
# version_test.sh version.h graphtree.h MODULE.bazel CHANGELOG.md: all say the same version. What
# the change log has under "Unreleased" comes before its newest version.
set -euo pipefail

version=$(sed -n 's/.*kVersion\[\] = "\(.*\)".*/\1/p' "$1")
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "FAILED: no version in $1" && exit 1; }

# says PLACE VERSION
says() { [ "$2" = "$version" ] || { echo "FAILED: $1 says \"$2\", not $version" && exit 1; }; }
says "$2" "$(sed -n 's/^#define GT_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$2" | paste -sd.)"
says "$3" "$(sed -n 's/^    version = "\(.*\)",$/\1/p' "$3")"
says "$4" "$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' "$4" | head -n 1)"
