// Paints the timeline by address: every allocation is one rectangle, as wide as its life and as
// high as its size, at its place in memory. Holes between them inside held ranges are what
// fragmentation is.
//
// The pixel numbers are those of stacked.js. What comes and goes between two columns is skipped,
// so the cost is one look at each allocation that starts in view and can be seen from so far away
// (levels.js), plus the pixels.

import {closeHoles, offsetOfAddress} from './address_space.js';
import {columnOfState} from './columns.js';
import {firstAtLeast} from './levels.js';
import {fillRun, PIXEL} from './shade.js';

export class AddressedPainter {
  constructor(lane) {
    this.lane = lane;
    this.space = closeHoles(withStrays(lane));
    this.pieceOffset = this.offsets(lane.pieces);
    this.allocationOffset = this.offsets(lane.allocations);
  }

  offsets(table) {
    const out = new Float64Array(table.count);
    for (let i = 0; i < table.count; ++i) out[i] = offsetOfAddress(this.space, table.address[i]);
    return out;
  }

  paint(view, samples, height, ids, level = this.lane.levels[0]) {
    ids.fill(PIXEL.nothing);
    const first = samples.findIndex((state) => state >= 0);
    if (first < 0) return;
    const last = samples.findLastIndex((state) => state >= 0);
    const frame = {
      view,
      height,
      ids,
      pixels: height / (view.top - view.bottom),
      samples: samples.subarray(0, last + 1),
      first: samples[first],
      last: samples[last],
      born: level.born,
    };
    this.paintPieces(frame);
    this.paintAllocations(frame);
  }

  paintPieces(frame) {
    const {pieces} = this.lane;
    for (let i = 0; i < pieces.count; ++i) {
      const left = columnOfState(frame.samples, pieces.start[i] + 1);
      if (left === frame.samples.length) continue;
      this.rectangle(frame, pieces, i, this.pieceOffset[i], PIXEL.free, left);
    }
  }

  paintAllocations(frame) {
    const {allocations, keyframes} = this.lane;
    const {samples, born} = frame;
    const {start, end} = allocations;
    const key = Math.floor(frame.first / keyframes.step);
    for (const i of keyframes.lists[key]) {
      this.allocation(frame, i, columnOfState(samples, start[i] + 1));
    }
    let left = 0;
    let k = firstAtLeast(born, start, key * keyframes.step);
    for (; k < born.length && start[born[k]] < frame.last; ++k) {
      const i = born[k];
      while (samples[left] <= start[i]) ++left;
      if (samples[left] <= end[i]) this.allocation(frame, i, left);
    }
  }

  allocation(frame, i, left) {
    const offset = this.allocationOffset[i];
    const {allocations} = this.lane;
    this.rectangle(frame, allocations, i, offset, i + PIXEL.firstAllocation, left);
  }

  // left: the first column that shows the thing.
  rectangle(frame, table, i, offset, id, left) {
    const {view, samples, height, ids, pixels} = frame;
    if (offset < 0 || samples[left] > table.end[i]) return;
    const low = (offset - view.bottom) * pixels;
    const high = low + table.size[i] * pixels;
    if (high <= 0 || low >= height) return;
    const bottom = Math.max(0, Math.floor(low + 0.25));
    const top = Math.min(height, Math.max(bottom + 1, Math.floor(high + 0.25)));
    for (let c = left; c < samples.length && samples[c] <= table.end[i]; ++c) {
      fillRun(ids, id, c * height + height - top, c * height + height - bottom);
    }
  }
}

// Allocations outside every piece (their segment's event was lost) need a place too.
function withStrays(lane) {
  const {pieces, allocations} = lane;
  const held = closeHoles(pieces);
  const address = Array.from(pieces.address);
  const size = Array.from(pieces.size);
  for (let i = 0; i < allocations.count; ++i) {
    if (offsetOfAddress(held, allocations.address[i]) >= 0) continue;
    address.push(allocations.address[i]);
    size.push(allocations.size[i]);
  }
  return {address, size, count: address.length};
}

// Which allocation covers an offset in a state; -1 where it is free.
export function pickByAddress(painter, alive, offset) {
  const {size} = painter.lane.allocations;
  for (const i of alive) {
    const from = painter.allocationOffset[i];
    if (from >= 0 && from <= offset && offset < from + size[i]) return i;
  }
  return -1;
}
