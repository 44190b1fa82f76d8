// Texts of samples whole and broken; and what a runtime writes is read as it was meant.
#include "tools/watch/samples.h"

#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "runtime/watch/prometheus_text.h"

namespace graphtree::watch {
namespace {

TEST(SamplesTest, AreAskedByNameAndLabel) {
  const absl::StatusOr<Samples> samples = Samples::Parse(
      "# HELP steps Steps.\n# TYPE steps counter\nsteps{lane=\"0\",mode=\"replay\"} 12\n"
      "steps{lane=\"1\",mode=\"replay\"} 3e2\nsteps{lane=\"1\",mode=\"eager\"} 1\nready 0.5\n\n");
  ASSERT_THAT(samples, IsOk());
  EXPECT_EQ(samples->all().size(), 4u);
  EXPECT_EQ(samples->Sum("steps"), 313);
  EXPECT_EQ(samples->Sum("steps", "mode", "replay"), 312);
  EXPECT_EQ(samples->Sum("steps", "mode", "failed"), 0);
  EXPECT_EQ(samples->Sum("ready"), 0.5);
  EXPECT_TRUE(samples->Has("ready"));
  EXPECT_FALSE(samples->Has("read"));
  EXPECT_EQ(samples->all()[1].Label("lane"), "1");
  EXPECT_EQ(samples->all()[1].Label("device"), "");
}

TEST(SamplesTest, AnyNameComesBackAsItWas) {
  const std::string name = "say \"hi\" \\n\n{}=,# }";
  PrometheusText text;
  text.Family("steps", "counter", "Steps of programs.");
  text.Sample({{"program", name}, {"lane", "0"}}, uint64_t{7});
  const absl::StatusOr<Samples> samples = Samples::Parse(text.text());
  ASSERT_THAT(samples, IsOk());
  EXPECT_EQ(samples->Sum("steps", "program", name), 7);
}

TEST(SamplesTest, ALineThatIsNoSampleIsNamed) {
  for (const char* line : {"steps", "steps{", "steps{a} 1", "steps{a=1} 1", "steps{a=\"b} 1",
                           "steps{a=\"b\"}1", "steps{a=\"b\"} x", "{a=\"b\"} 1", " 1",
                           "steps{a=\"b\\"}) {
    EXPECT_THAT(Samples::Parse(absl::StrCat("good 1\n", line, "\n")),
                FailsWith(absl::StatusCode::kInvalidArgument, "this line is no sample: "))
        << line;
  }
}

TEST(SamplesTest, RandomBytesAreReadOrRefused) {
  const uint64_t seed = 5;
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 random(seed);
  const std::string pieces[] = {"steps", "{", "}", "=", "\"", "\\", ",", " ", "1", "\n", "#", "a"};
  int read = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (uint64_t piece = random() % 12; piece-- > 0;) text += pieces[random() % 12];
    Samples::Parse(text).ok() ? ++read : ++refused;
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace graphtree::watch
