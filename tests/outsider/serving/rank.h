// One rank of the toy server: a runtime, a cache, weights, and the same on the host. Wrong rows and
// pages are DataLoss: a step said that it went well, so that no device call that failed excuses it.
//
//   decode    ids, pages, offsets, temperature --> next tokens (kept), states      lane 0
//   draft     ids --> guesses                                                      lane 0
//   prefill   ids, page --> state                                                  lane 1
//
// All of it runs on one stream, as both lanes write to the cache.
#ifndef GRAPHTREE_TESTS_OUTSIDER_SERVING_RANK_H_
#define GRAPHTREE_TESTS_OUTSIDER_SERVING_RANK_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "runtime/runtime.h"
#include "tests/outsider/serving/session.h"

namespace graphtree::outsider {

class Rank {
 public:
  static constexpr uint32_t kSequences = 12;
  static constexpr uint32_t kPages = 16;  // the last one takes what is padded
  static constexpr uint32_t kWeights = 32;

  Rank(Device& device, const Session& session) : device_(device), session_(session) {}

  absl::Status Open();
  absl::Status Close();

  // Which sequences decode next, or the same ones with the tokens that they made.
  void Pick(bool again, uint32_t what);
  absl::StatusOr<Vote> MakeVote(uint32_t epoch);
  absl::Status Decode(const std::vector<Vote>& votes, uint32_t epoch, bool* replayed);
  // All other deeds. `common` is the same for both ranks.
  absl::Status Do(Deed deed, uint32_t what, uint32_t common);
  // After a failure.
  absl::Status ForgetAll();
  absl::Status CheckAtTheEnd();
  void Tell(Tally* tally) const;

 private:
  absl::Status AddDecode();
  absl::Status AddDraft();
  absl::Status AddPrefill();
  absl::Status Record();
  absl::Status Prefill(uint32_t what);
  absl::Status Draft(uint32_t what);
  absl::Status Swap(uint32_t common);
  absl::Status Forget(uint32_t sequence);
  absl::Status Sleep(uint32_t what);
  absl::Status WriteWeights(uint32_t place, uint32_t seed);
  absl::Status Read(Address from, void* to, uint64_t bytes);
  absl::Status ComparePages();
  absl::Status CheckStates(const Values& outputs, const std::vector<uint64_t>& expected);
  uint64_t Next(uint64_t state, int32_t id) const;

  Key key() const { return {.tokens = static_cast<int32_t>(picked_.size())}; }
  Address cache() const { return range_.base; }
  Address weights(uint32_t place) const { return range_.base + 4096 * (1 + place); }

  Device& device_;
  const Session& session_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<HostBuffer> transfer_;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> memory_;
  std::unique_ptr<Runtime> runtime_;
  ProgramId decode_, draft_, prefill_;
  DepId weights_dep_;

  // What the server knows of its sequences.
  std::vector<uint32_t> picked_;
  std::vector<int32_t> ids_;
  Modes modes_ = Modes::All();
  Values last_;                     // of the last decoding: tokens, states
  std::vector<uint32_t> last_picked_;
  std::vector<int32_t> last_tokens_;
  bool feeds_last_ = false;

  // The same on the host.
  std::array<uint64_t, kPages> pages_ = {};
  std::array<int32_t, kWeights> weight_ = {};
  uint32_t place_ = 0;
  static constexpr int32_t kFirstTemperature = 1;
  int32_t temperature_ = kFirstTemperature;
  bool stages_temperature_ = false;  // the slot is filled once with what it is at first
  uint64_t decoded_ = 0;
  uint64_t prefilled_ = 0;
  uint64_t drafted_ = 0;
  uint64_t slept_ = 0;
};

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_SERVING_RANK_H_
