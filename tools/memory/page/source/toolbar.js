// The row of choices at the top.

import {h} from './dom.js';
import {GROUPINGS} from './groups.js';

const LAYOUTS = [
  ['stack', 'Stacked'],
  ['address', 'By address'],
];
const AXES = [
  ['event', 'Events'],
  ['time', 'Time'],
];

export function makeToolbar(app) {
  const {store} = app;
  const search = h('input', {
    type: 'search',
    placeholder: 'Search: stack text, 0x…, >10M, alive',
    'aria-label': 'Search',
    spellcheck: 'false',
    autocomplete: 'off',
    oninput: debounce((event) => store.set({query: event.target.value}), 150),
  });
  const grouping = h(
    'select',
    {
      'aria-label': 'Colour by',
      onchange: (event) => store.set({grouping: app.groupings[event.target.selectedIndex]}),
    },
    app.groupings.map((name) =>
      h('option', {selected: name === store.get('grouping')}, GROUPINGS[name].label),
    ),
  );
  store.on(['grouping'], () => {
    grouping.selectedIndex = app.groupings.indexOf(store.get('grouping'));
  });
  const element = h(
    'header',
    {class: 'toolbar'},
    h('b', {class: 'brand'}, 'Graphtree memory'),
    h('label', {}, h('span', {}, 'Colour'), grouping),
    switchFor(store, 'layout', LAYOUTS, 'Layout'),
    switchFor(store, 'axis', AXES, 'Axis'),
    search,
  );
  return {
    element,
    focusSearch: () => search.select(),
    setQuery: (query) => {
      search.value = query;
    },
  };
}

function switchFor(store, name, choices, label) {
  const buttons = choices.map(([value, text]) =>
    h(
      'button',
      {
        onclick: () => store.set({[name]: value}),
      },
      text,
    ),
  );
  const show = () =>
    buttons.forEach((button, k) =>
      button.setAttribute('aria-pressed', String(choices[k][0] === store.get(name))),
    );
  store.on([name], show);
  show();
  return h('span', {class: 'switch', role: 'group', 'aria-label': label}, buttons);
}

function debounce(act, ms) {
  let timer;
  return (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(event), ms);
  };
}
