// Each event against those before it.
#include "tests/simulation/watcher.h"

#include "absl/strings/str_cat.h"

namespace graphtree::simulation {

void Watcher::Expect(bool right, const GraphEvent& event) {
  if (right || !wrong_.empty()) return;
  wrong_ = absl::StrCat("an observer heard '", GraphMomentName(event.moment), "' of recording ",
                        event.recording, " ('", event.function, "') out of order");
}

void Watcher::Saw(const GraphEvent& event) {
  switch (event.moment) {
    case GraphMoment::kCaptureBegin:
      Expect(captured_ == kNobody, event);
      captured_ = event.recording;
      break;
    case GraphMoment::kCaptureEnd:
      Expect(captured_ == event.recording, event);
      captured_ = kNobody;
      break;
    case GraphMoment::kInstantiate:
      Expect(event.executable != nullptr, event);
      Expect(executables_.insert(event.executable).second, event);
      break;
    case GraphMoment::kReplayBegin:
      Expect(replayed_ == kNobody && executables_.count(event.executable) == 1, event);
      replayed_ = event.recording;
      break;
    case GraphMoment::kReplayEnd:
      Expect(replayed_ == event.recording, event);
      replayed_ = kNobody;
      launches_ += event.ok ? 1 : 0;
      break;
    case GraphMoment::kDestroy:
      Expect(executables_.erase(event.executable) == 1, event);
      break;
  }
}

}  // namespace graphtree::simulation
