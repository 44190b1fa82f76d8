// Runs a fuzzer's own function on files that are kept: an ordinary test, under whatever sanitizer
// is on. A test that includes this is linked with one fuzzer.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_FUZZ_CORPUS_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_FUZZ_CORPUS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace graphtree::snapshot {

inline std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The first `size` bytes, in memory of that size, so that a sanitizer sees every byte that is read
// beyond it.
inline void RunOne(const std::string& text, size_t size) {
  std::vector<uint8_t> bytes(text.begin(), text.begin() + static_cast<ptrdiff_t>(size));
  bytes.shrink_to_fit();
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

// Every file of a folder, or every one whose name has that ending; how many there are.
inline size_t RunAll(const std::string& folder, const std::string& ending = "") {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!ending.empty() && entry.path().extension() != ending) continue;
    SCOPED_TRACE(entry.path());
    const std::string text = Contents(entry.path());
    RunOne(text, text.size());
    ++files;
  }
  return files;
}

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_FUZZ_CORPUS_H_
