// Asks the door for tools of a running server (Runtime::OpenDoor) for a page.
//
//   DoorAnswer answer = *AskDoor("/run/user/1000/server.sock", "/metrics");
//
// An error says what a person can do about it: nothing is at the path, nobody answers there any
// more, it is another user's, it is no door, it takes too long. A door that is another user's is
// not talked to: he might have put it there in the place of one's own.
#ifndef GRAPHTREE_TOOLS_WATCH_DOOR_CLIENT_H_
#define GRAPHTREE_TOOLS_WATCH_DOOR_CLIENT_H_

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphtree::watch {

struct DoorAnswer {
  int code = 0;  // 200: here is the page; else the body says why not
  std::string body;
};

absl::StatusOr<DoorAnswer> AskDoor(
    const std::string& path, absl::string_view target,
    std::chrono::milliseconds patience = std::chrono::milliseconds(15000));

// As it stands in a query: "a b" becomes "a%20b".
std::string Escaped(absl::string_view text);

}  // namespace graphtree::watch

#endif  // GRAPHTREE_TOOLS_WATCH_DOOR_CLIENT_H_
