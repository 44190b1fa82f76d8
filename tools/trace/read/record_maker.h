// RecordMaker: what an event of a Chrome trace means, as a record of ours.
//
// What an op is, is often said elsewhere: PyTorch writes a kernel's file, hash and shapes at the
// host op that launches it, which the kernel names by "External id"; we write them at the launch,
// which the kernel names by its correlation. Such facts are remembered, up to a limit, and joined
// where a kernel says nothing itself. The host op comes before the kernel in both kinds of file.
#ifndef GRAPHTREE_TOOLS_TRACE_READ_RECORD_MAKER_H_
#define GRAPHTREE_TOOLS_TRACE_READ_RECORD_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"
#include "tools/trace/read/event_parser.h"

namespace graphtree::trace {

class RecordMaker {
 public:
  RecordMaker(TraceTables& tables, TraceListener& listener)
      : tables_(tables), listener_(listener) {}

  // At most 2^61 of either sign.
  void set_base(int64_t base_ns) { base_ns_ = base_ns; }
  // Calls the listener, or counts the event as left out.
  void Take(const RawEvent& event);

  uint64_t left_out() const { return left_out_; }
  // Launches whose facts found no room, so that ops may lack them.
  uint64_t forgotten() const { return forgotten_; }

 private:
  struct Facts {
    IdentityId identity;
    TextId host_op;  // by external id: what the host called it
  };
  using FactsMap = absl::flat_hash_map<uint64_t, Facts>;

  // The same field of the next op is most often the same text: comparing is cheaper than hashing.
  struct Memo {
    absl::string_view text = {};
    TextId id = 0;
  };

  TextId TextOf(const JsonText& text);
  TextId TextOf(const JsonText& text, Memo& memo);
  TextId JsonOf(absl::string_view raw, Memo& memo);
  int64_t TimeOf(absl::string_view microseconds) const;
  Identity LaunchFactsOf(const RawEvent& event);
  Identity IdentityOf(const RawEvent& event);
  void Remember(FactsMap& map, uint64_t key, const Facts& facts);
  void Join(const DeviceOp& op, Identity& identity) const;
  void TakeComplete(const RawEvent& event);
  void TakeOp(const RawEvent& event, OpKind kind);
  void TakeSpan(const RawEvent& event);
  void TakeCounter(const RawEvent& event);
  void TakeMetadata(const RawEvent& event);
  void TakeArrow(const RawEvent& event);

  TraceTables& tables_;
  TraceListener& listener_;
  int64_t base_ns_ = 0;
  uint64_t left_out_ = 0;
  uint64_t forgotten_ = 0;
  FactsMap by_correlation_;
  FactsMap by_external_;
  std::string scratch_;
  Memo backend_, file_, hash_, arguments_, input_dims_, input_types_;
  Memo function_, program_, shape_, scope_;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_TOOLS_TRACE_READ_RECORD_MAKER_H_
