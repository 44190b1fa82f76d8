// Logs what a body touches in one run: to which of its inputs it writes, how many ops take each.
//
// A body declares what its ops read and write, so that a mutated input is found without the caller
// naming it: a write is to input i if the two share a byte. Memory that is allocated where an input
// has died inside the body has another storage, and does not count as that input.
#ifndef GRAPHTREE_GRAPHS_INPUTS_ACCESS_LOG_H_
#define GRAPHTREE_GRAPHS_INPUTS_ACCESS_LOG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "device/graph.h"
#include "graphs/match/input_roles.h"
#include "graphs/launcher.h"

namespace graphtree {

class AccessLog : public AccessObserver {
 public:
  // `inputs` are those that the body is given.
  explicit AccessLog(absl::Span<const Value> inputs);

  void Launching(absl::string_view op) override { launching_.assign(op.data(), op.size()); }
  void Accessed(Access access, const Tensor& tensor, int argument) override;
  void Launched(const Kernel&, const LaunchShape&, Arguments) override { ++op_; }
  void Copied(const CopyParams&) override { ++op_; }
  void Filled(const FillParams&) override { ++op_; }
  void Broke(absl::string_view) override { ++op_; }
  // An eager part is about to write to `range`, of which its break does not tell. `serial` is that
  // of the storage that is written to, or 0.
  void WrittenByPart(AddressRange range, uint64_t serial);

  // By input.
  const std::vector<bool>& written() const { return written_; }
  const std::vector<InputUse>& uses() const { return uses_; }
  // The first op that wrote to each; empty where none did.
  const std::vector<std::string>& writers() const { return writers_; }

 private:
  std::vector<AddressRange> ranges_;
  std::vector<const Storage*> storages_;
  std::vector<uint64_t> serials_;  // of these storages; 0 where there is none
  std::vector<bool> written_;
  std::vector<InputUse> uses_;
  std::vector<std::string> writers_;
  std::string launching_;
  std::vector<uint32_t> last_op_;  // by input: the last op that took it
  uint32_t op_ = 1;                // the op whose accesses are told now
};

// The first two inputs that share bytes where the first of them is in `written`.
std::optional<std::pair<size_t, size_t>> WrittenInputsThatOverlap(
    absl::Span<const Value> inputs, const std::vector<bool>& written);
inline bool WrittenInputsOverlap(absl::Span<const Value> inputs,
                                 const std::vector<bool>& written) {
  return WrittenInputsThatOverlap(inputs, written).has_value();
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_ACCESS_LOG_H_
