// Scopes name stretches of launches for whoever looks at a trace: "attention;layer 3", the inner
// first. An op that is launched or captured inside of scopes has their names in its identity
// (device/op_identity.h).
//
//   NamedScope request(tree->scopes(), "decode");      around calls of the tree
//   tree->Run(...)
//     body:  NamedScope layer(on, "layer 3");          inside of a body, on its launcher
//            on.Launch(kAttend, ...)                   --> "layer 3;decode"
//
// A recording keeps the names that were open when it was captured, whatever is open at a replay.
// A part has those that were open where its body breaks.
//
// Threads: a stack is its tree's caller's, or its body's. Scopes end in the reverse order of their
// beginnings. A ';' in a name becomes ','.
#ifndef GRAPHTREE_GRAPHS_SCOPE_H_
#define GRAPHTREE_GRAPHS_SCOPE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphtree {

class Launcher;

class ScopeStack {
 public:
  ScopeStack() = default;
  ScopeStack(const ScopeStack&) = delete;
  ScopeStack& operator=(const ScopeStack&) = delete;

  void Push(absl::string_view name);
  // Nothing happens if no scope is open.
  void Pop();
  // "inner;outer"; empty without scopes.
  const std::string& text() const { return texts_.empty() ? none_ : texts_.back(); }
  bool empty() const { return texts_.empty(); }

 private:
  const std::string none_;
  std::vector<std::string> texts_;  // that of each open scope, with all those around it
};

// "inner;outer", where either may be empty.
std::string JoinedScopes(absl::string_view inner, absl::string_view outer);

class NamedScope {
 public:
  // The stack outlives the scope.
  NamedScope(ScopeStack& stack, absl::string_view name) : stack_(stack) { stack_.Push(name); }
  NamedScope(Launcher& on, absl::string_view name);
  ~NamedScope() { stack_.Pop(); }
  NamedScope(const NamedScope&) = delete;
  NamedScope& operator=(const NamedScope&) = delete;

 private:
  ScopeStack& stack_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_SCOPE_H_
