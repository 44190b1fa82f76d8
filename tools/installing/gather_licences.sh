#!/usr/bin/env bash
# gather_licences.sh FOLDER [CUDA_ROOT]: the licence texts of what is inside the libraries and the
# command, a file for each, from where the build has the parts from.
set -euo pipefail

to=$1 cuda=${2:-}
mkdir -p "$to"
cp LICENSE "$to/graphtree.txt"
cp .deps/abseil/LICENSE "$to/abseil.txt"
cp /usr/share/doc/libsqlite3-dev/copyright "$to/sqlite.txt"
cp /usr/share/doc/libprotozero-dev/copyright "$to/protozero.txt"
cp /usr/share/doc/zlib1g-dev/copyright "$to/zlib.txt"

# The parts of the page that `graphtree memory html` writes.
if [ -d .deps/page/node_modules ]; then
  for text in .deps/page/node_modules/d3-*/LICENSE .deps/page/node_modules/internmap/LICENSE; do
    echo "== $(basename "$(dirname "$text")")"
    cat "$text"
    echo
  done >"$to/d3.txt"
fi

# CUDA's runtime, linked statically. A toolkit has its text in one of these places.
if [ -n "$cuda" ]; then
  found=$(find "$cuda"/EULA.txt "$cuda"/dist-info "$cuda"/../.. -maxdepth 3 \
    \( -name EULA.txt -o -path '*cuda_runtime*/License.txt' \) 2>/dev/null | head -n 1 || true)
  if [ -n "$found" ]; then
    cp "$found" "$to/cuda_runtime.txt"
  else
    echo "The CUDA runtime is NVIDIA's, under the licence agreement of the CUDA Toolkit, which" \
      "was not found beside the toolkit; see https://docs.nvidia.com/cuda/eula/" \
      >"$to/cuda_runtime.txt"
  fi
fi
