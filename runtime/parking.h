// Parking: a server that sleeps gives device memory back, and keeps its graphs.
//
//   AddressRange cache =
//       *runtime->AddMemory({.tag = "kv_cache", .name = "cache", .bytes = uint64_t{8} << 30});
//   runtime->AddProgram({.name = "decode", .tag = "graphs", .needs = {"kv_cache"}, ...});
//   ...
//   runtime->Park("kv_cache", Contents::kDrop);    // 8 GiB are free for others
//   runtime->Park("graphs", Contents::kKeep);
//   runtime->Wake("graphs");                       // at the same addresses: nothing is recorded
//   runtime->Wake("kv_cache");
//
// What a tag covers:
//
//   programs of the tag     the pool of their lane, and their slots. Graphs of a lane share memory,
//                           so a lane has one tag: a program with another one is refused there
//   memory of the tag       what AddMemory made: weights, caches, whatever bodies know
//
// What becomes of it:
//
//              the lane's pool                  slots                      memory
//   kKeep      all live bytes are saved on the host, and come back
//   kDrop      what graphs compute anew is      as when the program was    anything
//              lost, and the lane's step        added: zeros, or filled
//              ends; what outlives a step is    once (PadRule)
//              saved
//   kPinned    stays where it is, for what is registered elsewhere; nothing is given back
//
// Memory that a body has pinned (Launcher::Pin) stays mapped whatever the tag's contents are, and
// may be written to by others meanwhile. Executables stay with the driver, and page-locked memory
// for staging with the host. What outlives a step are kept outputs, outputs of eager runs, and what
// bodies hold: nobody could make it again. Outputs of the last step that are held go stale where
// they are dropped, so using one is an error.
//
// While a tag is parked its programs and those that need it (ProgramOptions::needs) begin no step
// and record nothing: an error that names the tag. There is no eager run either, as that would use
// the same memory. Parking waits for the work of these programs. Refused, and nothing is parked:
// while one of them has a step under way, in a body, while a capture is open on the device, and
// while a lane has lent memory (lending.h). So is parking memory that recordings point to whose
// program does not say that it needs it. Work of the caller's own on slots, and on memory that
// AddMemory made, is the caller's to await. A park that fails wakes what it has parked already;
// with kDrop contents may be gone by then.
//
// Waking checks: before parking a sample of the bytes that are to come back is noted, all of them
// where these are few, and compared once they are back. Bytes that are others are an error that
// names the place, and no step runs on them: the tag stays parked until it is parked with kDrop,
// which gives the contents up, and woken again. What is pinned with a tag is compared, too, unless
// functions beside its programs were called on the lane's tree meanwhile. A wake that fails for
// lack of memory, or because a device call failed, may be called again. Before it fails for lack of
// memory, lanes without a step have given back what nobody uses there.
//
// Threads: Park and Wake on any thread, also while others run steps of other lanes, but not while
// programs are added or removed. Cost: a few driver calls for each 64 MiB, and copies of what is
// kept.
#ifndef GRAPHTREE_RUNTIME_PARKING_H_
#define GRAPHTREE_RUNTIME_PARKING_H_

#include <cstdint>
#include <optional>
#include <string>

namespace graphtree {

enum class Contents : uint8_t { kDrop, kKeep, kPinned };
// "drop", "keep", "pinned".
constexpr const char* ContentsName(Contents contents) {
  return contents == Contents::kDrop ? "drop" : contents == Contents::kKeep ? "keep" : "pinned";
}

// Memory of the caller's that the runtime makes, so that it can leave and come back under a tag. A
// tag that no memory and no program has or needs any more is forgotten, with what metrics count.
struct MemoryOptions {
  std::string tag;
  std::string name;     // for errors and for RemoveMemory
  uint64_t bytes = 0;
  uint32_t device = 0;  // of the runtime's
  // What becomes of it whatever Park says; none: as Park says.
  std::optional<Contents> contents = std::nullopt;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PARKING_H_
