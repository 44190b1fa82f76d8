// What the page computes without a screen; run by node --test.
import assert from 'node:assert/strict';
import test from 'node:test';

import {AddressedPainter, pickByAddress} from './source/addressed.js';
import {addressOfOffset, closeHoles, offsetOfAddress} from './source/address_space.js';
import {readColumn} from './source/bytes.js';
import {sampleColumns, stateAtPosition} from './source/columns.js';
import {formatBytes, formatDuration, niceStep} from './source/format.js';
import {aliveAt, peakBetween, piecesAt} from './source/lane.js';
import {levelFor} from './source/levels.js';
import {largestHole, segmentsAt} from './source/moment.js';
import {PIXEL, shade} from './source/shade.js';
import {pickInStack, StackedPainter} from './source/stacked.js';
import {chooseScale, layTape, partAt} from './source/tape.js';
import {clampView, positionOf, wholeView, xOf, zoomX} from './source/view.js';
import {makeLane, randomLane} from './testing/lanes.mjs';

const SEED = Number(process.env.GRAPHTREE_SEED || Date.now() % 1e6);
console.log(`seed ${SEED} (GRAPHTREE_SEED repeats it)`);

// Who is alive in a state, straight from the definition.
function aliveByDefinition(lane, state) {
  const {start, end, count} = lane.allocations;
  return Array.from({length: count}, (_, i) => i).filter(
    (i) => start[i] < state && state <= end[i],
  );
}

test('columns: plain, delta and constant', () => {
  const bytes = Uint8Array.of(
    0x05,
    0xac,
    0x02,
    0x80,
    0x80,
    0x80,
    0x80,
    0x80,
    0x80,
    0x04,
    0x14,
    0x01,
  );
  const plain = {kind: 'plain', offset: 0, length: 10, count: 3};
  assert.deepEqual([...readColumn(bytes, plain, Float64Array)], [5, 300, 2 ** 44]);
  const delta = {kind: 'delta', offset: 10, length: 2, count: 2};
  assert.deepEqual([...readColumn(bytes, delta, Int32Array)], [10, 9]);
  assert.deepEqual(
    [...readColumn(bytes, {kind: 'constant', value: 7, count: 2}, Uint8Array)],
    [7, 7],
  );
  assert.throws(() => readColumn(bytes, {...plain, count: 4}, Float64Array), /ends after 3/);
  assert.throws(() => readColumn(bytes, {...plain, count: 2}, Float64Array), /too many/);
  assert.throws(() => readColumn(bytes, {...plain, length: 2, count: 2}, Float64Array), /inside/);
  assert.throws(() => readColumn(bytes, {kind: 'x', count: 1}, Float64Array), /unknown kind/);
});

test('a lane agrees with the definition in every state', () => {
  for (let round = 0; round < 20; ++round) {
    const lane = randomLane(SEED + round, 600);
    for (let state = 0; state <= lane.eventCount; state += 1 + (round % 7)) {
      const alive = aliveByDefinition(lane, state);
      assert.deepEqual(aliveAt(lane, state), alive);
      const bytes = alive.reduce((sum, i) => sum + lane.allocations.size[i], 0);
      assert.equal(lane.allocated[state], bytes);
    }
  }
});

test('keyframes do not change what is alive', () => {
  const lane = randomLane(SEED, 9000);
  assert.ok(lane.keyframes.lists.length > 5);
  for (const state of [0, 1023, 1024, 1025, 5000, 8191, 8192, lane.eventCount]) {
    assert.deepEqual(aliveAt(lane, state), aliveByDefinition(lane, state));
  }
});

test('the peak between two states is the largest', () => {
  const lane = randomLane(SEED, 3000);
  for (let k = 0; k < 400; ++k) {
    const from = (k * 7919) % lane.stateCount;
    const to = Math.min(lane.stateCount, from + 1 + ((k * 104729) % 700));
    const peak = peakBetween(lane, from, to);
    assert.ok(peak >= from && peak < to);
    assert.equal(lane.allocated[peak], Math.max(...lane.allocated.subarray(from, to)));
  }
});

test('columns show the peak of what they cover, and never go backwards', () => {
  const lane = randomLane(SEED, 5000);
  for (const axis of ['event', 'time']) {
    const length = axis === 'event' ? lane.stateCount : lane.times[lane.eventCount - 1] * 1.01;
    for (const width of [7, 100, 1333]) {
      const samples = sampleColumns(lane, axis, 0, length, width);
      for (let c = 1; c < width; ++c) assert.ok(samples[c] >= samples[c - 1]);
      assert.ok([...samples].some((s) => lane.allocated[s] === lane.allocated[lane.peakState]));
    }
    const outside = sampleColumns(lane, axis, -length, 2 * length, 30);
    assert.deepEqual([...outside.slice(0, 9)], Array(9).fill(-1));
    assert.deepEqual([...outside.slice(21)], Array(9).fill(-1));
  }
});

test('from afar columns show peaks of blocks, and the highest of all is among them', () => {
  const lane = randomLane(SEED + 1, 6000);
  assert.ok(lane.levels.length > 4);
  for (const width of [9, 40, 170]) {
    const level = levelFor(lane, 'event', 0, lane.stateCount, width);
    assert.ok(level.shift > 0);
    const samples = sampleColumns(lane, 'event', 0, lane.stateCount, width, level);
    const step = lane.stateCount / width;
    samples.forEach((state, c) => {
      assert.ok(c === 0 || state > samples[c - 1]);
      assert.ok(state >= c * step && state < (c + 1) * step + 2 ** level.shift);
    });
    const highest = Math.max(...samples.map((state) => lane.allocated[state]));
    assert.equal(highest, lane.allocated[lane.peakState]);
  }
  assert.equal(levelFor(lane, 'event', 100, 400, 300), lane.levels[0]);
  assert.equal(levelFor(lane, 'time', 0, 1e9, 10), lane.levels[0]);
});

test('what a level leaves out is not in its picture', () => {
  for (let round = 0; round < 6; ++round) {
    const lane = randomLane(SEED + 200 + round, 4000);
    for (const [from, to, width] of [
      [0, lane.stateCount, 50],
      [317, 3001, 40],
      [1999, 3999, 60],
    ]) {
      const level = levelFor(lane, 'event', from, to, width);
      assert.ok(level.born.length < lane.allocations.count);
      const samples = sampleColumns(lane, 'event', from, to, width, level);
      for (const painter of [new StackedPainter(lane), new AddressedPainter(lane)]) {
        const top = painter.space?.length ?? lane.mostHeld;
        const [few, all] = [level, lane.levels[0]].map((used) => {
          const ids = new Uint32Array(width * 300);
          painter.paint({bottom: 0, top}, samples, 300, ids, used);
          return ids;
        });
        assert.deepEqual(few, all);
      }
    }
  }
});

test('allocations of no size take no room and lose none', () => {
  const allocations = [];
  for (let k = 0; k < 40; ++k) {
    allocations.push({start: k, end: 40 + ((7 * k) % 40), address: 512 * k, size: k % 3 ? 0 : 512});
  }
  const lane = makeLane({events: 80, allocations, pieces: []});
  const top = lane.allocated[lane.peakState];
  const samples = sampleColumns(lane, 'event', 0, lane.stateCount, 80);
  for (const height of [4, 400]) {
    const ids = new Uint32Array(80 * height);
    new StackedPainter(lane).paint({bottom: 0, top}, samples, height, ids);
    samples.forEach((state, c) => {
      const painted = ids.subarray(c * height, (c + 1) * height).filter((id) => id >= 2).length;
      assert.equal(painted, Math.round((lane.allocated[state] * height) / top));
    });
  }
});

// The stack of each column, painted the slow way.
function paintByDefinition(lane, samples, height, top) {
  const ids = new Uint32Array(samples.length * height);
  samples.forEach((state, c) => {
    let bytes = 0;
    let row = 0;
    const put = (id, end) => {
      for (; row < Math.min(end, height); ++row) ids[c * height + height - 1 - row] = id;
    };
    for (const i of aliveByDefinition(lane, state)) {
      bytes += lane.allocations.size[i];
      put(i + PIXEL.firstAllocation, Math.round((bytes * height) / top));
    }
    put(PIXEL.free, Math.round((lane.reserved[state] * height) / top));
  });
  return ids;
}

test('the stacked picture is that of the definition where nothing is thin', () => {
  for (let round = 0; round < 10; ++round) {
    const lane = randomLane(SEED + 100 + round, 300, 1000);
    const top = Math.max(...lane.reserved, lane.allocated[lane.peakState]);
    const height = Math.ceil(top / 1000); // an allocation takes a pixel or more
    const samples = sampleColumns(lane, 'event', 20, 280, 90);
    const ids = new Uint32Array(90 * height);
    new StackedPainter(lane).paint({bottom: 0, top}, samples, height, ids);
    assert.deepEqual(ids, paintByDefinition(lane, samples, height, top));
  }
});

test('thin allocations keep the outline of the stack exact', () => {
  const lane = randomLane(SEED, 4000);
  const top = lane.allocated[lane.peakState];
  const samples = sampleColumns(lane, 'event', 0, lane.stateCount, 200);
  const height = 60;
  const ids = new Uint32Array(200 * height);
  new StackedPainter(lane).paint({bottom: 0, top}, samples, height, ids);
  samples.forEach((state, c) => {
    const column = ids.subarray(c * height, (c + 1) * height);
    const painted = column.filter((id) => id >= PIXEL.firstAllocation).length;
    assert.ok(Math.abs(painted - (lane.allocated[state] * height) / top) <= 1);
  });
});

test('what is picked is what is painted', () => {
  const lane = randomLane(SEED, 400, 1000);
  const top = lane.allocated[lane.peakState];
  const height = Math.ceil(top / 500);
  const samples = sampleColumns(lane, 'event', 0, lane.stateCount, 120);
  const stacked = new Uint32Array(120 * height);
  new StackedPainter(lane).paint({bottom: 0, top}, samples, height, stacked);
  const painter = new AddressedPainter(lane);
  const addressed = new Uint32Array(120 * 4096);
  const whole = {bottom: 0, top: painter.space.length};
  painter.paint(whole, samples, 4096, addressed);
  for (let c = 0; c < 120; ++c) {
    const alive = aliveAt(lane, samples[c]);
    for (let y = 0; y < height; y += 3) {
      const id = stacked[c * height + y];
      const picked = pickInStack(lane, alive, ((height - y - 0.5) * top) / height);
      assert.equal(picked, id >= 2 ? id - 2 : -1);
    }
    for (const i of alive) {
      const middle = painter.allocationOffset[i] + lane.allocations.size[i] / 2;
      assert.equal(pickByAddress(painter, alive, middle), i);
      const row = 4095 - Math.floor((middle * 4096) / whole.top);
      if (lane.allocations.size[i] * 4096 > 3 * whole.top) {
        assert.equal(addressed[c * 4096 + row], i + PIXEL.firstAllocation);
      }
    }
  }
});

test('holes between ranges are closed, and addresses come back', () => {
  const space = closeHoles({count: 4, address: [1000, 5000, 1100, 5000], size: [100, 50, 20, 60]});
  assert.deepEqual(
    space.ranges.map(({from, to, offset}) => [from, to, offset]),
    [
      [1000, 1120, 0],
      [5000, 5060, 120],
    ],
  );
  assert.equal(space.length, 180);
  for (const address of [1000, 1119, 5000, 5059]) {
    assert.equal(addressOfOffset(space, offsetOfAddress(space, address)), address);
  }
  for (const address of [999, 1120, 4999, 5060]) assert.equal(offsetOfAddress(space, address), -1);
});

test('segments of a moment hold their blocks, and mapped pieces that touch are one', () => {
  const lane = makeLane({
    events: 6,
    pieces: [
      {start: -1, end: 6, address: 0, size: 100},
      {start: 0, end: 6, address: 500, size: 50, type: 2},
      {start: 1, end: 4, address: 550, size: 50, type: 2},
    ],
    allocations: [
      {start: -1, end: 6, address: 20, size: 30},
      {start: 2, end: 5, address: 540, size: 40},
    ],
  });
  const [group] = segmentsAt(lane, 4);
  assert.deepEqual(
    group.segments.map((s) => [s.address, s.size, s.used]),
    [
      [0, 100, 30],
      [500, 100, 40],
    ],
  );
  assert.equal(largestHole(lane, group.segments[0]), 50);
  assert.equal(largestHole(lane, group.segments[1]), 40);
  assert.deepEqual(piecesAt(lane, 0), [0]);
  assert.equal(segmentsAt(lane, 5)[0].segments[1].size, 50);
});

test('a tape is to scale and nothing is lost at its folds', () => {
  const segments = [300, 5, 1000, 40].map((size, k) => ({size, address: k * 1e6}));
  const groups = [{bytes: 1345, segments}];
  const scale = chooseScale(groups, 100, 200, 1);
  const tape = layTape(groups, 100, scale);
  for (const segment of segments) {
    const parts = tape.parts.filter((part) => part.segment === segment);
    assert.equal(parts[0].from, 0);
    assert.equal(parts[parts.length - 1].to, segment.size);
    parts.forEach((part, k) => k > 0 && assert.equal(part.from, parts[k - 1].to));
    for (const part of parts) {
      assert.ok(part.x + part.width <= 101);
      assert.equal(partAt(tape, part.x + part.width / 2, part.y + 1), part);
    }
  }
});

test('shading draws an edge where one allocation ends and another begins', () => {
  const ids = Uint32Array.of(2, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3, 3);
  const out = new Uint32Array(18);
  shade(ids, 3, 6, Uint32Array.of(0, 0, 0xff808080, 0xff404040), out);
  assert.deepEqual(
    [out[0], out[3], out[9] >>> 0, out[12] >>> 0],
    [0xff808080, 0xff808080, 0xff303030, 0xff404040],
  );
});

test('a view zooms around a point and stays inside', () => {
  const whole = wholeView(1000, 500);
  const near = zoomX(whole, 4, 250);
  assert.equal(xOf(near, 800, 250), xOf(whole, 800, 250));
  assert.equal(positionOf(near, 800, xOf(near, 800, 300)), 300);
  assert.deepEqual(clampView({from: -50, to: 20, bottom: -9, top: 900}, 1000, 500, 8), {
    from: 0,
    to: 70,
    bottom: 0,
    top: 500,
  });
  assert.deepEqual(clampView({from: 990, to: 991, bottom: 0, top: 500}, 1000, 500, 8), {
    from: 990,
    to: 998,
    bottom: 0,
    top: 500,
  });
  assert.equal(stateAtPosition(randomLane(SEED, 50), 'event', 1e9), 50);
});

test('numbers as people read them', () => {
  assert.deepEqual([0, 1023, 1536, 1048576, 235929600, 1.5 * 2 ** 40].map(formatBytes), [
    '0 B',
    '1 KiB',
    '1.5 KiB',
    '1 MiB',
    '225 MiB',
    '1.5 TiB',
  ]);
  assert.deepEqual([5, 1500, 2.5e6, 61e6, 3.7e9].map(formatDuration), [
    '5 µs',
    '1.5 ms',
    '2.5 s',
    '1 min 1 s',
    '1 h 1 min',
  ]);
  assert.equal(niceStep(1000, 5, false), 200);
  assert.equal(niceStep(300 * 1024, 5, true), 64 * 1024);
});
