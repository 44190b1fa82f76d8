// Lanes for tests, made without a file.
import {finishLane} from '../source/lane.js';

const COLUMNS = [
  'start',
  'end',
  'address',
  'size',
  'stack',
  'pool',
  'stream',
  'context',
  'metadata',
  'node',
  'requested',
  'type',
];

function table(rows, eventCount) {
  const out = {count: rows.length};
  for (const name of COLUMNS) {
    const missing = name === 'requested' ? eventCount : name === 'type' ? 1 : 0;
    const Type =
      name === 'start' || name === 'end' || name === 'requested' ? Int32Array : Float64Array;
    out[name] = Type.from(rows, (row) => row[name] ?? missing);
  }
  return out;
}

// events: how many; allocations and pieces: rows by the names of their columns, sorted by start.
export function makeLane({events, allocations = [], pieces = [], times = null, markers = []}) {
  const kinds = new Uint8Array(events).fill(11);
  for (const row of allocations) {
    if (row.start >= 0) kinds[row.start] = 0;
    if (row.end < events) kinds[row.end] = 2;
  }
  return finishLane({
    name: 'GPU 0',
    device: 0,
    addressBase: 0x7f0000000000n,
    timeBase: 1.7e15,
    eventCount: events,
    kinds,
    times: Float64Array.from(times || Array.from({length: events}, (_, e) => e * 3)),
    allocations: table(allocations, events),
    pieces: table(pieces, events),
    markers,
    ranges: [],
    notes: new Map(),
  });
}

// Small steady pseudo-random numbers: the same seed, the same lane.
export function randomNumbers(seed) {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

// Each event makes an allocation or frees a random one; addresses never overlap.
export function randomLane(seed, events, least = 16) {
  const random = randomNumbers(seed);
  const rows = [];
  const live = [];
  const slot = least * 40;
  const add = (start) => {
    const free = Array.from({length: live.length + 1}, (_, k) => k).find(
      (k) => !live.some((row) => row.slot === k),
    );
    const row = {
      start,
      end: events,
      slot: free,
      address: free * slot,
      size: least + random(least * 30),
      pool: random(3),
      stack: random(5),
    };
    rows.push(row);
    live.push(row);
  };
  for (let k = random(8); k > 0; --k) add(-1);
  for (let event = 0; event < events; ++event) {
    if (live.length > 0 && (random(100) < 47 || live.length > 60)) {
      live.splice(random(live.length), 1)[0].end = event;
    } else {
      add(event);
    }
  }
  const highest = Math.max(...rows.map((row) => row.address)) + slot;
  const middle = Math.floor(events / 2);
  return makeLane({
    events,
    allocations: rows,
    times: Array.from({length: events}, (_, e) => e * 5 + random(5)),
    pieces: [
      {start: -1, end: events, address: 0, size: highest / 2},
      {start: -1, end: middle, address: highest / 2, size: highest / 2},
      {start: middle, end: events, address: highest / 2, size: highest / 2},
    ],
  });
}
