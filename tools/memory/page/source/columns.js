// Which state each pixel column of the timeline shows.
//
// A column may cover thousands of events. It shows the state with the most bytes among them, so a
// peak is never lost, however far one has zoomed out. The states found never go backwards, which
// lets the painters sweep through the events once.

import {peakBetween, stateAtTime} from './lane.js';

// The horizontal axis: `event` gives every event the same width, `time` follows the clock.
// Position p on the event axis lies in state floor(p); on the time axis it is microseconds since
// the history began.
export function axisLength(lane, axis) {
  if (axis === 'event') return lane.stateCount;
  return Math.max(lane.eventCount ? lane.times[lane.eventCount - 1] * 1.01 : 0, 1);
}

export function stateAtPosition(lane, axis, position) {
  if (axis === 'time') return position < 0 ? 0 : stateAtTime(lane, position);
  return Math.min(Math.max(Math.floor(position), 0), lane.eventCount);
}

// Where a state begins on the axis.
export function positionOfState(lane, axis, state) {
  if (axis === 'event') return state;
  return state === 0 ? 0 : lane.times[state - 1];
}

// The state for each of `width` columns over positions [from, to); -1 where the axis has nothing.
// Of a level (levels.js) that has peaks, which is for the event axis only, a column shows the
// highest peak of the blocks that begin in it.
export function sampleColumns(lane, axis, from, to, width, level = lane.levels[0]) {
  if (level.peaks) return sampleBlocks(lane, from, to, width, level);
  const samples = new Int32Array(width);
  const length = axisLength(lane, axis);
  const step = (to - from) / width;
  let low = stateAtPosition(lane, axis, from);
  for (let c = 0; c < width; ++c) {
    const right = from + (c + 1) * step;
    const high = columnEnd(lane, axis, right, low);
    const outside = right <= 0 || right - step >= length;
    samples[c] = outside ? -1 : peakBetween(lane, low, high + 1);
    low = stateAfterColumn(lane, axis, right, high);
  }
  return samples;
}

function sampleBlocks(lane, from, to, width, {shift, peaks}) {
  const {allocated, stateCount} = lane;
  const samples = new Int32Array(width).fill(-1);
  const size = 2 ** shift;
  const step = (to - from) / width;
  let block = Math.max(0, Math.ceil(from / size));
  for (let c = 0; c < width; ++c) {
    const right = from + (c + 1) * step;
    if (right <= 0 || right - step >= stateCount) continue;
    const end = Math.min(Math.ceil(right / size), peaks.length);
    let best = peaks[Math.min(block, peaks.length - 1)];
    for (; block < end; ++block) if (allocated[peaks[block]] > allocated[best]) best = peaks[block];
    samples[c] = best;
  }
  return samples;
}

// The last state that begins before the column's right edge.
function columnEnd(lane, axis, right, low) {
  if (axis === 'event') return Math.max(low, Math.min(Math.ceil(right) - 1, lane.eventCount));
  const {times, eventCount} = lane;
  let step = 1;
  let high = low;
  while (high + step < eventCount && times[high + step - 1] < right) {
    high += step;
    step *= 2;
  }
  for (; step >= 1; step /= 2) {
    while (high + step <= eventCount && times[high + step - 1] < right) high += step;
  }
  return high;
}

// The state that holds at the right edge: the next column starts with it.
function stateAfterColumn(lane, axis, right, high) {
  if (axis === 'event') return stateAtPosition(lane, axis, right);
  return high;
}

// The first column whose state is at least `state`; samples.length where there is none.
export function columnOfState(samples, state) {
  let low = 0;
  let high = samples.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (samples[middle] < state) low = middle + 1;
    else high = middle;
  }
  return low;
}
