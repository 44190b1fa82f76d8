// Writes each scope's text once, when it begins.
#include "graphs/scope.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/one_line.h"
#include "graphs/launcher.h"

namespace graphtree {

void ScopeStack::Push(absl::string_view name) {
  std::string line = OneLine(std::string(name));
  std::replace(line.begin(), line.end(), ';', ',');
  std::string text = JoinedScopes(line, this->text());
  texts_.push_back(std::move(text));
}

void ScopeStack::Pop() {
  if (!texts_.empty()) texts_.pop_back();
}

std::string JoinedScopes(absl::string_view inner, absl::string_view outer) {
  const bool has_both = !inner.empty() && !outer.empty();
  return absl::StrCat(inner, has_both ? ";" : "", outer);
}

NamedScope::NamedScope(Launcher& on, absl::string_view name) : NamedScope(on.scopes(), name) {}

}  // namespace graphtree
