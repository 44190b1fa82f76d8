// A file of gzip's through a source of bytes: whole, in members, cut off, damaged, through a pipe.
#include "tools/snapshot/read/gunzip.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "tools/snapshot/read/byte_source.h"

namespace graphtree::snapshot {
namespace {

std::string PathOf(const std::string& name) {
  return absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name);
}

std::string Packed(const std::string& text, const char* mode = "wb") {
  const std::string path = PathOf("packed.gz");
  const gzFile file = gzopen(path.c_str(), mode);
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

absl::StatusOr<std::string> ReadAll(const std::string& path) {
  auto source = ByteSource::Open(path);
  if (!source.ok()) return source.status();
  source->UnpackGzip();
  std::string text;
  const char* p = source->begin();
  for (;;) {
    const absl::Status status = source->Fill(p, 1);
    if (!status.ok()) return status;
    if (p == source->end()) return text;
    text.append(p, source->end());
    p = source->end();
  }
}

std::string Long() {
  std::mt19937 random(1);
  std::string text;
  while (text.size() < 3'000'000) absl::StrAppend(&text, "{\"ts\": ", random() % 1000, "}, ");
  return text;
}

TEST(GunzipTest, WhatWasPackedComesBack) {
  for (const std::string& text : {std::string(), std::string("x"), Long()}) {
    const auto read = ReadAll(Packed(text));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == text);
  }
}

TEST(GunzipTest, MembersAreOneText) {
  Packed("one ");
  const auto read = ReadAll(Packed("two", "ab"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, "one two");
}

TEST(GunzipTest, WhatIsNotPackedStaysAsItIs) {
  for (const std::string& text : {std::string(), std::string("\x1f"), std::string("plain")}) {
    const std::string path = PathOf("plain");
    std::ofstream(path, std::ios::binary) << text;
    const auto read = ReadAll(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, text);
  }
}

TEST(GunzipTest, ACutFileGivesWhatIsThere) {
  const std::string text = Long();
  const std::string path = Packed(text);
  ASSERT_EQ(truncate(path.c_str(), 100'000), 0);
  const auto read = ReadAll(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_GT(read->size(), 100'000u);
  EXPECT_EQ(text.compare(0, read->size(), *read), 0);
}

TEST(GunzipTest, DamageIsAnErrorThatSaysSo) {
  const std::string path = Packed(Long());
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(50'000);
    file << std::string(1000, '\xff');
  }
  const auto read = ReadAll(path);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(read.status().message().find("damaged"), std::string::npos) << read.status();
}

}  // namespace
}  // namespace graphtree::snapshot
