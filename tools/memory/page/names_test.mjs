// Stacks, groups, search and the comparison of two snapshots; run by node --test.
import assert from 'node:assert/strict';
import test from 'node:test';

import {groupLane, poolName, rankGroups} from './source/groups.js';
import {compileQuery, findMatches, parseBytes, splitWords} from './source/search.js';
import {frameText, isPlumbing, shortName, Stacks} from './source/stacks.js';
import {compareHolders} from './source/compare.js';
import {holdersAt} from './source/moment.js';
import {makeLane} from './testing/lanes.mjs';

// Stack 3: forward <- train <- main. Stack 5: mm <- backward. Stack 6: a C++ library.
function sampleStacks() {
  const strings = [
    '',
    'main',
    'train.py',
    'train',
    'forward',
    'model/net.py',
    'at::_ops::mm::call(int)',
    '??',
    'torch::autograd::generated::MmBackward0::apply(x)',
    '_PyEval_EvalFrameDefault',
    'ns::(anonymous namespace)::f<int>(char)',
    '/opt/lib/libx.so',
    'malloc',
    'torch/nn/module.py',
  ];
  const frames = [1, 2, 10, 3, 2, 20, 4, 5, 30, 6, 7, 0, 8, 7, 0, 9, 7, 0, 10, 11, 4096, 12, 13, 7];
  //             frame:  0 main   1 train   2 forward  3 mm   4 MmBackward  5 eval  6 lib  7 malloc
  const parent = [0, 0, 1, 2, 0, 4, 0, 3];
  const frame = [0, 0, 1, 2, 4, 3, 6, 7];
  return new Stacks(strings, frames, parent, frame);
}

function sampleSnapshot() {
  const stacks = sampleStacks();
  const lane = makeLane({
    events: 6,
    allocations: [
      {start: -1, end: 6, address: 0, size: 4096, stack: 3, pool: 0, stream: 0},
      {start: 0, end: 4, address: 8192, size: 2 ** 20, stack: 5, pool: 1, stream: 1, node: 2},
      {
        start: 1,
        end: 6,
        address: 2 ** 22,
        size: 3 * 2 ** 20,
        stack: 5,
        pool: 1,
        stream: 1,
        node: 1,
      },
      {start: 2, end: 3, address: 2 ** 24, size: 100, stack: 7, pool: 2, stream: 0, metadata: 12},
    ],
  });
  lane.notes = new Map([[0, ['Weights of layer 1']]]);
  return {
    file: 'a.pickle',
    stacks,
    strings: stacks.strings,
    pools: [[0, 0], [3, 0], null],
    streams: ['0', '77'],
    nodes: ['decode', 'prefill'],
    lanes: [lane],
  };
}

function hits(query) {
  const snapshot = sampleSnapshot();
  const [lane] = snapshot.lanes;
  return findMatches(lane, compileQuery(query, snapshot)(lane)).hits;
}

test('a stack is its innermost frame and the stack that called it', () => {
  const stacks = sampleStacks();
  assert.deepEqual(
    stacks.framesOf(3).map((frame) => frame.name),
    ['forward', 'train', 'main'],
  );
  assert.deepEqual(stacks.framesOf(0), []);
  assert.equal(stacks.text(2), 'train.py:20 train\ntrain.py:10 main');
});

test('titles name the operator and the line that a person wrote', () => {
  const stacks = sampleStacks();
  assert.equal(stacks.title(3), 'forward model/net.py:30');
  assert.equal(stacks.title(5), 'mm ← MmBackward0 (autograd)');
  assert.equal(stacks.title(7), 'forward model/net.py:30', 'library code is not the culprit');
  assert.equal(stacks.title(6), 'ns::f lib/libx.so');
  assert.equal(stacks.title(0), '(no stack recorded)');
});

test('frames', () => {
  assert.ok(isPlumbing({name: '_PyEval_EvalFrameDefault', file: '??'}));
  assert.ok(isPlumbing({name: 'x', file: 'aten/src/core/boxing/y.h'}));
  assert.ok(!isPlumbing({name: 'forward', file: 'model.py'}));
  assert.equal(frameText({name: 'f', file: '/a/libx.so', line: 4096}), '/a/libx.so+0x1000 f');
  assert.equal(frameText({name: 'f', file: '??', line: 0}), 'f');
  assert.equal(shortName('ns::(anonymous namespace)::f<int>(char)'), 'ns::f');
});

test('a stack matches where any of its frames does', () => {
  const found = [...sampleStacks().matching('train')];
  assert.deepEqual(found, [0, 1, 1, 1, 0, 0, 0, 1]);
});

test('queries', () => {
  assert.deepEqual(hits('forward'), [0, 3]);
  assert.deepEqual(hits('MMBACKWARD'), [1, 2]);
  assert.deepEqual(hits('>1M'), [2]);
  assert.deepEqual(hits('>=1M'), [1, 2]);
  assert.deepEqual(hits('<4K'), [3]);
  assert.deepEqual(hits('=4KiB'), [0]);
  assert.deepEqual(hits('size:100..1M'), [0, 1, 3]);
  assert.deepEqual(hits('alive'), [0, 2]);
  assert.deepEqual(hits('freed -mm'), [3]);
  assert.deepEqual(hits('0x7f0000000000'), [0]);
  assert.deepEqual(hits('0x7f0000000fff'), [0]);
  assert.deepEqual(hits('0x7f0000001000'), []);
  assert.deepEqual(hits('pool:3,0'), [1, 2]);
  assert.deepEqual(hits('stream:77 >1M'), [2]);
  assert.deepEqual(hits('node:pre'), [1]);
  assert.deepEqual(hits('"weights of layer"'), [0]);
  assert.deepEqual(hits('"pool not recorded"'), [3], 'the name of a pool');
  assert.deepEqual(hits('malloc'), [3]);
  assert.deepEqual(hits('nothing-like-this'), []);
  assert.equal(compileQuery('  ', sampleSnapshot()), null);
});

test('words and sizes', () => {
  assert.deepEqual(splitWords('a -"b c" d'), [
    {not: false, text: 'a'},
    {not: true, text: 'b c'},
    {not: false, text: 'd'},
  ]);
  assert.deepEqual(['1k', '1.5MiB', '2gb', '7'].map(parseBytes), [1024, 1572864, 2 ** 31, 7]);
  assert.ok(Number.isNaN(parseBytes('x')));
});

test('groups hold what their members held at most at a time', () => {
  const snapshot = sampleSnapshot();
  const [lane] = snapshot.lanes;
  const grouped = groupLane(snapshot, lane, 'stack');
  assert.deepEqual(grouped.names, ['forward model/net.py:30', 'mm ← MmBackward0 (autograd)']);
  assert.deepEqual([...grouped.group], [0, 1, 1, 0], 'stacks of one title are one group');
  assert.deepEqual([...grouped.peaks], [4196, 4 * 2 ** 20]);
  const {kept, rest} = rankGroups([grouped], false, 1);
  assert.equal(kept[0].name, 'mm ← MmBackward0 (autograd)');
  assert.equal(rest.length, 1);
  assert.equal(poolName(snapshot, 1), 'graph pool (3, 0)');
  assert.deepEqual(groupLane(snapshot, lane, 'node').names, ['no node', 'prefill', 'decode']);
  assert.deepEqual(groupLane(snapshot, lane, 'pool').names, [
    'default pool',
    'graph pool (3, 0)',
    'pool not recorded',
  ]);
});

test('sizes keep their order in the legend', () => {
  const snapshot = sampleSnapshot();
  const grouped = groupLane(snapshot, snapshot.lanes[0], 'size');
  assert.deepEqual(
    rankGroups([grouped], true, 9).kept.map(({name}) => name),
    ['below 1 KiB', '4 KiB to 16 KiB', '1 MiB to 4 MiB'],
  );
});

test('holders of a moment', () => {
  const snapshot = sampleSnapshot();
  const [lane] = snapshot.lanes;
  const {group} = groupLane(snapshot, lane, 'stack');
  assert.deepEqual(
    holdersAt(lane, 3, group).map(({bytes, count, largest}) => [bytes, count, largest]),
    [
      [4 * 2 ** 20, 2, 2],
      [4196, 2, 0],
    ],
  );
});

test('two snapshots are compared by name', () => {
  const before = sampleSnapshot();
  const after = sampleSnapshot();
  const side = (snapshot, state) => ({
    lane: snapshot.lanes[0],
    state,
    ...groupLane(snapshot, snapshot.lanes[0], 'stack'),
  });
  const rows = compareHolders([side(before, 0), side(after, 3)]);
  assert.deepEqual(
    rows.map(({name, bytes}) => [name, ...bytes]),
    [
      ['mm ← MmBackward0 (autograd)', 0, 4 * 2 ** 20],
      ['forward model/net.py:30', 4096, 4196],
    ],
  );
});
