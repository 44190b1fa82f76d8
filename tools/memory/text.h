// How the memory verbs write for people: sizes, counts, tables, colour.
//
// Colour is used when the output is a terminal and NO_COLOR is not set, or as --color says.
#ifndef GRAPHTREE_TOOLS_MEMORY_TEXT_H_
#define GRAPHTREE_TOOLS_MEMORY_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/cli/arguments.h"
#include "tools/cli/verb.h"

namespace graphtree::memory {

// "512 B", "44.27 MiB".
std::string Bytes(uint64_t bytes);
std::string SignedBytes(int64_t bytes);
// "1,234,567"
std::string Count(uint64_t count);
// "12.3 %" of a fraction of one.
std::string Percent(double fraction);
// Time since the first event: "1.204 s", "35.1 ms".
std::string Duration(int64_t microseconds);
// "0x7f..."
std::string Address(uint64_t address);
std::string Plural(uint64_t count, absl::string_view one, absl::string_view many);
// At most `columns` characters (not bytes), with "..." for the rest, no control characters.
std::string Clip(absl::string_view text, size_t columns);
// The text with control characters replaced: what comes out of a file must not steer a terminal.
std::string Safe(absl::string_view text);

enum class Tone { kPlain, kStrong, kDim, kGood, kWarning, kBad };

struct Look {
  bool colour = false;
  int columns = 100;  // of the terminal; a file is given the default

  std::string Paint(Tone tone, absl::string_view text) const;
};

cli::Option ColorOption();
Look LookOf(const cli::Arguments& arguments, const cli::Console& console);

// Columns as wide as their widest cell. The last column is cut at the terminal's edge. Where the
// others alone do not fit, as on a phone, each row is a paragraph of "title value" instead.
class Table {
 public:
  enum class Side { kLeft, kRight };
  struct Column {
    std::string title;
    Side side = Side::kRight;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void Add(std::vector<std::string> cells, Tone tone = Tone::kPlain);
  bool empty() const { return rows_.empty(); }
  std::string Render(const Look& look, int indent = 2) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Tone tone;
  };

  std::string RenderNarrow(const Look& look, int indent) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// Sentences wrapped at the terminal's edge, with the line's end.
std::string Paragraph(absl::string_view text, const Look& look, int indent = 2);

// A bar of `columns` cells, filled to the fraction.
std::string Bar(double fraction, int columns);

// Characters on screen: UTF-8 continuation bytes do not count.
size_t Width(absl::string_view text);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_TEXT_H_
