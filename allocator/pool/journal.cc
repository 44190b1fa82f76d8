// Making words, and writing entries into the history.
#include "allocator/pool/journal.h"

#include "absl/strings/str_cat.h"

namespace graphtree {

Journal::Journal(const Arena& arena, Door& door, const Ledger& ledger)
    : arena_(arena), door_(door), ledger_(ledger), history_(arena.options().history_entries) {}

WordId Journal::Word(absl::string_view text) {
  const Door::Entry entry(door_.guard());
  WordId word = 0;
  if (door_.IsRefused(entry, "Word")) return word;
  if (words_.Find(text, &word)) return word;
  if (words_.is_full()) words_.Collect(NamedWords());
  return words_.Add(text);
}

WordId Journal::WordAgain(WordId before, absl::string_view text) {
  return words_[before] == text ? before : Word(text);
}

void Journal::SetContext(WordId word) {
  const Door::Entry entry(door_.guard());
  if (!door_.IsRefused(entry, "SetContext")) context_ = word;
}

std::vector<WordId> Journal::NamedWords() const {
  std::vector<WordId> named = {context_};
  for (uint32_t index = 0; index < ledger_.record_count(); ++index) {
    const BlockRecord& record = ledger_.record(index);
    if (record.in_use) named.insert(named.end(), {record.tag, record.note});
  }
  for (const HistoryEntry& entry : history_.Entries()) {
    named.insert(named.end(), {entry.tag, entry.note, entry.context});
  }
  return named;
}

void Journal::Add(HistoryAction action, AddressRange range, const BlockRecord* record) {
  HistoryEntry entry;
  entry.action = action;
  entry.address = range.base;
  entry.bytes = range.bytes;
  entry.context = context_;
  entry.internal = internal_mark_;
  if (record != nullptr) {
    entry.tag = record->tag;
    entry.note = record->note;
    entry.stream = static_cast<uint8_t>(record->streams == 0 ? 0 : __builtin_ctz(record->streams));
  }
  history_.Add(entry);
}

std::string Journal::NameOf(const BlockRecord& record) const {
  const absl::string_view tag = words_[record.tag];
  return absl::StrCat("block ", tag.empty() ? "" : absl::StrCat("\"", tag, "\" "), "at ",
                      arena_.AddressOf(record.user_offset()), " (", record.requested_bytes(),
                      " bytes)");
}

}  // namespace graphtree
