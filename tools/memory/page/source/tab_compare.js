// The tab that sets two snapshots side by side: what each group holds in one and in the other.

import {compareHolders} from './compare.js';
import {h} from './dom.js';
import {momentText} from './describe.js';
import {formatBytes, formatCount} from './format.js';

const MOST_ROWS = 200;

export function renderCompare(app) {
  const sides = app.panes.map((pane) => ({
    pane,
    lane: pane.lane,
    state: pane.pinned || pane.hover ? pane.state() : pane.lane.eventCount,
    ...app.groupsOf(pane),
  }));
  const rows = compareHolders(sides);
  const total = sides.map(({lane, state}) => lane.allocated[state]);
  return [
    h(
      'p',
      {},
      h('b', {}, signed(total[1] - total[0])),
      ` from ${formatBytes(total[0])} to ` + formatBytes(total[1]),
    ),
    ...sides.map(({pane, lane, state}) =>
      h(
        'p',
        {class: 'dim'},
        `${pane.snapshot.file}: ` +
          (state === lane.eventCount ? 'at its end' : momentText(lane, state)),
      ),
    ),
    h(
      'table',
      {class: 'compare'},
      h(
        'tr',
        {},
        h('th', {}, 'Change'),
        h('th', {}, 'Before'),
        h('th', {}, 'After'),
        h('th', {}, ''),
      ),
      rows.slice(0, MOST_ROWS).map((row) => compareRow(app, row)),
    ),
  ];
}

function signed(bytes) {
  return bytes > 0 ? `+${formatBytes(bytes)}` : formatBytes(bytes);
}

function compareRow(app, {name, bytes, counts}) {
  const change = bytes[1] - bytes[0];
  return h(
    'tr',
    {
      class: app.isFocused(name) ? 'chosen' : undefined,
      tabindex: 0,
      onclick: () => app.toggleFocus(name),
      onkeydown: (e) => e.key === 'Enter' && app.toggleFocus(name),
    },
    h(
      'td',
      {class: `number ${change > 0 ? 'more' : change < 0 ? 'less' : 'dim'}`},
      change === 0 ? '=' : signed(change),
    ),
    h(
      'td',
      {class: 'number', title: `${formatCount(counts[0])} allocations`},
      formatBytes(bytes[0]),
    ),
    h(
      'td',
      {class: 'number', title: `${formatCount(counts[1])} allocations`},
      formatBytes(bytes[1]),
    ),
    h(
      'td',
      {},
      h('span', {class: 'swatch', style: `background:${app.cssColourOfName(name)}`}),
      name,
      h('span', {class: 'dim'}, ` ${formatCount(counts[0])} → ${formatCount(counts[1])}`),
    ),
  );
}
