// Lays frames out row by row and writes them as rectangles.
#include "tools/memory/flame_svg.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace graphtree::memory {
namespace {

constexpr double kWidth = 1200;
constexpr int kRow = 18;
constexpr int kTop = 46;
constexpr double kCharacter = 6.4;  // width of one, about

constexpr char kStyle[] = R"(
  svg { font: 12px system-ui, sans-serif; background: #fff; }
  text { fill: #1a1d21; pointer-events: none; }
  .title { font-size: 15px; font-weight: 600; }
  .frame rect { stroke: #fff; stroke-width: 0.6; cursor: pointer; }
  .frame:hover rect { stroke: #1a1d21; stroke-width: 1.4; }
  .dim rect { fill: #d3d7dd; }
  .python rect { fill: #7fb2e5; } .native rect { fill: #f0b775; } .root rect { fill: #c9ced6; }
  .hit rect { fill: #e5549a; }
  .faded { opacity: 0.45; }
  input { font: 12px system-ui, sans-serif; width: 100%; box-sizing: border-box; }
  @media (prefers-color-scheme: dark) {
    svg { background: #14171b; } .title, .said { fill: #e7eaee; } .frame rect { stroke: #14171b; }
    .frame text { fill: #14171b; }
  }
)";

// Each frame carries its place in parts of the whole; zooming stretches a part to the full width.
constexpr char kScript[] = R"(
  const frames = [...document.querySelectorAll('.frame')].map(g => ({
    g, rect: g.querySelector('rect'), text: g.querySelector('text'),
    x: +g.dataset.x, w: +g.dataset.w, row: +g.dataset.row, name: g.dataset.name}));
  const width = 1200;
  function zoom(to) {
    for (const f of frames) {
      const around = f.row <= to.row;
      const inside = f.x < to.x + to.w - 1e-9 && f.x + f.w > to.x + 1e-9;
      f.g.style.display = inside ? '' : 'none';
      if (!inside) continue;
      const left = around ? 0 : (f.x - to.x) / to.w * width;
      const wide = around ? width : f.w / to.w * width;
      f.g.classList.toggle('faded', around && f !== to);
      f.rect.setAttribute('x', left);
      f.rect.setAttribute('width', wide);
      f.text.setAttribute('x', left + 3);
      const room = Math.floor((wide - 6) / 6.4);
      const fitting = f.name.length <= room ? f.name : f.name.slice(0, room - 1) + '\u2026';
      f.text.textContent = room < 3 ? '' : fitting;
    }
  }
  for (const f of frames) f.g.addEventListener('click', () => zoom(f));
  const said = document.querySelector('.said');
  document.querySelector('input').addEventListener('input', event => {
    const needle = event.target.value.toLowerCase();
    let end = 0, share = 0;
    for (const f of frames) f.hit = needle !== '' && f.name.toLowerCase().includes(needle);
    for (const f of [...frames].sort((a, b) => a.x - b.x || a.row - b.row)) {
      f.g.classList.toggle('hit', f.hit);
      if (!f.hit || f.x < end - 1e-9) continue;
      share += f.w;
      end = f.x + f.w;
    }
    said.textContent = needle === '' ? '' : (100 * share).toFixed(1) + ' % matches';
  });
)";

std::string Escaped(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    // Other control characters have no place in XML.
    if (static_cast<unsigned char>(c) < 32 && c != '\t') {
      out += ' ';
    } else {
      out += c;
    }
  }
  return absl::StrReplaceAll(out, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// As much of the text as fits, cut between characters.
std::string Fitting(const std::string& text, double width) {
  const double room = (width - 6) / kCharacter;
  if (room < 3) return "";
  if (static_cast<double>(text.size()) <= room) return text;
  size_t end = static_cast<size_t>(room) - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "\u2026";
}

const char* KindOf(const std::string& text, size_t row) {
  if (row == 0) return "root";
  return absl::StrContains(text, ".py:") ? "python" : "native";
}

struct Placed {
  size_t node;
  size_t row;
  double from;  // part of the whole
};

void WriteFrame(const FlameTree& tree, const Placed& placed, const FlameLook& look,
                std::string& svg) {
  const FlameTree::Node& node = tree.node(placed.node);
  const double total = static_cast<double>(tree.root().value);
  const double share = total == 0 ? 1 : static_cast<double>(node.value) / total;
  const double x = placed.from * kWidth;
  const size_t y = kTop + placed.row * kRow;
  const std::string name = Escaped(node.text);
  absl::StrAppendFormat(
      &svg,
      "<g class=\"frame %s\" data-x=\"%.9f\" data-w=\"%.9f\" data-row=\"%d\" data-name=\"%s\">",
      KindOf(node.text, placed.row), placed.from, share, placed.row, name);
  absl::StrAppendFormat(&svg, "<title>%s\n%s (%.2f %%)</title>", name, look.value(node.value),
                        100 * share);
  absl::StrAppendFormat(&svg, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"/>", x, y,
                        share * kWidth, kRow - 1);
  absl::StrAppendFormat(&svg, "<text x=\"%.2f\" y=\"%d\">%s</text></g>\n", x + 3, y + 13,
                        Escaped(Fitting(node.text, share * kWidth)));
}

// Rows from the root down; what is too thin to see is left out with all that it calls.
std::vector<Placed> Layout(const FlameTree& tree, const FlameLook& look) {
  const double total = static_cast<double>(tree.root().value);
  std::vector<Placed> placed = {{0, 0, 0.0}};
  for (size_t i = 0; i < placed.size(); ++i) {
    const Placed parent = placed[i];
    double from = parent.from;
    if (parent.row == look.most_rows) continue;
    for (const auto& [text, child] : tree.node(parent.node).children) {
      const double share = static_cast<double>(tree.node(child).value) / total;
      if (share >= look.least_share) placed.push_back({child, parent.row + 1, from});
      from += share;
    }
  }
  return placed;
}

}  // namespace

std::string RenderFlameSvg(const FlameTree& tree, const FlameLook& look) {
  const std::vector<Placed> placed = Layout(tree, look);
  size_t rows = 1;
  for (const Placed& frame : placed) rows = std::max(rows, frame.row + 1);
  const size_t height = kTop + rows * kRow + 10;
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"100%%\" "
      "preserveAspectRatio=\"xMidYMin\">\n"
      "<style>%s</style>\n<text class=\"title\" x=\"4\" y=\"20\">%s</text>\n"
      "<text class=\"said\" x=\"%d\" y=\"38\" text-anchor=\"end\"></text>\n"
      "<foreignObject x=\"4\" y=\"26\" width=\"320\" height=\"24\">"
      "<input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" placeholder=\"Search\"/>"
      "</foreignObject>\n",
      static_cast<int>(kWidth), height, kStyle, Escaped(look.title), static_cast<int>(kWidth) - 4);
  for (const Placed& frame : placed) WriteFrame(tree, frame, look, svg);
  absl::StrAppend(&svg, "<script><![CDATA[", kScript, "]]></script>\n</svg>\n");
  return svg;
}

}  // namespace graphtree::memory
