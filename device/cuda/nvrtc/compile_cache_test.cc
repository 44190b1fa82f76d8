// The disk cache: what is found, what is not, and that damage, other keys, other processes and
// folders that cannot be written do no harm.
#include "device/cuda/nvrtc/compile_cache.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

std::string NewFolder() {
  std::string pattern = absl::StrCat(testing::TempDir(), "/compile_cache_XXXXXX");
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  return absl::StrCat(pattern, "/deep/er");
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> names;
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  }
  closedir(directory);
  return names;
}

CompiledSource Sample(char fill = 'c') {
  return {std::string(1000, fill) + std::string(1, '\0') + "end", "_Z3addPi"};
}

TEST(CompileCacheTest, WhatWasPutIsFound) {
  const CompileCache cache(NewFolder());
  EXPECT_FALSE(cache.Find("key").has_value());
  EXPECT_TRUE(cache.Put("key", Sample()));
  const auto found = cache.Find("key");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->cubin, Sample().cubin);
  EXPECT_EQ(found->lowered_name, Sample().lowered_name);
  EXPECT_FALSE(cache.Find("other key").has_value());
}

TEST(CompileCacheTest, EveryPartIsInTheKey) {
  std::set<std::string> keys;
  const std::vector<std::string> none;
  EXPECT_TRUE(keys.insert(CompileKey("text", "f", none, "sm_90", "13.0")).second);
  EXPECT_TRUE(keys.insert(CompileKey("text ", "f", none, "sm_90", "13.0")).second);
  EXPECT_TRUE(keys.insert(CompileKey("text", "g", none, "sm_90", "13.0")).second);
  EXPECT_TRUE(keys.insert(CompileKey("text", "f", {"-a"}, "sm_90", "13.0")).second);
  EXPECT_TRUE(keys.insert(CompileKey("text", "f", {"-a", "-b"}, "sm_90", "13.0")).second);
  EXPECT_TRUE(keys.insert(CompileKey("text", "f", {"-a-b"}, "sm_90", "13.0")).second);
  EXPECT_TRUE(keys.insert(CompileKey("text", "f", {"-b", "-a"}, "sm_90", "13.0")).second);
  EXPECT_TRUE(keys.insert(CompileKey("text", "f", none, "sm_100", "13.0")).second);
  EXPECT_TRUE(keys.insert(CompileKey("text", "f", none, "sm_90", "13.1")).second);
}

TEST(CompileCacheTest, EveryDamagedByteAndEveryCutIsFoundOut) {
  const CompileCache cache(NewFolder());
  CompiledSource small{"cubin", "name"};
  ASSERT_TRUE(cache.Put("key", small));
  const std::string path = cache.PathOf("key");
  const std::string whole = ReadFile(path);
  ASSERT_GT(whole.size(), 40u);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    WriteFile(path, damaged);
    EXPECT_FALSE(cache.Find("key").has_value()) << "byte " << i;
    WriteFile(path, whole.substr(0, i));
    EXPECT_FALSE(cache.Find("key").has_value()) << "cut at " << i;
  }
  WriteFile(path, whole + "x");
  EXPECT_FALSE(cache.Find("key").has_value());
  EXPECT_TRUE(cache.Put("key", small)) << "a damaged entry is written over";
  EXPECT_TRUE(cache.Find("key").has_value());
}

TEST(CompileCacheTest, AnotherKeysEntryUnderThisNameIsNotTaken) {
  const CompileCache cache(NewFolder());
  ASSERT_TRUE(cache.Put("key of a", Sample()));
  WriteFile(cache.PathOf("key of b"), ReadFile(cache.PathOf("key of a")));
  EXPECT_FALSE(cache.Find("key of b").has_value());
}

TEST(CompileCacheTest, NoFolderKeepsNothing) {
  const CompileCache cache("");
  EXPECT_FALSE(cache.Put("key", Sample()));
  EXPECT_FALSE(cache.Find("key").has_value());
}

TEST(CompileCacheTest, AFolderThatCannotBeMadeOrWrittenIsNoError) {
  const std::string file = absl::StrCat(testing::TempDir(), "/a_file");
  WriteFile(file, "not a folder");
  for (const std::string& folder : {absl::StrCat(file, "/below"), file,
                                    std::string("/proc/no_such_folder")}) {
    const CompileCache cache(folder);
    EXPECT_FALSE(cache.Put("key", Sample())) << folder;
    EXPECT_FALSE(cache.Find("key").has_value()) << folder;
  }
}

TEST(CompileCacheTest, AFolderInThePlaceOfAnEntryIsNoError) {
  const CompileCache cache(NewFolder());
  ASSERT_TRUE(cache.Put("other", Sample()));
  ASSERT_EQ(mkdir(cache.PathOf("key").c_str(), 0700), 0);
  EXPECT_FALSE(cache.Find("key").has_value());
  EXPECT_FALSE(cache.Put("key", Sample()));
  EXPECT_TRUE(cache.Find("other").has_value());
}

// Several processes write and read the same few keys; every entry that is found is whole.
TEST(CompileCacheTest, ProcessesShareAFolder) {
  const std::string folder = NewFolder();
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      const CompileCache cache(folder);
      for (int i = 0; i < 300; ++i) {
        const std::string key = absl::StrCat("key ", i % 5);
        const char fill = static_cast<char>('a' + i % 5);
        if (!cache.Put(key, Sample(fill))) _exit(1);
        const auto found = cache.Find(key);
        if (!found.has_value() || found->cubin != Sample(fill).cubin) _exit(2);
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  const std::vector<std::string> files = FilesOf(folder);
  EXPECT_EQ(files.size(), 5u);
  for (const std::string& name : files) EXPECT_TRUE(absl::EndsWith(name, ".kernel")) << name;
}

}  // namespace
}  // namespace graphtree
