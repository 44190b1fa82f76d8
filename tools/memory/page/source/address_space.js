// The addresses that a lane ever held, with the holes between them closed.
//
// Segments lie gigabytes apart; drawn to scale there would be nothing but holes. All ranges that
// were ever held are merged where they touch and put one after the other: `offset` is where a
// range begins on that closed scale.
//
//   addresses:  [####]......[##########]...[##]
//   offsets:    [####][##########][##]

export function closeHoles(pieces) {
  const order = Array.from({length: pieces.count}, (_, i) => i);
  order.sort((a, b) => pieces.address[a] - pieces.address[b]);
  const ranges = [];
  let offset = 0;
  for (const i of order) {
    const from = pieces.address[i];
    const to = from + pieces.size[i];
    const last = ranges[ranges.length - 1];
    if (last && from <= last.to) {
      offset += Math.max(0, to - last.to);
      last.to = Math.max(last.to, to);
    } else {
      ranges.push({from, to, offset});
      offset += to - from;
    }
  }
  return {ranges, length: offset};
}

// Where an address lies on the closed scale; -1 where it was never held.
export function offsetOfAddress(space, address) {
  const range = space.ranges[rangeBefore(space.ranges, 'from', address)];
  if (!range || address < range.from || address >= range.to) return -1;
  return range.offset + (address - range.from);
}

export function addressOfOffset(space, offset) {
  const range = space.ranges[rangeBefore(space.ranges, 'offset', offset)];
  return range ? range.from + (offset - range.offset) : 0;
}

// The last range whose `key` is at most `value`; -1 where all are beyond it.
function rangeBefore(ranges, key, value) {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ranges[middle][key] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
