// Lays segments out like words on lines, all to one scale.
//
//   pool A   [#######][##]  [####
//            ###]                          a segment that does not fit goes on in the next row
//   pool B   [####]
//
// Pure: rectangles in, rectangles out.

export const TAPE = {row: 16, gap: 4, heading: 22, space: 3};

// How many bytes a pixel stands for so that everything fits the height, if it can; magnify > 1
// makes everything wider than that.
export function chooseScale(groups, width, height, magnify) {
  const rowHeight = TAPE.row + TAPE.gap;
  let total = 0;
  let largest = 1;
  let count = 0;
  for (const group of groups) {
    total += group.bytes;
    count += group.segments.length;
    for (const segment of group.segments) largest = Math.max(largest, segment.size);
  }
  const rows = Math.max(
    1,
    Math.floor((height - groups.length * TAPE.heading) / rowHeight) - groups.length,
  );
  const room = Math.max(width * 0.3, width * rows - count * TAPE.space);
  return Math.max(total / room, largest / (width * Math.max(1, rows / 2)), 1) / magnify;
}

// Returns {height, headings: [{group, y}], parts: [{segment, x, y, width, from, to}]}: bytes
// [from, to) of the segment lie in that part.
export function layTape(groups, width, bytesPerPixel) {
  const out = {headings: [], parts: [], height: 0};
  let y = 0;
  for (const group of groups) {
    out.headings.push({group, y});
    y =
      layGroup(group, y + TAPE.heading, width, bytesPerPixel, out.parts) + TAPE.row + TAPE.gap * 2;
  }
  out.height = y;
  return out;
}

function layGroup(group, top, width, bytesPerPixel, parts) {
  let x = 0;
  let y = top;
  for (const segment of group.segments) {
    if (width - x < Math.min(8, segment.size / bytesPerPixel)) {
      x = 0;
      y += TAPE.row + TAPE.gap;
    }
    let from = 0;
    while (from < segment.size) {
      const room = (width - x) * bytesPerPixel;
      const to = Math.min(segment.size, from + room);
      const wide = Math.max((to - from) / bytesPerPixel, 1);
      parts.push({segment, x, y, width: wide, from, to});
      x += wide;
      from = to;
      if (from < segment.size) {
        x = 0;
        y += TAPE.row + TAPE.gap;
      }
    }
    x += TAPE.space;
  }
  return y;
}

// The part under a point.
export function partAt(tape, x, y) {
  return tape.parts.find(
    (part) => y >= part.y && y < part.y + TAPE.row && x >= part.x && x < part.x + part.width,
  );
}
