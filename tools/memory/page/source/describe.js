// What the page says about one allocation, as elements.

import {h} from './dom.js';
import {
  formatAddress,
  formatBytes,
  formatCount,
  formatDuration,
  formatExactBytes,
  formatMoment,
  formatPercent,
} from './format.js';
import {poolName, streamName} from './groups.js';
import {largestHole} from './moment.js';
import {isPlumbing, placeOf, shortName} from './stacks.js';

export function lifetime(lane, i) {
  const {start, end, requested} = lane.allocations;
  const born = start[i] < 0 ? null : lane.times[start[i]];
  const died = end[i] === lane.eventCount ? null : lane.times[end[i]];
  const asked = requested[i] === lane.eventCount ? null : lane.times[requested[i]];
  return {born, died, asked};
}

function lifetimeText(lane, i) {
  const {born, died} = lifetime(lane, i);
  if (born === null && died === null) return 'older than the history, still alive';
  if (born === null) return `older than the history, freed at ${formatDuration(died)}`;
  if (died === null) return `since ${formatDuration(born)}, still alive`;
  return `${formatDuration(died - born)}, from ${formatDuration(born)} to ${formatDuration(died)}`;
}

// Two or three lines for the tooltip.
export function tooltipFor(pane, i) {
  const {lane, snapshot} = pane;
  const {size, address, stack, pool} = lane.allocations;
  return [
    h('b', {}, formatBytes(size[i])),
    ` at ${formatAddress(lane.addressBase, address[i])}`,
    h('div', {class: 'who'}, snapshot.stacks.title(stack[i])),
    h('div', {class: 'dim'}, `${poolName(snapshot, pool[i])} · ${lifetimeText(lane, i)}`),
  ];
}

export function tooltipForHole(pane, segment, at) {
  return [
    h('b', {}, 'free'),
    ` at ${formatAddress(pane.lane.addressBase, at)}`,
    h(
      'div',
      {class: 'dim'},
      `in a segment of ${formatBytes(segment.size)}, ` +
        `${formatPercent(segment.used, segment.size) || '0 %'} in use, largest hole ` +
        formatBytes(largestHole(pane.lane, segment)),
    ),
  ];
}

export function tooltipForMoment(pane, state) {
  const {lane} = pane;
  return [
    h('b', {}, `${formatBytes(lane.allocated[state])} in use`),
    ` of ${formatBytes(lane.reserved[state])} reserved`,
    h('div', {class: 'dim'}, momentText(lane, state)),
  ];
}

export function momentText(lane, state) {
  if (state === 0) return 'before the first event';
  return (
    `event ${formatCount(state - 1)} of ${formatCount(lane.eventCount)}, ` +
    `${formatDuration(lane.times[state - 1])} after the start`
  );
}

function waitText(died, waited) {
  return died === null ? ', not done yet' : `, done ${formatDuration(waited)} later`;
}

function facts(pane, i) {
  const {lane, snapshot} = pane;
  const {allocations} = lane;
  const {born, died, asked} = lifetime(lane, i);
  const waited = asked !== null && died !== null ? died - asked : 0;
  const text = (id) => snapshot.strings[id] || null;
  return [
    ['Size', formatExactBytes(allocations.size[i])],
    ['Address', formatAddress(lane.addressBase, allocations.address[i])],
    ['Lived', lifetimeText(lane, i)],
    ['Allocated at', born === null ? null : formatMoment(lane.timeBase + born)],
    [
      'Free asked',
      asked !== null && (died === null || waited > 50)
        ? `${formatDuration(asked)}${waitText(died, waited)}`
        : null,
    ],
    ['Pool', poolName(snapshot, allocations.pool[i])],
    ['Stream', streamName(snapshot, allocations.stream[i])],
    ['Tree node', allocations.node[i] ? snapshot.nodes[allocations.node[i] - 1] : null],
    ['Region', text(allocations.context[i])],
    ['Metadata', text(allocations.metadata[i])],
    ...(lane.notes.get(i) || []).map((note) => ['Note', note]),
  ].filter(([, value]) => value !== null);
}

export function factList(pane, i) {
  return h(
    'dl',
    {},
    facts(pane, i).flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  );
}

// The frames, innermost first; plumbing is folded away until asked for.
export function stackList(pane, stack) {
  const frames = pane.snapshot.stacks.framesOf(stack);
  if (frames.length === 0) return h('p', {class: 'dim'}, 'No stack was recorded for it.');
  const list = h(
    'ol',
    {class: 'stack'},
    frames.map((frame) =>
      h(
        'li',
        {class: isPlumbing(frame) ? 'plumbing' : undefined},
        h('span', {class: 'name', title: frame.name}, shortName(frame.name)),
        h('span', {class: 'file'}, placeOf(frame)),
      ),
    ),
  );
  const hidden = frames.filter(isPlumbing).length;
  if (hidden === 0 || hidden === frames.length) {
    list.classList.add('all');
    return list;
  }
  const toggle = h(
    'button',
    {
      class: 'link',
      onclick: () => {
        const all = list.classList.toggle('all');
        toggle.textContent = all ? 'Hide plumbing' : `Show ${hidden} frames of plumbing`;
      },
    },
    `Show ${hidden} frames of plumbing`,
  );
  return h('div', {}, list, toggle);
}
