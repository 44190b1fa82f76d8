// Reads CUPTI's records out of a buffer and tells a listener of each.
//
//   buffer | kernel | copy | (unknown kind) | kernel, longer than we know | half a record
//              |       |          |                    |                        |
//              v       v          v                    v                        v
//             Op      Op    counted, skipped     Op, by its prefix       counted, told as dropped
//
// Where one record ends and the next begins only CUPTI knows (CuptiApi::Next), so a record is as
// long as the way to the next one. Records come in the order in which buffers were filled, which is
// not that of their times, and are told as they come.
//
// A name is read while CUPTI is attached, and handed over as it is: whoever keeps it copies it.
//
// Threads: one at a time. Cost: some ten ns a record, no heap.
#ifndef GRAPHTREE_PROFILER_CUPTI_RECORD_DECODER_H_
#define GRAPHTREE_PROFILER_CUPTI_RECORD_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "profiler/activity/activity.h"
#include "profiler/cupti/cupti_api.h"

namespace graphtree::cupti {

struct DecodeCounts {
  uint64_t ops = 0;
  uint64_t of_unknown_kind = 0;
  uint64_t cut_off = 0;     // shorter than what must be there
  uint64_t unfinished = 0;  // without a start or an end: flushed while the op ran
  uint64_t unreadable_buffers = 0;  // CUPTI found no next record before the end

  // Of which a listener was told as dropped.
  uint64_t lost() const { return cut_off + unfinished; }
};

// "3 records of kinds that this version does not know were skipped; ..." Empty if all went well.
std::string WordsOf(const DecodeCounts& counts);

// One record, which has `bytes` bytes.
void DecodeRecord(const uint8_t* record, size_t bytes, activity::ActivityListener& listener,
                  DecodeCounts& counts);

// All of a buffer.
void DecodeBuffer(CuptiApi& api, uint8_t* buffer, size_t valid_bytes,
                  activity::ActivityListener& listener, DecodeCounts& counts);

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_RECORD_DECODER_H_
