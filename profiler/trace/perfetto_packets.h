// PerfettoPackets: the protobuf that Perfetto reads, packet by packet.
//
//   file = packet packet packet ...      packet = tag, length, { timestamp, event, new names }
//
// A packet is whole or not there, so a file that ends anywhere is readable up to its last packet,
// and a trace can be appended to while it is taken. Names go into the file once and are numbers
// from there on; the numbers are the TextIds of the trace's tables. The field numbers are those of
// Perfetto's trace_packet.proto, track_event.proto and interned_data.proto.
//
// The wire format is protozero's, a library of headers alone: Google's own has a run time that must
// be the same in a whole process, and a server that links this one may have another.
//
// Not safe for concurrent use.
#ifndef GRAPHTREE_PROFILER_TRACE_PERFETTO_PACKETS_H_
#define GRAPHTREE_PROFILER_TRACE_PERFETTO_PACKETS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {

// A fact beside an event: its name, and a number or a text. Names are constants of the program.
struct PerfettoFact {
  enum class Kind : uint8_t { kUnsigned, kSigned, kText, kJson };
  absl::string_view name = {};
  Kind kind = Kind::kUnsigned;
  uint64_t number = 0;          // also a TextId
  absl::string_view json = {};  // an object
};

struct PerfettoTrack {
  uint64_t id = 0;
  uint64_t parent = 0;
  std::string name = {};
  int64_t process = kUnknown;  // with a thread: a thread of it
  int64_t thread = kUnknown;
  bool is_counter = false;
};

struct PerfettoSlice {
  uint64_t track = 0;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  absl::string_view category = {};  // a constant of the program
  TextId name = 0;
  uint64_t flow_from = 0;  // an arrow begins here; 0: none
  uint64_t flow_to = 0;    // and ends here
  uint64_t correlation = 0;
};

class PerfettoPackets {
 public:
  PerfettoPackets(const TraceTables& tables, TraceSink& sink) : tables_(tables), sink_(sink) {}

  void Track(const PerfettoTrack& track);
  void Slice(const PerfettoSlice& slice, const std::vector<PerfettoFact>& facts);
  void Instant(uint64_t track, int64_t time_ns, TextId name);
  // An instant whose name and facts are texts of their own.
  void Note(uint64_t track, int64_t time_ns, absl::string_view text);
  void Counter(uint64_t track, int64_t time_ns, double value);
  // Hands over what is left; packets are handed over whole in any case.
  void Flush();

 private:
  // Names and texts that no packet has had before.
  struct Fresh {
    bool name = false;
    uint64_t category = 0;
    std::vector<std::pair<absl::string_view, uint64_t>> facts = {};
    std::vector<TextId> texts = {};
  };

  // The number of a constant name, counted from 1; `is_new` where it was never used.
  static uint64_t NumberOf(std::vector<absl::string_view>& names, absl::string_view name,
                           bool& is_new);
  static bool IsNew(std::vector<bool>& written, TextId id);
  void WriteFact(const PerfettoFact& given, std::string& event_bytes, Fresh& fresh);
  void WriteFresh(const PerfettoSlice& slice, const Fresh& fresh);
  void BeginPacket();
  void EndPacket();

  const TraceTables& tables_;
  TraceSink& sink_;
  std::string packet_, event_;
  std::string out_;
  bool is_first_ = true;
  std::vector<bool> written_names_, written_texts_;
  std::vector<absl::string_view> fact_names_, categories_;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_TRACE_PERFETTO_PACKETS_H_
