// The search box: words that an allocation must satisfy, all of them.
//
//   attention            its stack contains the text (also names of pools, notes, regions)
//   0x7f32a0000000       its range contains the address
//   >10M   <4K   =2M     its size
//   size:1M..8M          its size, between
//   pool:1,0  stream:0   its pool, its stream
//   alive  freed         whether it was alive at the end
//   -word                not the word
//
// A query becomes one function from allocation to yes or no.

import {poolName, streamName} from './groups.js';

const SCALE = {'': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4};

// "1.5M", "4kib" -> bytes; NaN where it is not a size.
export function parseBytes(text) {
  const found = /^([\d.]+)\s*([bkmgt]?)(?:i?b)?$/i.exec(text.trim());
  return found ? Number(found[1]) * SCALE[found[2].toLowerCase()] : NaN;
}

// Splits at blanks, but not inside double quotes.
export function splitWords(query) {
  return [...query.matchAll(/(-?)(?:"([^"]*)"|(\S+))/g)]
    .map(([, minus, quoted, plain]) => ({not: minus === '-', text: quoted ?? plain}))
    .filter(({text}) => text !== undefined && text !== '');
}

// Returns (lane -> allocation -> boolean), or null for an empty query.
export function compileQuery(query, snapshot) {
  const words = splitWords(query).map((word) => ({
    ...word,
    make: compileWord(word.text, snapshot),
  }));
  if (words.length === 0) return null;
  return (lane) => {
    const tests = words.map(({not, make}) => {
      const test = make(lane);
      return not ? (i) => !test(i) : test;
    });
    return (i) => tests.every((test) => test(i));
  };
}

function compileWord(text, snapshot) {
  return (
    addressWord(text) ||
    sizeWord(text) ||
    fateWord(text) ||
    namedWord(text, snapshot) ||
    textWord(text, snapshot)
  );
}

function addressWord(text) {
  if (!/^0x[0-9a-f]+$/i.test(text)) return null;
  const wanted = BigInt(text);
  return (lane) => {
    const at = Number(wanted - lane.addressBase);
    const {address, size} = lane.allocations;
    return (i) => at >= address[i] && at < address[i] + Math.max(size[i], 1);
  };
}

function sizeWord(text) {
  const between = /^(?:size:)?([\d.]+\w*)\.\.([\d.]+\w*)$/i.exec(text);
  if (between) return sizeTest(parseBytes(between[1]), parseBytes(between[2]));
  const compare = /^(?:size:?)?(<=?|>=?|=)([\d.]+\w*)$/i.exec(text);
  if (!compare) return null;
  const bytes = parseBytes(compare[2]);
  switch (compare[1]) {
    case '<':
      return sizeTest(0, bytes - 1);
    case '<=':
      return sizeTest(0, bytes);
    case '>':
      return sizeTest(bytes + 1, Infinity);
    case '>=':
      return sizeTest(bytes, Infinity);
    default:
      return sizeTest(bytes, bytes);
  }
}

function sizeTest(low, high) {
  if (Number.isNaN(low) || Number.isNaN(high)) return null;
  return (lane) => {
    const {size} = lane.allocations;
    return (i) => size[i] >= low && size[i] <= high;
  };
}

function fateWord(text) {
  const word = text.toLowerCase();
  if (word !== 'alive' && word !== 'freed') return null;
  return (lane) => {
    const {end} = lane.allocations;
    return word === 'alive' ? (i) => end[i] === lane.eventCount : (i) => end[i] < lane.eventCount;
  };
}

function namedWord(text, snapshot) {
  const found = /^(pool|stream|node):(.+)$/i.exec(text);
  if (!found) return null;
  const column = found[1].toLowerCase();
  const wanted = found[2].toLowerCase();
  const hits = {
    pool: () => snapshot.pools.map((pair) => String(pair) === wanted.replace(/[()\s]/g, '')),
    stream: () => snapshot.streams.map((name) => name === wanted),
    node: () => [false, ...snapshot.nodes.map((name) => name.toLowerCase().includes(wanted))],
  }[column]();
  return (lane) => {
    const values = lane.allocations[column];
    return (i) => Boolean(hits[values[i]]);
  };
}

function textWord(text, snapshot) {
  const needle = text.toLowerCase();
  const stackHit = snapshot.stacks.matching(needle);
  const stringHit = snapshot.strings.map((s) => s !== '' && s.toLowerCase().includes(needle));
  const poolHit = snapshot.pools.map((_, p) => poolName(snapshot, p).includes(needle));
  const streamHit = snapshot.streams.map((_, s) => streamName(snapshot, s).includes(needle));
  const nodeHit = [false, ...snapshot.nodes.map((name) => name.toLowerCase().includes(needle))];
  return (lane) => {
    const {stack, context, metadata, pool, stream, node} = lane.allocations;
    const noted = new Set(
      [...lane.notes]
        .filter(([, notes]) => notes.some((note) => note.toLowerCase().includes(needle)))
        .map(([i]) => i),
    );
    return (i) =>
      Boolean(
        stackHit[stack[i]] ||
        stringHit[context[i]] ||
        stringHit[metadata[i]] ||
        poolHit[pool[i]] ||
        streamHit[stream[i]] ||
        nodeHit[node[i]] ||
        noted.has(i),
      );
  };
}

// Everything that matches, and the bytes of it that are alive in a state.
export function findMatches(lane, test) {
  const hits = [];
  let bytes = 0;
  for (let i = 0; i < lane.allocations.count; ++i) {
    if (!test(i)) continue;
    hits.push(i);
    bytes += lane.allocations.size[i];
  }
  return {hits, bytes};
}
