// A file that cannot be made or written is a status that names it, and nothing else.
#include "profiler/trace/sink.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree::trace {
namespace {

TEST(FileSinkTest, WritesWhatItIsGiven) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/trace";
  {
    auto sink = FileSink::Create(path);
    ASSERT_TRUE(sink.ok()) << sink.status();
    (*sink)->Write("one ");
    (*sink)->Write("two");
    EXPECT_TRUE((*sink)->status().ok());
    EXPECT_EQ((*sink)->written(), 7u);
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "one two");
}

TEST(FileSinkTest, FolderThatIsNotThereIsNamed) {
  const auto sink = FileSink::Create("/no/such/folder/trace");
  EXPECT_EQ(sink.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(sink.status().message().find("/no/such/folder/trace"), std::string::npos);
}

// Linux's device that is always full.
TEST(FileSinkTest, FullDiskEndsTheTraceWithAReason) {
  auto sink = FileSink::Create("/dev/full");
  ASSERT_TRUE(sink.ok()) << sink.status();
  (*sink)->Write("one");
  (*sink)->Write("two");
  EXPECT_EQ((*sink)->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE((*sink)->status().message().find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace graphtree::trace
