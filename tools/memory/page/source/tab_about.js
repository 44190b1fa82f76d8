// The tab about the files: totals, settings, what the reader had to guess.

import {h} from './dom.js';
import {helpTable} from './tab_allocation.js';

export function renderAbout(app) {
  return [
    ...app.snapshots.flatMap(renderSnapshot),
    h('h3', {}, 'Keys and gestures'),
    helpTable(),
    h('p', {class: 'dim'}, `Written by ${app.madeBy}.`),
  ];
}

function renderSnapshot(snapshot) {
  const rows = (pairs) =>
    h(
      'dl',
      {},
      pairs.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, String(value))]),
    );
  return [
    h('h2', {}, snapshot.file),
    ...snapshot.warnings.map((text) => h('p', {class: 'warning'}, text)),
    rows(snapshot.facts),
    snapshot.settings.length ? h('h3', {}, 'Allocator settings') : null,
    rows(snapshot.settings),
  ];
}
