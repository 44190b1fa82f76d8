// Reads a verb's command line against what the verb says that it takes (verb.h).
//
// Every mistake a person can make is found here, before the verb runs: an unknown option (with the
// nearest known one), a missing or surplus value, a value of the wrong kind, a missing or surplus
// operand. A verb's function can therefore read values without checking them again; asking for an
// option that the verb did not declare, or as the wrong kind, is a bug and stops the process.
//
// Accepted forms: --name value, --name=value, -n value where the option has a short name, operands
// in between, and -- after which everything is an operand. "-" is an operand (by habit: standard
// input).
#ifndef GRAPHTREE_TOOLS_CLI_ARGUMENTS_H_
#define GRAPHTREE_TOOLS_CLI_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/cli/verb.h"

namespace graphtree::cli {

class Arguments {
 public:
  // kFlag: was it given? Other kinds: was a value given?
  bool Has(absl::string_view option) const;

  // The value, or the fallback where the option was not given; of a repeated option the last one.
  // Text also reads kChoice options.
  std::string Text(absl::string_view option, absl::string_view fallback = "") const;
  int64_t Integer(absl::string_view option, int64_t fallback) const;
  double Number(absl::string_view option, double fallback) const;
  int64_t Bytes(absl::string_view option, int64_t fallback) const;

  // Every value of a repeated option, in order.
  std::vector<std::string> Texts(absl::string_view option) const;

  // What stood on the command line without dashes, in order.
  const std::vector<std::string>& operands() const { return operands_; }

  // The n-th operand, or the fallback where fewer were given.
  std::string OperandAt(size_t n, absl::string_view fallback = "") const;

 private:
  friend class ArgumentParser;
  const std::vector<std::string>& Values(absl::string_view option, bool kind_fits) const;
  ValueKind KindOf(absl::string_view option) const;

  std::map<std::string, ValueKind, std::less<>> declared_;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> operands_;
};

// args: what follows the verb's name. The error's message is a sentence for the person who typed.
absl::StatusOr<Arguments> ParseArguments(const Verb& verb, const std::vector<std::string>& args);

// "64K" -> 65536; the units are those of ValueKind::kBytes.
absl::StatusOr<int64_t> ParseBytes(absl::string_view text);

// The candidate that is the fewest edits away from the word, or "" where none is near.
std::string Nearest(absl::string_view word, const std::vector<std::string>& candidates);

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_ARGUMENTS_H_
