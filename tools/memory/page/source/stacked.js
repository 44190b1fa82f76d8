// Paints the stacked timeline: in each column, whoever is alive lies on whoever is older.
//
//   ids:  one number a pixel, column after column, top to bottom:
//         0 nothing, 1 held but free, a + 2 allocation a
//
// One sweep through the events keeps a linked list of what is alive, oldest first; each column
// walks the list once. Three things make a million events cheap:
//
//   * What no column can show is not looked at (levels.js), and what comes and goes between two
//     columns is never put into the list.
//   * What is thinner than a pixel shares a list node with its neighbours until they fill a pixel,
//     so a column's walk is bounded by its height, not by how many are alive. The node takes the
//     colour of its newest member. Positions stay exact: a node has the exact sum of its members.
//   * Nodes are numbered from 0 and used again, so that the list stays in the cache.

import {firstAtLeast} from './levels.js';
import {fillRun, PIXEL} from './shade.js';

const NONE = -1;

// The list; its arrays are kept between frames.
export class StackedPainter {
  constructor(lane) {
    const most = lane.keyframes.mostAlive + 1;
    this.lane = lane;
    this.next = new Int32Array(most);
    this.previous = new Int32Array(most);
    this.bytes = new Float64Array(most);
    this.newest = new Int32Array(most); // the member that lends its colour
    this.shared = new Uint8Array(most); // whether the node is for thin ones
    this.members = new Int32Array(most);
    this.spare = Int32Array.from({length: most}, (_, k) => most - 1 - k); // nodes not in the list
    this.nodeOf = new Int32Array(lane.allocations.count); // that an allocation is in
  }

  // view: {axis, bottom, top} in bytes; samples: the state of each column (columns.js), and the
  // level that they were taken from.
  paint(view, samples, height, ids, level = this.lane.levels[0]) {
    ids.fill(PIXEL.nothing);
    this.level = level;
    this.thin = (view.top - view.bottom) / height;
    this.clear();
    let state = NONE;
    for (let c = 0; c < samples.length; ++c) {
      if (samples[c] === NONE) continue;
      if (samples[c] === state && c > 0 && samples[c - 1] === state) {
        ids.copyWithin(c * height, (c - 1) * height, c * height);
        continue;
      }
      state === NONE ? this.startAt(samples[c]) : this.advance(state, samples[c]);
      state = samples[c];
      const row = this.paintColumn(view, ids, c * height, height);
      this.paintFree(view, ids, c * height, height, row, state);
    }
  }

  clear() {
    const {spare} = this;
    for (let k = 0; k < spare.length; ++k) spare[k] = spare.length - 1 - k;
    this.spareCount = spare.length;
    this.head = this.tail = NONE;
  }

  startAt(state) {
    const {keyframes, allocations} = this.lane;
    const frame = Math.floor(state / keyframes.step);
    const from = frame * keyframes.step;
    for (const i of keyframes.lists[frame]) if (allocations.end[i] >= state) this.append(i);
    this.unborn = firstAtLeast(this.level.born, allocations.start, from);
    this.appendBorn(state);
    this.undead = firstAtLeast(this.level.dead, allocations.end, state);
  }

  // Those that start before `state` and outlive it; those that do not are never seen.
  appendBorn(state) {
    const {born} = this.level;
    const {start, end} = this.lane.allocations;
    let k = this.unborn;
    for (; k < born.length && start[born[k]] < state; ++k) {
      if (end[born[k]] >= state) this.append(born[k]);
    }
    this.unborn = k;
  }

  advance(from, to) {
    const {dead} = this.level;
    const {start, end} = this.lane.allocations;
    let k = this.undead;
    for (; k < dead.length && end[dead[k]] < to; ++k) {
      if (start[dead[k]] < from) this.remove(dead[k]);
    }
    this.undead = k;
    this.appendBorn(to);
  }

  append(i) {
    const size = this.lane.allocations.size[i];
    const isThin = size < this.thin;
    const {tail} = this;
    if (isThin && tail !== NONE && this.shared[tail] && this.bytes[tail] + size <= this.thin) {
      this.bytes[tail] += size;
      this.members[tail] += 1;
      this.newest[tail] = i;
      this.nodeOf[i] = tail;
      return;
    }
    const node = this.spare[--this.spareCount];
    this.nodeOf[i] = node;
    this.newest[node] = i;
    this.bytes[node] = size;
    this.members[node] = 1;
    this.shared[node] = isThin ? 1 : 0;
    this.previous[node] = tail;
    this.next[node] = NONE;
    if (tail === NONE) this.head = node;
    else this.next[tail] = node;
    this.tail = node;
  }

  remove(i) {
    const node = this.nodeOf[i];
    this.bytes[node] -= this.lane.allocations.size[i];
    this.members[node] -= 1;
    if (this.members[node] > 0) return;
    const before = this.previous[node];
    const after = this.next[node];
    if (before === NONE) this.head = after;
    else this.next[before] = after;
    if (after === NONE) this.tail = before;
    else this.previous[after] = before;
    this.spare[this.spareCount++] = node;
  }

  paintColumn(view, ids, base, height) {
    const pixels = height / (view.top - view.bottom);
    let below = -view.bottom;
    let row = 0; // pixels from the bottom that are done
    for (let node = this.head; node !== NONE; node = this.next[node]) {
      below += this.bytes[node];
      if (below <= 0) continue;
      let end = Math.round(below * pixels);
      if (end === row) continue;
      if (end > height) end = height;
      fillRun(
        ids,
        this.newest[node] + PIXEL.firstAllocation,
        base + height - end,
        base + height - row,
      );
      row = end;
      if (row === height) break;
    }
    return row;
  }

  // Above the stack, up to what was held from the driver.
  paintFree(view, ids, base, height, row, state) {
    const held = ((this.lane.reserved[state] - view.bottom) * height) / (view.top - view.bottom);
    const end = Math.min(height, Math.round(held));
    if (end > row) ids.fill(PIXEL.free, base + height - end, base + height - row);
  }
}

// Which allocation covers `bytes` in the stack of a state; -1 above the top. `alive` is in order of
// age (lane.js, aliveAt).
export function pickInStack(lane, alive, bytes) {
  let top = 0;
  if (bytes < 0) return NONE;
  for (const i of alive) {
    top += lane.allocations.size[i];
    if (bytes < top) return i;
  }
  return NONE;
}
