// The tab about what is pinned.

import {h} from './dom.js';
import {factList, momentText, stackList} from './describe.js';
import {formatBytes, formatCount, formatPlural} from './format.js';

export function renderAllocation(app) {
  const pane = app.focusPane();
  const pinned = pane.pinned;
  if (!pinned || pinned.allocation < 0) return renderNothing(pane, pinned);
  const i = pinned.allocation;
  const {snapshot, lane} = pane;
  const stack = lane.allocations.stack[i];
  const title = snapshot.stacks.title(stack);
  return [
    h(
      'h2',
      {},
      h('span', {class: 'swatch', style: `background:${app.cssColourOf(pane, i)}`}),
      `${formatBytes(lane.allocations.size[i])} `,
      h('small', {}, title),
    ),
    factList(pane, i),
    h(
      'div',
      {class: 'actions'},
      h('button', {onclick: () => pane.reveal(i)}, 'Show its life'),
      h('button', {onclick: () => app.search(quote(lastUserFrame(title)))}, 'Find the same source'),
      h(
        'button',
        {onclick: () => navigator.clipboard?.writeText(snapshot.stacks.text(stack))},
        'Copy stack',
      ),
    ),
    siblings(pane, i, stack),
    h('h3', {}, 'Allocated by'),
    stackList(pane, stack),
  ];
}

function lastUserFrame(title) {
  const file = /(\S+:\d+)$/.exec(title);
  if (file) return file[1];
  const name = /(\w+Backward\w*)/.exec(title);
  return name ? name[1] : title;
}

function quote(text) {
  return text.includes(' ') ? `"${text}"` : text;
}

// How much the same stack allocated in all, and holds now.
function siblings(pane, i, stack) {
  const {allocations, eventCount} = pane.lane;
  const state = Math.min(pane.state(), eventCount);
  let count = 0;
  let alive = 0;
  let bytes = 0;
  for (let k = 0; k < allocations.count; ++k) {
    if (allocations.stack[k] !== stack) continue;
    ++count;
    if (allocations.start[k] >= state || allocations.end[k] < state) continue;
    ++alive;
    bytes += allocations.size[k];
  }
  return h(
    'p',
    {class: 'dim'},
    `This stack made ${formatPlural(count, 'allocation', 'allocations')}; ` +
      `${formatBytes(bytes)} in ${formatCount(alive)} of them are in use at the chosen moment.`,
  );
}

function renderNothing(pane, pinned) {
  const what = pinned
    ? `Pinned: ${momentText(pane.lane, pinned.state)}. Nothing is allocated there.`
    : 'Click a band of the timeline or a block of the map to pin it here.';
  return [h('p', {class: 'dim'}, what), h('h3', {}, 'How to look around'), helpTable()];
}

export function helpTable() {
  const rows = [
    ['Wheel, pinch', 'zoom along time'],
    ['Shift + wheel', 'stretch upwards'],
    ['Drag', 'move'],
    ['Double click', 'zoom in'],
    ['Click, tap', 'pin an allocation'],
    ['← →  + −', 'move, zoom'],
    ['↑ ↓', 'stretch, move up'],
    ['[ ]', 'one event back, forward'],
    ['p  o  e', 'go to the peak, the failure, the end'],
    ['n  N', 'next, previous match'],
    ['c  l  t', 'next colouring, layout, axis'],
    ['/', 'search'],
    ['0', 'show everything'],
    ['Esc', 'unpin, clear'],
  ];
  return h(
    'table',
    {class: 'help'},
    rows.map(([keys, what]) => h('tr', {}, h('td', {}, h('kbd', {}, keys)), h('td', {}, what))),
  );
}
