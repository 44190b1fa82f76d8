// What memory looked like in one state: who held how much, and where in which segment.

import {aliveAt, piecesAt} from './lane.js';

// The groups alive in a state, largest first: [{group, bytes, count, largest}].
export function holdersAt(lane, state, group) {
  const {size} = lane.allocations;
  const found = new Map();
  for (const i of aliveAt(lane, state)) {
    let holder = found.get(group[i]);
    if (!holder) found.set(group[i], (holder = {group: group[i], bytes: 0, count: 0, largest: i}));
    holder.bytes += size[i];
    holder.count += 1;
    if (size[i] > size[holder.largest]) holder.largest = i;
  }
  return [...found.values()].sort((a, b) => b.bytes - a.bytes);
}

// Segments of a state with the allocations in them, grouped by pool and stream:
//   [{pool, stream, bytes, used, segments: [{piece, address, size, used, blocks: [allocation]}]}]
// Mapped pieces of one expandable segment that touch are one segment.
export function segmentsAt(lane, state) {
  const segments = joinPieces(lane, piecesAt(lane, state));
  putBlocks(lane, segments, aliveAt(lane, state));
  const groups = new Map();
  for (const segment of segments) {
    const key = `${segment.pool}/${segment.stream}`;
    let group = groups.get(key);
    if (!group) {
      group = {pool: segment.pool, stream: segment.stream, bytes: 0, used: 0, segments: []};
      groups.set(key, group);
    }
    group.bytes += segment.size;
    group.used += segment.used;
    group.segments.push(segment);
  }
  return [...groups.values()].sort((a, b) => a.pool - b.pool || a.stream - b.stream);
}

function joinPieces(lane, held) {
  const {pieces} = lane;
  held.sort((a, b) => pieces.address[a] - pieces.address[b]);
  const segments = [];
  for (const i of held) {
    const last = segments[segments.length - 1];
    const touches =
      last &&
      last.expandable &&
      pieces.type[i] === 2 &&
      last.address + last.size === pieces.address[i] &&
      last.pool === pieces.pool[i] &&
      last.stream === pieces.stream[i];
    if (touches) {
      last.size += pieces.size[i];
    } else {
      segments.push({
        piece: i,
        address: pieces.address[i],
        size: pieces.size[i],
        used: 0,
        blocks: [],
        pool: pieces.pool[i],
        stream: pieces.stream[i],
        expandable: pieces.type[i] === 2,
      });
    }
  }
  return segments;
}

function putBlocks(lane, segments, alive) {
  const {address, size} = lane.allocations;
  alive.sort((a, b) => address[a] - address[b]);
  let at = 0;
  for (const i of alive) {
    while (at < segments.length && segments[at].address + segments[at].size <= address[i]) ++at;
    if (at === segments.length) return;
    if (address[i] < segments[at].address) continue;
    segments[at].blocks.push(i);
    segments[at].used += size[i];
  }
}

// The largest hole of a segment, in bytes.
export function largestHole(lane, segment) {
  const {address, size} = lane.allocations;
  let at = segment.address;
  let largest = 0;
  for (const i of segment.blocks) {
    largest = Math.max(largest, address[i] - at);
    at = Math.max(at, address[i] + size[i]);
  }
  return Math.max(largest, segment.address + segment.size - at);
}
