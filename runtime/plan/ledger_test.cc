// The ledger against a count of every byte.
#include "runtime/plan/ledger.h"

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint32_t kNone = LedgerInput::kNoProgram;
constexpr uint64_t kMapped = 64;

LedgerInput RandomInput(uint64_t seed) {
  std::mt19937_64 random(seed);
  LedgerInput input;
  const auto lanes = static_cast<uint32_t>(1 + random() % 3);
  for (uint32_t i = 0; i < lanes; ++i) {
    input.lanes.push_back({.device = i / 2, .number = i % 2, .mapped_bytes = kMapped});
  }
  for (uint32_t i = 0; i < 3; ++i) {
    input.programs.push_back({.name = absl::StrCat("program ", i),
                              .lane = static_cast<uint32_t>(random() % lanes),
                              .slot_bytes = random() % 100,
                              .staging_bytes = random() % 100,
                              .code_bytes = random() % 100,
                              .workspace_bytes = random() % 100});
  }
  for (uint64_t i = random() % 8; i-- > 0;) {
    LedgerInput::Recording one;
    one.program = random() % 4 == 0 ? kNone : static_cast<uint32_t>(random() % 3);
    one.lane = one.program == kNone ? static_cast<uint32_t>(random() % lanes)
                                    : input.programs[one.program].lane;
    one.function = absl::StrCat("f", random() % 2);
    one.id = i;
    one.executable_bytes = random() % 50;
    one.host_bytes = random() % 50;
    for (uint64_t r = random() % 4; r-- > 0;) {
      const uint64_t begin = random() % kMapped;
      one.ranges.push_back({1000 + begin, random() % (kMapped - begin + 1)});
    }
    input.recordings.push_back(std::move(one));
  }
  return input;
}

bool Uses(const LedgerInput::Recording& recording, uint32_t lane, Address byte) {
  if (recording.lane != lane) return false;
  for (const AddressRange& range : recording.ranges) {
    if (range.Contains(byte)) return true;
  }
  return false;
}

// Who uses each byte, by a name for each group.
template <typename NameOf>
void ExpectSplit(const LedgerInput& input, const NameOf& name_of, const std::string& name,
                 const LedgerBytes& bytes) {
  uint64_t alone = 0, shared = 0;
  for (uint32_t lane = 0; lane < input.lanes.size(); ++lane) {
    for (Address byte = 1000; byte < 1000 + kMapped; ++byte) {
      std::set<std::string> users;
      for (size_t i = 0; i < input.recordings.size(); ++i) {
        if (Uses(input.recordings[i], lane, byte)) users.insert(name_of(i));
      }
      if (users.count(name) == 0) continue;
      ++(users.size() == 1 ? alone : shared);
    }
  }
  EXPECT_EQ(bytes.alone, alone) << name;
  EXPECT_EQ(bytes.shared, shared) << name;
}

TEST(LedgerTest, SplitsBytesAsACountOfEachDoes) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const LedgerInput input = RandomInput(seed);
    const MemoryLedger ledger = LedgerOf(input);
    const auto of_recording = [](size_t i) { return absl::StrCat(i); };
    const auto of_program = [&](size_t i) {
      const uint32_t program = input.recordings[i].program;
      return program == kNone ? absl::StrCat("beside ", i) : input.programs[program].name;
    };
    const auto of_function = [&](size_t i) {
      const auto& one = input.recordings[i];
      return absl::StrCat(one.program == kNone ? "" : input.programs[one.program].name, " ",
                          one.function, " ", one.lane);
    };
    ASSERT_EQ(ledger.recordings.size(), input.recordings.size());
    for (size_t i = 0; i < input.recordings.size(); ++i) {
      ExpectSplit(input, of_recording, of_recording(i), ledger.recordings[i].bytes);
    }
    for (const LedgerRow& row : ledger.functions) {
      ExpectSplit(input, of_function, absl::StrCat(row.program, " ", row.function, " ", row.lane),
                  row.bytes);
    }
    ASSERT_EQ(ledger.programs.size(), 3u);
    for (const LedgerRow& row : ledger.programs) {
      ExpectSplit(input, of_program, row.program, row.bytes);
    }
    if (HasFailure()) return;
  }
}

TEST(LedgerTest, AddsUp) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const LedgerInput input = RandomInput(seed);
    const MemoryLedger ledger = LedgerOf(input);
    uint64_t executables = 0, host = 0, slots = 0, code = 0, of_programs = 0, of_functions = 0;
    for (const auto& one : input.recordings) {
      executables += one.executable_bytes;
      host += one.host_bytes;
    }
    for (const auto& program : input.programs) {
      slots += program.slot_bytes;
      code += program.code_bytes;
      host += program.staging_bytes;
    }
    for (const LedgerRow& row : ledger.functions) of_functions += row.bytes.executables;
    for (const LedgerRow& row : ledger.programs) of_programs += row.bytes.executables;
    EXPECT_EQ(of_functions, executables);
    EXPECT_LE(of_programs, executables);
    EXPECT_EQ(ledger.host, host);
    EXPECT_EQ(ledger.device(), executables + slots + code + kMapped * input.lanes.size());
    for (const LaneLedger& lane : ledger.lanes) EXPECT_EQ(lane.mapped(), kMapped);
  }
}

TEST(LedgerTest, IsATableForPeople) {
  LedgerInput input;
  input.lanes = {{.mapped_bytes = 4 << 20}};
  input.programs = {{.name = "decode", .slot_bytes = 2 << 20}};
  input.recordings = {{.program = 0,
                       .function = "decode[tokens=8]",
                       .ranges = {{1000, 1 << 20}},
                       .executable_bytes = 1 << 19}};
  const std::string text = LedgerText(LedgerOf(input));
  EXPECT_THAT(text, testing::StartsWith("MiB                    alone    shared"));
  EXPECT_THAT(text, testing::HasSubstr("  decode[tokens=8]      1.00      0.00      0.50"));
  EXPECT_THAT(text, testing::HasSubstr("device:       6.50, of these slots       2.00"));
}

}  // namespace
}  // namespace graphtree
