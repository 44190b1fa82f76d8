// Names of the colours. A click makes one group stand out.

import {fill, h} from './dom.js';
import {formatBytes} from './format.js';

export function renderLegend(app, element) {
  const {kept, rest} = app.ranking;
  const entry = (name, colour, title) =>
    h(
      'button',
      {
        class: `entry${app.isFocused(name) ? ' chosen' : ''}`,
        title,
        onclick: () => app.toggleFocus(name),
      },
      h('span', {class: 'swatch', style: `background:${colour}`}),
      h('span', {}, name),
    );
  const entries = kept.map(({name, peak}) =>
    entry(name, app.cssColourOfName(name), `${name}: at most ${formatBytes(peak)} at a time`),
  );
  if (rest.length > 0) {
    entries.push(
      h(
        'span',
        {
          class: 'entry more',
          title: rest
            .slice(0, 20)
            .map((r) => r.name)
            .join('\n'),
        },
        h('span', {class: 'swatch', style: `background:${app.cssColourOfName(null)}`}),
        `${rest.length} more`,
      ),
    );
  }
  entries.push(
    h('span', {class: 'entry more'}, h('span', {class: 'swatch free'}), 'reserved, free'),
  );
  fill(element, entries);
}
