// Compiling with the real NVRTC, which needs no driver. $GRAPHTREE_NVRTC names its folder; where
// there is none the tests skip, but for those of its absence.
#include "device/cuda/nvrtc/source_compiler.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "device/cuda/image_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

constexpr char kText[] = R"(
namespace deep {
template <typename T>
__global__ void Add(T* out, T by) { *out += by; }
}
extern "C" __global__ void plain(int* out) { *out = VALUE; }
)";

std::string Folder() {
  const char* folder = std::getenv("GRAPHTREE_NVRTC");
  return folder != nullptr ? folder : "";
}

std::string NewCacheFolder() {
  std::string pattern = absl::StrCat(testing::TempDir(), "/nvrtc_cache_XXXXXX");
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  return pattern;
}

class SourceCompilerTest : public testing::Test {
 protected:
  void SetUp() override {
    SourceCompiler probe({"sm_90", Folder(), ""});
    const absl::Status status = probe.Available();
    if (!status.ok()) GTEST_SKIP() << status.message();
  }
  static CudaSource Plain(int value = 7) {
    return {kText, "plain", {absl::StrCat("-DVALUE=", value)}};
  }
};

TEST_F(SourceCompilerTest, ACubinThatPassesTheCheckComesBack) {
  SourceCompiler compiler({"sm_90", Folder(), ""});
  const auto plain = compiler.Compile("sample", Plain());
  ASSERT_THAT(plain, IsOk());
  EXPECT_EQ(plain->lowered_name, "plain");
  EXPECT_EQ(plain->cubin.substr(0, 4), "\177ELF");
  EXPECT_EQ(ImageFlaw(plain->cubin), "");
  EXPECT_NE(ImageFlaw(plain->cubin.substr(0, plain->cubin.size() / 2)), "");
}

TEST_F(SourceCompilerTest, ATemplatesNameIsLowered) {
  SourceCompiler compiler({"sm_90", Folder(), ""});
  const auto add = compiler.Compile("sample", {kText, "deep::Add<float>", {"-DVALUE=1"}});
  ASSERT_THAT(add, IsOk());
  EXPECT_THAT(add->lowered_name, HasSubstr("Add"));
  EXPECT_NE(add->lowered_name, "deep::Add<float>");
  EXPECT_THAT(add->cubin, HasSubstr(add->lowered_name));
}

TEST_F(SourceCompilerTest, TheCompilersOwnLinesAreInTheError) {
  SourceCompiler compiler({"sm_90", Folder(), NewCacheFolder()});
  const CudaSource typo{"\n\n__global__ void f(int* p) { *p = undefined_thing; }", "f", {}};
  for (int round = 0; round < 2; ++round) {
    const absl::Status status = compiler.Compile("typo", typo).status();
    EXPECT_THAT(status, FailsWith(absl::StatusCode::kInvalidArgument, "undefined_thing"));
    EXPECT_THAT(status, FailsWith(absl::StatusCode::kInvalidArgument, "typo.cu(3)"));
    EXPECT_THAT(status, FailsWith(absl::StatusCode::kInvalidArgument, "sm_90"));
  }
  EXPECT_EQ(compiler.compilations(), 2u) << "a failure is not kept";
}

TEST_F(SourceCompilerTest, AnEntryThatIsNotThereIsNamed) {
  SourceCompiler compiler({"sm_90", Folder(), ""});
  EXPECT_THAT(compiler.Compile("sample", {kText, "no_such_kernel", {"-DVALUE=1"}}),
              FailsWith(absl::StatusCode::kInvalidArgument, "no_such_kernel"));
}

TEST_F(SourceCompilerTest, AnOptionOrArchitectureThatIsUnknownIsNamed) {
  SourceCompiler compiler({"sm_90", Folder(), ""});
  EXPECT_THAT(compiler.Compile("sample", {kText, "plain", {"--no-such-option"}}),
              FailsWith(absl::StatusCode::kInvalidArgument, "--no-such-option"));
  SourceCompiler old({"sm_12", Folder(), ""});
  EXPECT_THAT(old.Compile("sample", Plain()),
              FailsWith(absl::StatusCode::kInvalidArgument, "sm_12"));
}

TEST_F(SourceCompilerTest, TheSecondProcessFindsItOnDisk) {
  const std::string folder = NewCacheFolder();
  SourceCompiler first({"sm_90", Folder(), folder});
  const auto compiled = first.Compile("sample", Plain());
  ASSERT_THAT(compiled, IsOk());
  EXPECT_EQ(first.compilations(), 1u);
  SourceCompiler second({"sm_90", Folder(), folder});
  const auto found = second.Compile("sample", Plain());
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(second.compilations(), 0u);
  EXPECT_EQ(second.found_on_disk(), 1u);
  EXPECT_EQ(found->cubin, compiled->cubin);
  EXPECT_EQ(found->lowered_name, compiled->lowered_name);
  ASSERT_THAT(second.Compile("sample", Plain(8)), IsOk());
  EXPECT_EQ(second.compilations(), 1u) << "another option is another kernel";
  SourceCompiler other_gpu({"sm_80", Folder(), folder});
  ASSERT_THAT(other_gpu.Compile("sample", Plain()), IsOk());
  EXPECT_EQ(other_gpu.compilations(), 1u) << "another architecture is another kernel";
}

TEST_F(SourceCompilerTest, ACorruptEntryIsCompiledAgain) {
  const std::string folder = NewCacheFolder();
  SourceCompiler compiler({"sm_90", Folder(), folder});
  const auto compiled = compiler.Compile("sample", Plain());
  ASSERT_THAT(compiled, IsOk());
  const auto nvrtc = Nvrtc::Load({Folder()});
  ASSERT_THAT(nvrtc, IsOk());
  const CudaSource source = Plain();
  const std::string path = CompileCache(folder).PathOf(CompileKey(
      source.text, source.entry, source.options, "sm_90", (*nvrtc)->version()));
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(300) << "damage";
  const auto again = compiler.Compile("sample", Plain());
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->cubin, compiled->cubin);
  EXPECT_EQ(compiler.compilations(), 2u);
  ASSERT_THAT(compiler.Compile("sample", Plain()), IsOk());
  EXPECT_EQ(compiler.found_on_disk(), 1u) << "and written anew";
}

TEST_F(SourceCompilerTest, AFolderThatCannotBeWrittenOnlyCostsTime) {
  SourceCompiler compiler({"sm_90", Folder(), "/proc/no_such_folder"});
  ASSERT_THAT(compiler.Compile("sample", Plain()), IsOk());
  ASSERT_THAT(compiler.Compile("sample", Plain()), IsOk());
  EXPECT_EQ(compiler.compilations(), 2u);
}

TEST_F(SourceCompilerTest, ThreadsCompileSideBySide) {
  SourceCompiler compiler({"sm_90", Folder(), NewCacheFolder()});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&compiler, t] {
      EXPECT_THAT(compiler.Compile("sample", Plain(t % 2)), IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(NvrtcAbsenceTest, AFolderWithoutItIsNamed) {
  const absl::Status status = Nvrtc::Load({"/no/such/folder", "/tmp"}).status();
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kUnimplemented, "/no/such/folder"));
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kUnimplemented, "nvidia-cuda-nvrtc"));
}

TEST(NvrtcAbsenceTest, ALibraryThatIsSomethingElseIsRefused) {
  const std::string folder = NewCacheFolder();
  std::ofstream(folder + "/libnvrtc.so.13") << "not a library";
  EXPECT_THAT(Nvrtc::Load({folder}), FailsWith(absl::StatusCode::kUnimplemented, folder));
}

}  // namespace
}  // namespace graphtree
