// A lane is the history of one device (a GPU, or pinned host memory), as columns.
//
//   states:   0      1      2            count        (before, between and after the events)
//   events:     e0     e1     e2  ...
//
// An event is one line of the trace; state s is what holds once s events have happened. An
// allocation lives from state start + 1 to state end: `start` is the event that made it (-1: it
// was there before the history began) and `end` the one that freed it (`count`: never). So it is
// alive in state s exactly if start < s <= end. Allocations are sorted by start.
//
// Pieces are address ranges that the allocator held from the driver: segments, or the mapped parts
// of expandable ones. They have the same start and end.
//
// Everything here is plain data and arithmetic; nothing knows about the screen.

import {readColumn} from './bytes.js';
import {makeLevels} from './levels.js';

export const EVENT = {
  alloc: 0,
  freeRequested: 1,
  freeCompleted: 2,
  freeAssumed: 3,
  segmentAlloc: 4,
  segmentFree: 5,
  segmentMap: 6,
  segmentUnmap: 7,
  snapshot: 8,
  oom: 9,
  annotate: 10,
  other: 11,
};

export const EVENT_NAMES = [
  'alloc',
  'free requested',
  'free',
  'free not recorded',
  'segment alloc',
  'segment free',
  'segment map',
  'segment unmap',
  'snapshot',
  'out of memory',
  'note',
  'other',
];

const PLACED = {
  address: Float64Array,
  size: Float64Array,
  stack: Uint32Array,
  pool: Uint32Array,
  stream: Uint32Array,
};
const ALLOCATION = {...PLACED, context: Uint32Array, metadata: Uint32Array, node: Uint32Array};
const PIECE = {...PLACED, type: Uint8Array};

function readTable(bytes, columns, prefix, types) {
  const table = {};
  for (const [name, Type] of Object.entries(types)) {
    table[name] = readColumn(bytes, columns[`${prefix}_${name}`], Type);
  }
  table.count = table.size.length;
  return table;
}

// start as stored: 0 = before the history, else event + 1, as differences. end: 0 = never, else the
// distance from start (which counts as event -1 before the history).
function readLifetimes(bytes, columns, prefix, table, eventCount) {
  const start = readColumn(bytes, columns[`${prefix}_start`], Float64Array);
  const end = readColumn(bytes, columns[`${prefix}_end`], Float64Array);
  table.start = new Int32Array(table.count);
  table.end = new Int32Array(table.count);
  for (let i = 0; i < table.count; ++i) {
    table.start[i] = start[i] - 1;
    table.end[i] = end[i] === 0 ? eventCount : table.start[i] + end[i];
  }
}

// The events' own columns, and for each event the allocation or piece that it is about.
function readEvents(bytes, description, lane) {
  const {columns} = description;
  lane.times = readColumn(bytes, columns.event_time, Float64Array);
  lane.kinds = readColumn(bytes, columns.event_kind, Uint8Array);
  lane.eventCount = lane.kinds.length;
}

function linkEvents(lane) {
  const {allocations, pieces} = lane;
  lane.subject = new Int32Array(lane.eventCount).fill(-1);
  const requested = allocations.requested;
  for (let i = 0; i < allocations.count; ++i) {
    if (allocations.start[i] >= 0) lane.subject[allocations.start[i]] = i;
    if (allocations.end[i] < lane.eventCount) lane.subject[allocations.end[i]] = i;
    if (requested[i] < lane.eventCount) lane.subject[requested[i]] = i;
  }
  for (let i = 0; i < pieces.count; ++i) {
    if (pieces.start[i] >= 0) lane.subject[pieces.start[i]] = i;
  }
}

// free_requested as stored: 0 = never, else the distance from start.
function readRequests(bytes, columns, allocations, eventCount) {
  const stored = readColumn(bytes, columns.allocation_requested, Float64Array);
  const requested = new Int32Array(allocations.count);
  for (let i = 0; i < allocations.count; ++i) {
    requested[i] = stored[i] === 0 ? eventCount : allocations.start[i] + stored[i];
  }
  allocations.requested = requested;
}

// Bytes held in every state: the sum over what starts and ends.
export function sumOverStates(table, eventCount) {
  const change = new Float64Array(eventCount + 1);
  for (let i = 0; i < table.count; ++i) {
    change[table.start[i] + 1] += table.size[i];
    if (table.end[i] < eventCount) change[table.end[i] + 1] -= table.size[i];
  }
  for (let s = 1; s <= eventCount; ++s) change[s] += change[s - 1];
  return change;
}

// Turns columns into a lane; also the way in for tests, which have no bytes.
export function finishLane(lane) {
  lane.stateCount = lane.eventCount + 1;
  linkEvents(lane);
  lane.allocated = sumOverStates(lane.allocations, lane.eventCount);
  lane.reserved = sumOverStates(lane.pieces, lane.eventCount);
  lane.peakState = indexOfLargest(lane.allocated, 0, lane.stateCount);
  lane.mostHeld = Math.max(
    lane.allocated[lane.peakState],
    lane.reserved[indexOfLargest(lane.reserved, 0, lane.stateCount)],
  );
  lane.keyframes = makeKeyframes(lane.allocations, lane.eventCount);
  lane.byEnd = sortByEnd(lane.allocations, lane.eventCount);
  lane.blockPeaks = makeBlockPeaks(lane.allocated);
  lane.levels = makeLevels(lane);
  return lane;
}

export function readLane(bytes, description) {
  const {columns} = description;
  const lane = {
    name: description.name,
    device: description.device,
    addressBase: BigInt(description.address_base),
    timeBase: description.time_base,
    markers: description.markers,
    notes: new Map(description.notes),
  };
  readEvents(bytes, description, lane);
  lane.allocations = readTable(bytes, columns, 'allocation', ALLOCATION);
  readLifetimes(bytes, columns, 'allocation', lane.allocations, lane.eventCount);
  readRequests(bytes, columns, lane.allocations, lane.eventCount);
  lane.pieces = readTable(bytes, columns, 'piece', PIECE);
  readLifetimes(bytes, columns, 'piece', lane.pieces, lane.eventCount);
  const unit = description.address_unit;
  for (const table of [lane.allocations, lane.pieces]) {
    for (let i = 0; i < table.count; ++i) table.address[i] *= unit;
  }
  finishLane(lane);
  lane.ranges = description.ranges.map(([name, from, to]) => ({
    name,
    from,
    to,
    fromState: stateAtTime(lane, from),
    toState: stateAtTime(lane, to),
  }));
  return lane;
}

export function indexOfLargest(values, from, to) {
  let best = from;
  for (let i = from + 1; i < to; ++i) if (values[i] > values[best]) best = i;
  return best;
}

// Who is alive in every `step`-th state, in order of age, so that any state can be rebuilt from the
// nearest one before it. The step grows with the number alive: all keyframes together hold about as
// many entries as there are events.
function makeKeyframes(allocations, eventCount) {
  const most = mostAlive(allocations, eventCount);
  const step = Math.max(1024, most);
  const lists = [];
  let alive = [];
  let next = 0;
  for (let state = 0; state <= eventCount; state += step) {
    alive = alive.filter((i) => allocations.end[i] >= state);
    for (; next < allocations.count && allocations.start[next] < state; ++next) {
      if (allocations.end[next] >= state) alive.push(next);
    }
    lists.push(Uint32Array.from(alive));
  }
  return {step, lists, mostAlive: most};
}

function mostAlive(allocations, eventCount) {
  const ones = {
    count: allocations.count,
    start: allocations.start,
    end: allocations.end,
    size: new Uint8Array(allocations.count).fill(1),
  };
  return sumOverStates(ones, eventCount).reduce((most, alive) => Math.max(most, alive), 0);
}

// The first allocation that starts at event `event` or later.
export function firstStartingAt(allocations, event) {
  let low = 0;
  let high = allocations.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (allocations.start[middle] < event) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The freed allocations in the order in which they were freed.
function sortByEnd(allocations, eventCount) {
  const freedBy = new Int32Array(eventCount).fill(-1);
  let freed = 0;
  for (let i = 0; i < allocations.count; ++i) {
    if (allocations.end[i] >= eventCount) continue;
    freedBy[allocations.end[i]] = i;
    ++freed;
  }
  const order = new Int32Array(freed);
  let at = 0;
  for (let event = 0; event < eventCount; ++event) {
    if (freedBy[event] >= 0) order[at++] = freedBy[event];
  }
  return order;
}

// The state with the most bytes in each block of states, so that looking for a peak skips blocks.
export const PEAK_BLOCK = 128;

function makeBlockPeaks(values) {
  const peaks = new Int32Array(Math.ceil(values.length / PEAK_BLOCK));
  for (let b = 0; b < peaks.length; ++b) {
    peaks[b] = indexOfLargest(
      values,
      b * PEAK_BLOCK,
      Math.min((b + 1) * PEAK_BLOCK, values.length),
    );
  }
  return peaks;
}

// The state with the most bytes in [from, to).
export function peakBetween(lane, from, to) {
  const {allocated, blockPeaks} = lane;
  const firstWhole = Math.ceil(from / PEAK_BLOCK);
  const lastWhole = Math.floor(to / PEAK_BLOCK);
  if (firstWhole >= lastWhole) return indexOfLargest(allocated, from, to);
  let best = indexOfLargest(allocated, from, Math.max(firstWhole * PEAK_BLOCK, from + 1));
  for (let b = firstWhole; b < lastWhole; ++b) {
    if (allocated[blockPeaks[b]] > allocated[best]) best = blockPeaks[b];
  }
  for (let s = lastWhole * PEAK_BLOCK; s < to; ++s) if (allocated[s] > allocated[best]) best = s;
  return best;
}

// The allocations alive in a state, oldest first.
export function aliveAt(lane, state) {
  const {allocations, keyframes} = lane;
  const frame = Math.floor(state / keyframes.step);
  const alive = [];
  for (const i of keyframes.lists[frame]) if (allocations.end[i] >= state) alive.push(i);
  const first = firstStartingAt(allocations, frame * keyframes.step);
  for (let i = first; i < allocations.count && allocations.start[i] < state; ++i) {
    if (allocations.end[i] >= state) alive.push(i);
  }
  return alive;
}

// The pieces held in a state.
export function piecesAt(lane, state) {
  const {pieces} = lane;
  const held = [];
  for (let i = 0; i < pieces.count; ++i) {
    if (pieces.start[i] < state && state <= pieces.end[i]) held.push(i);
  }
  return held;
}

// The time of a state: that of its last event. The history begins at time 0.
export function timeOfState(lane, state) {
  return state === 0 ? 0 : lane.times[state - 1];
}

// The state after everything up to `time` has happened.
export function stateAtTime(lane, time) {
  let low = 0;
  let high = lane.eventCount;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (lane.times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
