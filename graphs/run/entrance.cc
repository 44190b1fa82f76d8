// Writes the errors of calls that may not enter.
#include "graphs/run/entrance.h"

#include "absl/strings/str_cat.h"
#include "graphs/run/located.h"

namespace graphtree {
namespace {

// An object that Unregister lets go may call the tree while Unregister is in the gate, as what is
// passed to Inspect may.
constexpr char kByLook[] =
    "by what is passed to Tree::Inspect, or by an object that Tree::Unregister let go";

}  // namespace

absl::Status Entrance::WhyBusy(FunctionId id) const {
  const std::string name = names_->NameOf(id);
  const std::string* running = running_.load(std::memory_order_acquire);
  if (gate_.is_looked_at() && IsInOwnCall()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " was not run: what is passed to Tree::Inspect called it, or an object that "
              "Tree::Unregister let go; call it after that"));
  }
  if (running == nullptr && IsInOwnCall()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name,
        " was not run: a call of its tree was running, and what that call told or let go "
        "(a warning, an object's end) called the tree again; call it after that"));
  }
  if (running == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(name,
                     " was not run: the tree is running a call already, a second thread "
                     "entered; a tree serves one caller at a time"));
  }
  if (IsInOwnBody()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " was not run: the body of '", *running,
        "' called its own tree; call the other function after it, or register it with another "
        "tree"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(name, " was not run: a second thread entered while '", *running,
                   "' runs; a tree serves one caller at a time"));
}

void Entrance::NoteMissedStep() {
  const std::string* running = running_.load(std::memory_order_acquire);
  const std::string whose = running == nullptr ? "a call" : absl::StrCat("'", *running, "'");
  const std::string when = gate_.is_looked_at()
                               ? kByLook
                               : absl::StrCat("while ", whose, " was running",
                                              IsInOwnBody()   ? ", by its own body"
                                              : IsInOwnCall() ? ", by what it told or let go"
                                                              : ", on another thread");
  pending_errors_.NoteMissedStep(
      absl::StrCat("BeginStep was called ", when, ": no step began; begin steps between calls"));
}

absl::Status Entrance::Lose(const Function& function, absl::string_view what,
                            const absl::Status& why) {
  const absl::Status lost =
      Located(why, absl::StrCat("the tree is lost since a call of '", function.name, "' failed (",
                                what, "); close it and make another one"));
  pending_errors_.Lose(lost);
  return lost;
}

absl::Status Entrance::ClosedInside(const Function& function) {
  return absl::FailedPreconditionError(
      absl::StrCat("the body of '", function.name,
                   "' closed its own tree, or what the call told "
                   "or let go did: what the call made is gone with it; close a tree when none of "
                   "its functions runs"));
}

const char* Entrance::WhereInside() const {
  if (gate_.is_looked_at()) return kByLook;
  if (IsInOwnBody()) return "inside of a body of its tree";
  return "by what a call of its tree told or let go";
}

}  // namespace graphtree
