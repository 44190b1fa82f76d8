// The tab with what the search found, largest first.

import {h} from './dom.js';
import {formatAddress, formatBytes, formatCount, formatPlural} from './format.js';

const MOST_ROWS = 300;

export function renderMatches(app) {
  const found = app.matches();
  if (!found) {
    return [
      h('p', {class: 'dim'}, 'Search by a text of the stack, an address, a size:'),
      examples(app),
    ];
  }
  const total = found.reduce((sum, {hits}) => sum + hits.length, 0);
  const out = [
    h(
      'p',
      {},
      h('b', {}, formatPlural(total, 'allocation', 'allocations')),
      ', ',
      formatBytes(found.reduce((sum, {bytes}) => sum + bytes, 0)),
      ' in all',
    ),
  ];
  for (const {pane, hits} of found) {
    if (found.length > 1)
      out.push(h('h3', {}, `${pane.snapshot.file}: ${formatCount(hits.length)}`));
    out.push(
      h(
        'table',
        {class: 'matches'},
        hits.slice(0, MOST_ROWS).map((i) => row(app, pane, i)),
      ),
    );
    if (hits.length > MOST_ROWS) {
      out.push(h('p', {class: 'dim'}, `and ${formatCount(hits.length - MOST_ROWS)} smaller ones`));
    }
  }
  return out;
}

function row(app, pane, i) {
  const {allocations, addressBase, eventCount} = pane.lane;
  const alive = allocations.end[i] === eventCount;
  const open = () => pane.reveal(i);
  return h(
    'tr',
    {
      tabindex: 0,
      onclick: open,
      onkeydown: (e) => e.key === 'Enter' && open(),
      class: pane.pinned?.allocation === i ? 'chosen' : undefined,
    },
    h(
      'td',
      {class: 'number'},
      h('span', {class: 'swatch', style: `background:${app.cssColourOf(pane, i)}`}),
      formatBytes(allocations.size[i]),
    ),
    h(
      'td',
      {},
      pane.snapshot.stacks.title(allocations.stack[i]),
      h(
        'span',
        {class: 'dim'},
        ` ${formatAddress(addressBase, allocations.address[i])}${alive ? ', alive' : ''}`,
      ),
    ),
  );
}

function examples(app) {
  const rows = [
    ['forward', 'a text of the stack'],
    ['>10M', 'larger than 10 MiB'],
    ['size:1M..8M', 'between two sizes'],
    ['alive', 'alive at the end'],
    ['pool:0,0', 'of one pool'],
    ['-Backward', 'without a text'],
    ['alive >1M', 'both'],
  ];
  return h(
    'table',
    {class: 'help'},
    rows.map(([query, what]) =>
      h(
        'tr',
        {},
        h('td', {}, h('button', {class: 'link', onclick: () => app.search(query)}, query)),
        h('td', {}, what),
      ),
    ),
  );
}
