// Levels of detail, made once: what can be seen of a history from how far away.
//
//   states:  0 1 2 3 4 5 6 7 8 9 ...          a column of the screen may cover thousands
//   level:   [   |   ][   |   ][   |           one peak for each block of 2 ** shift states
//                p        p
//
// Seen from so far away that a column covers two blocks or more, a column shows one of its blocks'
// peaks. So only what is alive at some peak can be seen at that level, and the painters need not
// look at anything else: of a million allocations most come and go between two peaks. The peaks of
// a coarser level are among those of a finer one, and so is what can be seen.
//
// Level 0 has every allocation and no peaks: it is for who looks from close by, and for the time
// axis, where columns do not cover equally many states.

const SHIFTS = [4, 6, 8, 10, 12, 14, 16, 18];

// born and dead: the allocations that can be seen, in the order of their starts and (those that are
// freed at all) of their ends.
export function makeLevels(lane) {
  const all = Int32Array.from({length: lane.allocations.count}, (_, i) => i);
  const levels = [{shift: 0, peaks: null, born: all, dead: lane.byEnd}];
  for (const shift of SHIFTS) {
    if (lane.stateCount >> shift < 2) break;
    const finer = levels[levels.length - 1];
    const peaks = peaksOfBlocks(lane, shift, finer);
    const isSeen = (i) => hasPeak(peaks, shift, lane.allocations.start[i], lane.allocations.end[i]);
    levels.push({shift, peaks, born: finer.born.filter(isSeen), dead: finer.dead.filter(isSeen)});
  }
  return levels;
}

// The coarsest level of which every column covers at least two blocks.
export function levelFor(lane, axis, from, to, width) {
  const {levels} = lane;
  let found = 0;
  if (axis !== 'event') return levels[found];
  while (found + 1 < levels.length && 2 << levels[found + 1].shift <= (to - from) / width) ++found;
  return levels[found];
}

// From the blocks of the finer level, each of which lies in one of these.
function peaksOfBlocks(lane, shift, finer) {
  const {allocated, stateCount} = lane;
  const peaks = new Int32Array(Math.ceil(stateCount / 2 ** shift)).fill(-1);
  const count = finer.peaks ? finer.peaks.length : stateCount;
  for (let k = 0; k < count; ++k) {
    const state = finer.peaks ? finer.peaks[k] : k;
    const block = state >> shift;
    if (peaks[block] < 0 || allocated[state] > allocated[peaks[block]]) peaks[block] = state;
  }
  return peaks;
}

// Whether a peak lies in the states from start + 1 to end.
function hasPeak(peaks, shift, start, end) {
  const first = (start + 1) >> shift;
  if (peaks[first] > start && peaks[first] <= end) return true;
  const last = Math.min(end >> shift, peaks.length - 1);
  return last > first + 1 || (last > first && peaks[last] <= end);
}

// The first of `order` whose value is at least `event`.
export function firstAtLeast(order, values, event) {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[order[middle]] < event) low = middle + 1;
    else high = middle;
  }
  return low;
}
