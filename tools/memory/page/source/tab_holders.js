// The tab that says who held the memory at the moment shown.

import {h} from './dom.js';
import {momentText} from './describe.js';
import {formatBytes, formatCount, formatPercent} from './format.js';
import {holdersAt} from './moment.js';

const MOST_ROWS = 100;

export function renderHolders(app) {
  const pane = app.focusPane();
  const {group, names} = app.groupsOf(pane);
  const state = pane.state();
  const holders = holdersAt(pane.lane, state, group);
  const total = pane.lane.allocated[state];
  const rows = holders.slice(0, MOST_ROWS).map((holder) => {
    const name = names[holder.group];
    return h(
      'tr',
      {
        class: app.isFocused(name) ? 'chosen' : undefined,
        tabindex: 0,
        onclick: () => app.toggleFocus(name),
        onkeydown: (e) => e.key === 'Enter' && app.toggleFocus(name),
      },
      h('td', {class: 'number'}, formatBytes(holder.bytes)),
      h(
        'td',
        {class: 'bar'},
        h(
          'div',
          {},
          h('span', {
            style:
              `background:${app.cssColourOfName(name)};` +
              `width:${(100 * holder.bytes) / (total || 1)}%`,
          }),
        ),
      ),
      h(
        'td',
        {},
        name,
        h(
          'span',
          {class: 'dim'},
          ` ${formatPercent(holder.bytes, total)}, ${formatCount(holder.count)}×`,
        ),
      ),
    );
  });
  return [
    failureAt(pane, state),
    h(
      'p',
      {},
      h('b', {}, formatBytes(total)),
      ` in use of ${formatBytes(pane.lane.reserved[state])} ` + 'reserved',
      h('br'),
      h('span', {class: 'dim'}, momentText(pane.lane, state)),
    ),
    h('table', {class: 'holders'}, rows),
    holders.length > MOST_ROWS
      ? h('p', {class: 'dim'}, `and ${formatCount(holders.length - MOST_ROWS)} smaller ones`)
      : null,
  ];
}

// What failed at this moment, where something did.
function failureAt(pane, state) {
  const failure = pane.lane.markers.find(
    (marker) => marker.kind === 'oom' && marker.event + 1 === state,
  );
  if (!failure) return null;
  const free =
    failure.free === null
      ? ''
      : ` The driver had ${formatBytes(failure.free)} free${
          failure.free >= failure.size ? ', so a limit of the process was reached' : ''
        }.`;
  return h(
    'p',
    {class: 'warning'},
    `Out of memory: ${formatBytes(failure.size)} were asked for.${free}`,
  );
}
