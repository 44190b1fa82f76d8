// A pool's notes: the words that callers give to their blocks, and the history of what happened to
// the blocks.
//
//   Word("decode") -> 7        record.tag = 7
//   history:  ... | allocate, tag 7 | map | free requested, tag 7 | free completed, tag 7 | ...
//                    \__ each entry has the context in force
//
// The table of words is bounded. Words that a block, a remembered block, the history or the context
// names stay; the others may be forgotten (word_table.h).
//
// Threads: as the pool. Cost of an entry: a few nanoseconds; nothing where the history is off.
#ifndef GRAPHTREE_ALLOCATOR_POOL_JOURNAL_H_
#define GRAPHTREE_ALLOCATOR_POOL_JOURNAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "allocator/books/block_record.h"
#include "allocator/books/ledger.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/door.h"
#include "allocator/pool_types.h"
#include "allocator/reports/history.h"
#include "allocator/reports/word_table.h"
#include "device/address.h"

namespace graphtree {

class Journal {
 public:
  Journal(const Arena& arena, Door& door, const Ledger& ledger);

  // For the pool's callers.
  //
  // The word's number. The table may forget the word later, so callers that keep the number call
  // WordAgain before each use: where the word is still known that costs a compare and no hash.
  WordId Word(absl::string_view text);
  WordId WordAgain(WordId before, absl::string_view text);
  absl::string_view Text(WordId word) const { return words_[word]; }
  // The word goes into every entry of the history until another is set.
  void SetContext(WordId word);
  const History& history() const { return history_; }

  // For the pool's other parts, inside of a call.
  absl::string_view context() const { return words_[context_]; }
  void Log(HistoryAction action, const BlockRecord& record) {
    if (history_.is_on()) Add(action, arena_.UserRange(record), &record);
  }
  void LogRange(HistoryAction action, AddressRange range) {
    if (history_.is_on()) Add(action, range, nullptr);
  }
  // Entries logged from here on are marked, or not, as placed where the caller wanted it.
  void MarkAsPlaced(bool placed) { internal_mark_ = placed ? kAtAddressMark : 0; }
  // The block's tag, address and size, for use in a message.
  std::string NameOf(const BlockRecord& record) const;
  uint64_t forgotten_words() const { return words_.forgotten(); }

 private:
  void Add(HistoryAction action, AddressRange range, const BlockRecord* record);
  std::vector<WordId> NamedWords() const;

  const Arena& arena_;
  Door& door_;
  const Ledger& ledger_;
  History history_;
  WordTable words_;
  WordId context_ = 0;
  uint16_t internal_mark_ = 0;  // goes into every entry
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_JOURNAL_H_
