// Turns the numbers that the painters leave in every pixel into colours.
//
// The painters work column by column, the canvas row by row; this pass turns the one into the other
// and draws a darker line where one allocation ends and another begins, if there is room for it.
// Changing what is highlighted only repeats this pass.

// What a pixel may hold.
export const PIXEL = {nothing: 0, free: 1, firstAllocation: 2};

// Like ids.fill; most runs are a few pixels, and for those a loop is faster than the call.
export function fillRun(ids, id, from, to) {
  if (to - from > 24) {
    ids.fill(id, from, to);
    return;
  }
  for (let at = from; at < to; ++at) ids[at] = id;
}

// colours: a 32-bit little-endian RGBA for each pixel number. out: width * height such words.
// Strips of columns, so that the rows written to stay in the cache.
export function shade(ids, width, height, colours, out) {
  for (let left = 0; left < width; left += STRIP) {
    const right = Math.min(left + STRIP, width);
    for (let x = left; x < right; ++x) shadeColumn(ids, x, width, height, colours, out);
  }
}

const STRIP = 32;

function shadeColumn(ids, x, width, height, colours, out) {
  const base = x * height;
  const end = base + height;
  const toLeft = x > 0 ? height : 0;
  let above = ids[base];
  for (let at = base, o = x; at < end; ++at, o += width) {
    const id = ids[at];
    let colour = colours[id];
    if (id !== above) {
      if (id > PIXEL.free && ids[at + 2] === id) colour = darker(colour);
      above = id;
    } else if (
      id !== ids[at - toLeft] &&
      id > PIXEL.free &&
      ids[at + height] === id &&
      ids[at + 2 * height] === id
    ) {
      colour = darker(colour);
    }
    out[o] = colour;
  }
}

// Three quarters of each of red, green and blue.
function darker(colour) {
  const half = (colour >>> 1) & 0x7f7f7f;
  const quarter = (colour >>> 2) & 0x3f3f3f;
  return ((colour & 0xff000000) | (half + quarter)) >>> 0;
}
