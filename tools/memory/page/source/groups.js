// Ways to put allocations into groups, which are what colours stand for.
//
// A grouping gives every allocation a group number and every group a name. Groups are ranked by the
// most bytes that they ever held at once, so that the colours go to those that matter; what is left
// shares one colour. The same name is the same group in every snapshot of the page.

import {formatBytes} from './format.js';
import {EVENT} from './lane.js';

export const GROUPINGS = {
  pool: {label: 'Pool', keys: byPool},
  stack: {label: 'Allocated by', keys: byTitle},
  node: {label: 'Tree node', keys: byNode, needs: (snapshot) => snapshot.nodes.length > 0},
  stream: {label: 'Stream', keys: byStream},
  size: {label: 'Size', keys: bySize, ordered: true},
  context: {
    label: 'Compiled region',
    keys: byText('context'),
    needs: (snapshot) => hasText(snapshot, 'context'),
  },
  metadata: {
    label: 'Metadata',
    keys: byText('metadata'),
    needs: (snapshot) => hasText(snapshot, 'metadata'),
  },
  fate: {label: 'Alive at the end', keys: byFate, ordered: true},
};

export function poolName(snapshot, pool) {
  const pair = snapshot.pools[pool];
  if (!pair) return 'pool not recorded';
  const [first, second] = pair;
  if (first === 0 && second === 0) return 'default pool';
  return first !== 0 ? `graph pool (${first}, ${second})` : `pool (${first}, ${second})`;
}

export function streamName(snapshot, stream) {
  const name = snapshot.streams[stream];
  return name === '0' || name === undefined ? 'default stream' : `stream ${name}`;
}

// A keying function returns {of: allocation -> small number, name: number -> text}.
function byPool(snapshot, lane) {
  const {pool} = lane.allocations;
  return {of: (i) => pool[i], name: (key) => poolName(snapshot, key)};
}

function byTitle(snapshot, lane) {
  const {stack} = lane.allocations;
  return {of: (i) => stack[i], name: (key) => snapshot.stacks.title(key)};
}

function byNode(snapshot, lane) {
  const {node} = lane.allocations;
  return {of: (i) => node[i], name: (key) => (key === 0 ? 'no node' : snapshot.nodes[key - 1])};
}

function byStream(snapshot, lane) {
  const {stream} = lane.allocations;
  return {of: (i) => stream[i], name: (key) => streamName(snapshot, key)};
}

function bySize(snapshot, lane) {
  const {size} = lane.allocations;
  const step = (key) => formatBytes(4 ** key);
  return {
    of: (i) => Math.max(4, Math.floor(Math.log2(Math.max(size[i], 1)) / 2)),
    name: (key) => (key === 4 ? 'below 1 KiB' : `${step(key)} to ${step(key + 1)}`),
  };
}

function byText(column) {
  return (snapshot, lane) => {
    const values = lane.allocations[column];
    return {of: (i) => values[i], name: (key) => snapshot.strings[key] || '(none)'};
  };
}

function byFate(snapshot, lane) {
  const {end} = lane.allocations;
  return {
    of: (i) => (end[i] === lane.eventCount ? 0 : 1),
    name: (key) => (key === 0 ? 'alive at the end' : 'freed'),
  };
}

function hasText(snapshot, column) {
  return snapshot.lanes.some((lane) => lane.allocations[column].some((value) => value !== 0));
}

// Every allocation's group in one lane: numbers into `names`.
export function groupLane(snapshot, lane, grouping) {
  const {of, name} = GROUPINGS[grouping].keys(snapshot, lane);
  const {count} = lane.allocations;
  const group = new Uint32Array(count);
  const byKey = new Map();
  const byName = new Map();
  const names = [];
  for (let i = 0; i < count; ++i) {
    const key = of(i);
    let found = byKey.get(key);
    if (found === undefined) {
      const text = name(key);
      found = byName.get(text);
      if (found === undefined) {
        found = names.push(text) - 1;
        byName.set(text, found);
      }
      byKey.set(key, found);
    }
    group[i] = found;
  }
  return {group, names, peaks: peaksOf(lane, group, names.length)};
}

// The most bytes that each group held at one time.
function peaksOf(lane, group, groupCount) {
  const {allocations, subject, kinds, eventCount} = lane;
  const now = new Float64Array(groupCount);
  const peak = new Float64Array(groupCount);
  for (let i = 0; i < allocations.count && allocations.start[i] < 0; ++i) {
    now[group[i]] += allocations.size[i];
  }
  peak.set(now);
  for (let event = 0; event < eventCount; ++event) {
    const i = subject[event];
    const kind = kinds[event];
    if (i < 0 || kind === EVENT.freeRequested || kind > EVENT.freeAssumed) continue;
    const g = group[i];
    if (kind === EVENT.alloc) {
      now[g] += allocations.size[i];
      if (now[g] > peak[g]) peak[g] = now[g];
    } else {
      now[g] -= allocations.size[i];
    }
  }
  return peak;
}

// The names that get a colour of their own, over all lanes of the page: those with the largest
// peaks, or in order of their size for groupings that have one.
export function rankGroups(groupedLanes, ordered, limit) {
  const peaks = new Map();
  for (const {names, peaks: values} of groupedLanes) {
    names.forEach((name, g) => peaks.set(name, Math.max(peaks.get(name) || 0, values[g])));
  }
  const ranked = [...peaks].map(([name, peak]) => ({name, peak}));
  ranked.sort((a, b) => b.peak - a.peak || (a.name < b.name ? -1 : 1));
  const kept = ranked.slice(0, limit);
  if (ordered) kept.sort((a, b) => sortKey(a.name) - sortKey(b.name) || (a.name < b.name ? -1 : 1));
  return {kept, rest: ranked.slice(limit)};
}

// "4 KiB to 16 KiB" -> 4096, so that sizes stand in their order.
function sortKey(name) {
  const found = /^([\d.]+) (B|KiB|MiB|GiB|TiB) to/.exec(name);
  if (!found) return -1;
  return Number(found[1]) * 1024 ** ['B', 'KiB', 'MiB', 'GiB', 'TiB'].indexOf(found[2]);
}
