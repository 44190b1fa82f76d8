// Numbers, tables and colour as text.
#include "tools/memory/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/str_format.h"

namespace graphtree::memory {
namespace {

constexpr int kFileColumns = 120;
constexpr int kNarrowest = 40;
constexpr size_t kLeastLastColumn = 16;

const char* CodeOf(Tone tone) {
  switch (tone) {
    case Tone::kStrong: return "\033[1m";
    case Tone::kDim: return "\033[2m";
    case Tone::kGood: return "\033[32m";
    case Tone::kWarning: return "\033[33m";
    case Tone::kBad: return "\033[31m";
    case Tone::kPlain: break;
  }
  return "";
}

int TerminalColumns() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::max<int>(size.ws_col, kNarrowest);
  }
  int columns = 0;
  const char* text = std::getenv("COLUMNS");
  if (text != nullptr && absl::SimpleAtoi(text, &columns)) return std::max(columns, kNarrowest);
  return kFileColumns;
}

}  // namespace

std::string Bytes(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  // A value that would be shown as 1024.0 is shown in the next unit.
  for (value /= 1024; value >= 1023.95 && unit + 1 < std::size(units); value /= 1024) ++unit;
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f %s", digits, value, units[unit]);
}

std::string SignedBytes(int64_t bytes) {
  const bool negative = bytes < 0;
  const uint64_t size = negative ? 0 - static_cast<uint64_t>(bytes) : static_cast<uint64_t>(bytes);
  return absl::StrCat(negative ? "-" : "+", Bytes(size));
}

std::string Count(uint64_t count) {
  const std::string digits = absl::StrCat(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string Percent(double fraction) { return absl::StrFormat("%.1f %%", fraction * 100); }

std::string Duration(int64_t microseconds) {
  const double us = static_cast<double>(microseconds);
  if (std::abs(us) < 1000) return absl::StrFormat("%.0f us", us);
  if (std::abs(us) < 1e6) return absl::StrFormat("%.1f ms", us / 1e3);
  if (std::abs(us) < 600e6) return absl::StrFormat("%.3f s", us / 1e6);
  return absl::StrFormat("%.1f min", us / 60e6);
}

std::string Address(uint64_t address) { return absl::StrCat("0x", absl::Hex(address)); }

std::string Plural(uint64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(Count(count), " ", count == 1 ? one : many);
}

std::string Safe(absl::string_view text) {
  std::string safe(text);
  for (char& c : safe) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return safe;
}

size_t Width(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

std::string Clip(absl::string_view text, size_t columns) {
  std::string safe = Safe(text);
  if (Width(safe) <= columns) return safe;
  const size_t keep = columns < 3 ? 0 : columns - 3;
  size_t width = 0;
  size_t end = 0;
  while (end < safe.size() && (width < keep || (safe[end] & 0xc0) == 0x80)) {
    if ((safe[end] & 0xc0) != 0x80) ++width;
    ++end;
  }
  return absl::StrCat(safe.substr(0, end), "...");
}

std::string Look::Paint(Tone tone, absl::string_view text) const {
  if (!colour || tone == Tone::kPlain) return std::string(text);
  return absl::StrCat(CodeOf(tone), text, "\033[0m");
}

cli::Option ColorOption() {
  return {.name = "--color",
          .kind = cli::ValueKind::kChoice,
          .help = "Colour the text; auto (the default): when it goes to a terminal.",
          .choices = {"auto", "always", "never"}};
}

Look LookOf(const cli::Arguments& arguments, const cli::Console& console) {
  Look look;
  const bool terminal = &console.out == &std::cout && isatty(STDOUT_FILENO) == 1;
  const std::string choice = arguments.Text("--color", "auto");
  const char* no_color = std::getenv("NO_COLOR");
  const bool wanted = terminal && (no_color == nullptr || *no_color == '\0');
  look.colour = choice == "always" || (choice == "auto" && wanted);
  look.columns = TerminalColumns();
  return look;
}

void Table::Add(std::vector<std::string> cells, Tone tone) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), tone});
}

std::string Table::Render(const Look& look, int indent) const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(Width(column.title));
  for (const Row& row : rows_) {
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], Width(row.cells[i]));
  }
  size_t before_last = static_cast<size_t>(indent);
  for (size_t i = 0; i + 1 < widths.size(); ++i) before_last += widths[i] + 2;
  const size_t room = static_cast<size_t>(look.columns);
  if (before_last + std::min(kLeastLastColumn, widths.back()) > room) {
    return RenderNarrow(look, indent);
  }
  const size_t last_room = room - before_last;
  const auto line = [&](const auto& cell, Tone tone) {
    std::string text(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool last = i + 1 == columns_.size();
      const std::string shown = last ? Clip(cell(i), last_room) : Safe(cell(i));
      const size_t gap = widths[i] > Width(shown) ? widths[i] - Width(shown) : 0;
      const bool right = columns_[i].side == Side::kRight;
      absl::StrAppend(&text, right ? std::string(gap, ' ') : "", shown,
                      !right && !last ? std::string(gap, ' ') : "", last ? "" : "  ");
    }
    text.resize(text.find_last_not_of(' ') + 1);
    return absl::StrCat(look.Paint(tone, text), "\n");
  };
  std::string text = line([&](size_t i) { return columns_[i].title; }, Tone::kDim);
  for (const Row& row : rows_) {
    absl::StrAppend(&text, line([&](size_t i) { return row.cells[i]; }, row.tone));
  }
  return text;
}

std::string Table::RenderNarrow(const Look& look, int indent) const {
  const size_t room = static_cast<size_t>(look.columns);
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string text;
  for (const Row& row : rows_) {
    std::string line = margin;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (row.cells[i].empty()) continue;
      const std::string part = Clip(
          absl::StrCat(columns_[i].title, columns_[i].title.empty() ? "" : " ", row.cells[i]),
          room - margin.size() - 2);
      if (Width(line) > margin.size() && Width(line) + 2 + Width(part) > room) {
        absl::StrAppend(&text, look.Paint(row.tone, line), "\n");
        line = margin + "  ";
      } else if (Width(line) > margin.size()) {
        line += "  ";
      }
      line += part;
    }
    absl::StrAppend(&text, look.Paint(row.tone, line), "\n");
  }
  return text;
}

std::string Paragraph(absl::string_view text, const Look& look, int indent) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string lines;
  std::string line;
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    const size_t width = margin.size() + Width(line) + 1 + Width(word);
    if (!line.empty() && width > static_cast<size_t>(look.columns)) {
      line.resize(line.find_last_not_of(' ') + 1);
      absl::StrAppend(&lines, margin, line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  return absl::StrCat(lines, margin, line, "\n");
}

std::string Bar(double fraction, int columns) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double cells = std::clamp(fraction, 0.0, 1.0) * columns;
  const int whole = static_cast<int>(cells);
  std::string bar;
  for (int i = 0; i < whole; ++i) bar += "█";
  return bar + kEighths[static_cast<int>((cells - whole) * 8)];
}

}  // namespace graphtree::memory
