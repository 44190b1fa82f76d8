// What people and scripts are shown of two looks, down to the last blank.
#include <string>

#include "absl/strings/str_split.h"
#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/watch/memory_view.h"
#include "tools/watch/samples.h"
#include "tools/watch/server_view.h"

namespace graphtree::watch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Samples Parsed(const std::string& text) {
  absl::StatusOr<Samples> samples = Samples::Parse(text);
  EXPECT_THAT(samples, IsOk());
  return samples.ok() ? *std::move(samples) : Samples();
}

const char kBefore[] = R"(graphtree_serving_mode{mode="replay"} 1
graphtree_program_steps_total{program="decode",device="0",lane="0"} 1000
graphtree_program_replays_total{program="decode",device="0",lane="0"} 900
graphtree_program_not_replayed_total{program="decode",device="0",lane="0",reason="warming_up"} 60
graphtree_program_not_replayed_total{program="decode",device="0",lane="0",reason="above_ceiling"} 40
graphtree_recordings_total{device="0",lane="0"} 30
)";

const char kAfter[] = R"(graphtree_serving_mode{mode="replay"} 1
graphtree_serving_mode{mode="off"} 0
graphtree_ready_ratio 0.95
graphtree_lane_now{device="0",lane="0",doing="record",program="decode",shape="tokens=64"} 1
graphtree_program_steps_total{program="decode",device="0",lane="0"} 3000
graphtree_program_replays_total{program="decode",device="0",lane="0"} 2860
graphtree_program_not_replayed_total{program="decode",device="0",lane="0",reason="warming_up"} 60
graphtree_program_not_replayed_total{program="decode",device="0",lane="0",reason="above_ceiling"} 80
graphtree_program_steps_total{program="idle",device="0",lane="0"} 0
graphtree_program_replays_total{program="idle",device="0",lane="0"} 0
graphtree_recordings_total{device="0",lane="0"} 38
graphtree_graphs_live{device="0",lane="0"} 38
graphtree_execs_live{device="0",lane="0"} 37
graphtree_exec_bytes_estimate{device="0",lane="0"} 10485760
graphtree_pool_bytes{device="0",lane="0",state="live"} 1048576
graphtree_pool_bytes{device="0",lane="0",state="cached"} 3145728
graphtree_pool_bytes{device="0",lane="0",state="parked"} 0
graphtree_slot_bytes{program="decode",device="0",lane="0"} 2048
graphtree_workspace_bytes 4096
graphtree_staging_bytes{program="decode",device="0",lane="0"} 8192
)";

TEST(ViewsTest, TopIsAScreenful) {
  const Samples before = Parsed(kBefore), after = Parsed(kAfter);
  const std::string text = TopText({before, after, 2}, "12:01:33");
  EXPECT_EQ(text,
            "12:01:33   mode replay, 95 % of the shapes have their graphs\n"
            "steps    1000.0 a second, 98.0 % of them replayed; 3,000 in all\n"
            "graphs   38 recordings, 37 executables; 8 recorded since the last look\n"
            "memory   10.0 MiB executables, 4.00 MiB pool (1.00 MiB live, 0 B parked), 2.00 KiB "
            "slots,\n"
            "         4.00 KiB workspaces; page-locked on the host: 8.00 KiB\n"
            "now      device 0 lane 0 records decode, tokens=64\n"
            "\n"
            "program                steps/s  replayed      in all   not replayed, most often\n"
            "decode                  1000.0    98.0 %       3,000   above_ceiling 80, warming_up "
            "60\n"
            "idle                       0.0         -           0\n"
            "\n"
            "not replayed           steps/s    in all   why\n"
            "above_ceiling             20.0        80   it is larger than every shape that\n"
            "                                           could serve it; add a larger shape,\n"
            "                                           or split the call\n"
            "warming_up                 0.0        60   the shape that serves it is being\n"
            "                                           warmed up, and is recorded next\n");
}

TEST(ViewsTest, TopForAScript) {
  const Samples before = Parsed(kBefore), after = Parsed(kAfter);
  EXPECT_THAT(TopJson({before, after, 2}),
              HasSubstr(R"("steps_per_second":1000,"replay_share":0.98,"steps":3000)"));
  EXPECT_THAT(TopJson({before, after, 2}), Not(HasSubstr("\n")));
  EXPECT_THAT(TopJson({after, after, 2}), HasSubstr(R"("replay_share":null)"));
}

// Its counters begin anew.
TEST(ViewsTest, AServerThatWasStartedAnewHasNoNegativeRate) {
  const Samples before = Parsed(kAfter), after = Parsed(kBefore);
  EXPECT_THAT(TopText({before, after, 1}, "0"), HasSubstr("steps    1000.0 a second, 90.0 %"));
}

TEST(ViewsTest, NamesDoNotSteerATerminal) {
  const Samples after = Parsed(
      "graphtree_program_steps_total{program=\"a\033[2Jb\",device=\"0\",lane=\"0\"} 1\n");
  EXPECT_THAT(TopText({after, after, 1}, "0"), Not(HasSubstr("\033")));
}

const char kLedger[] = R"(graphtree_ledger_device_bytes 7340032
graphtree_ledger_lane_bytes{device="0",lane="0",kind="alone"} 1048576
graphtree_ledger_lane_bytes{device="0",lane="0",kind="shared"} 1048576
graphtree_ledger_lane_bytes{device="0",lane="0",kind="idle"} 2097152
graphtree_ledger_sum_bytes{kind="slots"} 2097152
graphtree_ledger_sum_bytes{kind="executables"} 1048576
graphtree_ledger_sum_bytes{kind="code"} 0
graphtree_ledger_sum_bytes{kind="workspaces"} 0
graphtree_ledger_sum_bytes{kind="host"} 512
graphtree_ledger_bytes{program="decode",function="decode[tokens=8]",kind="alone"} 1048576
graphtree_ledger_bytes{program="decode",function="decode[tokens=8]",kind="shared"} 1048576
graphtree_ledger_bytes{program="decode",function="decode[tokens=8]",kind="executables"} 1048576
)";

TEST(ViewsTest, MemoryIsALineAndWhatChanged) {
  const Samples first = Parsed("graphtree_ledger_device_bytes 5242880\n"
                               "graphtree_ledger_bytes{function=\"old\",kind=\"alone\"} 4096\n");
  const Samples then = Parsed(kLedger);
  const std::string heading = MemoryHeading();
  EXPECT_EQ(heading,
            "time         device      change executables     graphs       idle      slots       "
            "code workspaces       host\n");
  EXPECT_EQ(MemoryLine(nullptr, then, "12:01:33"),
            "12:01:33   7.00 MiB           -    1.00 MiB   2.00 MiB   2.00 MiB   2.00 MiB        "
            "0 B        0 B      512 B\n");
  EXPECT_EQ(MemoryLine(&first, then, "12:01:34"),
            "12:01:34   7.00 MiB   +2.00 MiB    1.00 MiB   2.00 MiB   2.00 MiB   2.00 MiB        "
            "0 B        0 B      512 B\n"
            "                      +2.00 MiB  decode[tokens=8]\n"
            "                      -4.00 KiB  old\n");
  EXPECT_THAT(MemoryJson(then), HasSubstr(R"("functions":{"decode[tokens=8]":2097152})"));
}

}  // namespace
}  // namespace graphtree::watch
