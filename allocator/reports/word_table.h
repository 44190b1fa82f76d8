// Words (tags, notes, stacks as text), each kept once and named by a number; 0 is the empty word.
//
//   number:  | generation: 12 bits | place: 20 bits |    places_[place] = { text, generation, ... }
//
// A server that makes words of request numbers would fill any table, so this one is bounded. When
// the table is full its owner marks the words that are still named somewhere, and the table forgets
// those of the others that were asked for longest ago. Their places are used again under another
// generation: a number that is kept too long reads "(forgotten)", and never as another word.
//
// Threads: none. Cost: a hash of the text; callers keep the number.
#ifndef GRAPHTREE_ALLOCATOR_REPORTS_WORD_TABLE_H_
#define GRAPHTREE_ALLOCATOR_REPORTS_WORD_TABLE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace graphtree {

class WordTable {
 public:
  // Both bounds are soft: they double as long as more than half of the words are marked.
  explicit WordTable(uint32_t most_words = 1 << 16, uint64_t most_bytes = uint64_t{64} << 20);

  // Sets `id` to the word's number; false if the table does not know the word.
  bool Find(absl::string_view text, uint32_t* id);
  // Call Collect first when it is full.
  bool is_full() const { return count() >= most_words_ || bytes_ >= most_bytes_; }
  // REQUIRES: not known. Where there is no place left at all the word is "(too many words)".
  uint32_t Add(absl::string_view text);
  // Forgets old words until the table is half full, but none of those in `marked`, which may also
  // have numbers of words that are forgotten already.
  void Collect(const std::vector<uint32_t>& marked);

  // Good until the word is forgotten.
  absl::string_view operator[](uint32_t id) const {
    if (id == 0) return {};
    const Place* place = Lookup(id);
    return place == nullptr ? absl::string_view("(forgotten)") : absl::string_view(place->text);
  }

  uint32_t count() const { return static_cast<uint32_t>(ids_.size()); }
  uint64_t forgotten() const { return forgotten_; }

 private:
  static constexpr int kPlaceBits = 20;
  static constexpr uint32_t kMostPlaces = 1u << kPlaceBits;

  struct Place {
    std::string text;
    uint32_t generation = 0;
    uint64_t asked_for = 0;  // counts calls
    bool in_use = false;
    bool marked = false;
  };

  static uint32_t PlaceOf(uint32_t id) { return id & (kMostPlaces - 1); }
  uint32_t IdOf(uint32_t place) const {
    return places_[place].generation << kPlaceBits | place;
  }
  const Place* Lookup(uint32_t id) const {
    const uint32_t place = PlaceOf(id);
    if (place >= places_.size() || !places_[place].in_use || IdOf(place) != id) return nullptr;
    return &places_[place];
  }
  void Forget(uint32_t place);

  std::deque<Place> places_;  // never moves, so the views stay good
  std::vector<uint32_t> free_;
  absl::flat_hash_map<absl::string_view, uint32_t> ids_;
  uint64_t most_words_;
  uint64_t most_bytes_;
  uint64_t bytes_ = 0;
  uint64_t calls_ = 0;
  uint64_t forgotten_ = 0;
  uint32_t too_many_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_REPORTS_WORD_TABLE_H_
