// Adding words, and forgetting old ones.
#include "allocator/reports/word_table.h"

#include <algorithm>

namespace graphtree {

WordTable::WordTable(uint32_t most_words, uint64_t most_bytes)
    : most_words_(std::max(most_words, 4u)), most_bytes_(most_bytes) {
  Add("");
  too_many_ = Add("(too many words)");
}

bool WordTable::Find(absl::string_view text, uint32_t* id) {
  const auto found = ids_.find(text);
  if (found == ids_.end()) return false;
  *id = found->second;
  places_[PlaceOf(*id)].asked_for = ++calls_;
  return true;
}

uint32_t WordTable::Add(absl::string_view text) {
  uint32_t place;
  if (!free_.empty()) {
    place = free_.back();
    free_.pop_back();
  } else if (places_.size() < kMostPlaces) {
    place = static_cast<uint32_t>(places_.size());
    places_.emplace_back();
  } else {
    return too_many_;
  }
  Place& added = places_[place];
  added.text.assign(text.data(), text.size());
  added.in_use = true;
  added.asked_for = ++calls_;
  bytes_ += text.size();
  const uint32_t id = IdOf(place);
  ids_.emplace(added.text, id);
  return id;
}

void WordTable::Forget(uint32_t place) {
  Place& old = places_[place];
  ids_.erase(old.text);
  bytes_ -= old.text.size();
  old.text = {};
  old.in_use = false;
  old.generation = (old.generation + 1) % (1u << (32 - kPlaceBits));
  free_.push_back(place);
  ++forgotten_;
}

void WordTable::Collect(const std::vector<uint32_t>& marked) {
  const auto mark = [this](uint32_t id) {
    if (Lookup(id) != nullptr) places_[PlaceOf(id)].marked = true;
  };
  mark(0);
  mark(too_many_);
  for (uint32_t id : marked) mark(id);
  std::vector<uint32_t> oldest;
  for (uint32_t place = 0; place < places_.size(); ++place) {
    if (places_[place].in_use && !places_[place].marked) oldest.push_back(place);
    places_[place].marked = false;
  }
  std::sort(oldest.begin(), oldest.end(), [this](uint32_t a, uint32_t b) {
    return places_[a].asked_for < places_[b].asked_for;
  });
  for (uint32_t place : oldest) {
    if (count() <= most_words_ / 2 && bytes_ <= most_bytes_ / 2) break;
    Forget(place);
  }
  while (count() > most_words_ / 2 && most_words_ < kMostPlaces) most_words_ *= 2;
  while (bytes_ > most_bytes_ / 2) most_bytes_ *= 2;
}

}  // namespace graphtree
