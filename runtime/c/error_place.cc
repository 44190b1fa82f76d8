// Finds the words of a place.
#include "runtime/c/error_place.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace graphtree::c {
namespace {

// The number that `rest` begins with, which is taken off; -1 if there is none.
int64_t TakeNumber(absl::string_view* rest) {
  size_t digits = 0;
  while (digits < rest->size() && absl::ascii_isdigit((*rest)[digits])) ++digits;
  int64_t number = -1;
  if (digits == 0 || !absl::SimpleAtoi(rest->substr(0, digits), &number)) return -1;
  rest->remove_prefix(digits);
  return number;
}

// Calls `use` with what follows each `word` that begins a word, until one returns true.
template <typename Use>
void ForEach(absl::string_view message, absl::string_view word, const Use& use) {
  for (size_t at = message.find(word); at != absl::string_view::npos;
       at = message.find(word, at + 1)) {
    const bool begins = at == 0 || !absl::ascii_isalnum(message[at - 1]);
    if (begins && use(message.substr(at + word.size()))) return;
  }
}

}  // namespace

ErrorPlace PlaceIn(absl::string_view message) {
  ErrorPlace place;
  ForEach(message, "input ", [&](absl::string_view rest) {
    place.input = TakeNumber(&rest);
    return place.input >= 0;
  });
  ForEach(message, "op ", [&](absl::string_view rest) {
    const int64_t op = TakeNumber(&rest);
    constexpr absl::string_view kOfBody = " of its body ('";
    if (op < 0 || !absl::StartsWith(rest, kOfBody)) return false;
    rest.remove_prefix(kOfBody.size());
    place.op = op;
    place.op_name = rest.substr(0, rest.find('\''));
    return true;
  });
  return place;
}

}  // namespace graphtree::c
