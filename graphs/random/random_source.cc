// The two ways to draw: by value now, or through device words that each replay writes.
#include "graphs/random/random_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

absl::Status CheckGenerator(const GeneratorPtr& generator, uint64_t count) {
  if (generator != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("drawing ", count, " random numbers from no generator (a null pointer)"));
}

}  // namespace

absl::StatusOr<RandomState> EagerRandom::Draw(const GeneratorPtr& generator, uint64_t count) {
  GRAPHTREE_RETURN_IF_ERROR(CheckGenerator(generator, count));
  const RandomPiece piece = Take(generator, count);
  return RandomState{nullptr, piece.seed, piece.offset};
}

RandomPiece EagerRandom::Take(const GeneratorPtr& generator, uint64_t count) {
  const RandomPiece piece = generator->Take(count);
  pieces_.emplace_back(generator, piece);
  return piece;
}

std::vector<size_t> EagerRandom::generators() const {
  std::vector<size_t> counts;
  for (size_t section = 0; section <= ends_.size(); section += 2) {
    const size_t begin = section == 0 ? 0 : ends_[section - 1];
    const size_t end = section == ends_.size() ? pieces_.size() : ends_[section];
    size_t count = 0;
    for (size_t i = begin; i < end; ++i) {
      bool known = false;
      for (size_t j = begin; j < i; ++j) known |= pieces_[j].first == pieces_[i].first;
      count += known ? 0 : 1;
    }
    counts.push_back(count);
  }
  return counts;
}

void EagerRandom::GiveBack() {
  for (; !pieces_.empty(); pieces_.pop_back()) {
    pieces_.back().first->GiveBack(pieces_.back().second);
  }
}

absl::StatusOr<RandomState> RecordedRandom::Draw(const GeneratorPtr& generator, uint64_t count) {
  GRAPHTREE_RETURN_IF_ERROR(CheckGenerator(generator, count));
  auto use = std::find_if(uses_.begin(), uses_.end(),
                          [&](const RandomUse& u) { return u.generator == generator; });
  if (use == uses_.end()) {
    absl::StatusOr<Address> words = new_words_();
    if (!words.ok()) return words.status();
    uses_.push_back({generator, *words, 0});
    use = uses_.end() - 1;
  }
  const uint64_t inner = use->increment;
  use->increment += count;
  return RandomState{PointerTo<const uint64_t>(use->words), 0, inner};
}

}  // namespace graphtree
