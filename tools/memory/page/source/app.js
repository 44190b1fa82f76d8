// The page as a whole: the panes, the panel beside them, and what they share (how to colour, what
// stands out, which axis).

import {fill, h, oncePerFrame} from './dom.js';
import {GROUPINGS, groupLane, rankGroups} from './groups.js';
import {listenToKeys} from './keyboard.js';
import {renderLegend} from './legend.js';
import {COLOUR_COUNT, colourNames, cssColour, pixelColours} from './palette.js';
import {Pane} from './pane.js';
import {compileQuery, findMatches} from './search.js';
import {Side} from './side.js';
import {Store} from './store.js';
import {renderAbout} from './tab_about.js';
import {renderAllocation} from './tab_allocation.js';
import {renderCompare} from './tab_compare.js';
import {renderHolders} from './tab_holders.js';
import {renderMatches} from './tab_matches.js';
import {onThemeChange, readTheme} from './theme.js';
import {makeToolbar} from './toolbar.js';
import {Tooltip} from './tooltip.js';

export class App {
  constructor(root, snapshots, madeBy) {
    this.snapshots = snapshots;
    this.madeBy = madeBy;
    this.theme = readTheme();
    this.groupings = Object.keys(GROUPINGS).filter((name) =>
      snapshots.some((snapshot) => !GROUPINGS[name].needs || GROUPINGS[name].needs(snapshot)),
    );
    this.store = new Store({
      layout: 'stack',
      axis: 'event',
      grouping: this.firstGrouping(),
      focus: null,
      query: '',
    });
    this.tooltip = new Tooltip();
    this.grouped = new Map();
    this.panes = snapshots.map((snapshot, index) => new Pane(this, snapshot, index));
    this.focused = this.panes[0];
    this.build(root);
    this.listen();
    this.regroup();
    for (const pane of this.panes) pane.timeline.showAll();
    this.side.refresh();
  }

  // The first of these that tells anything apart.
  firstGrouping() {
    const tells = (grouping) =>
      this.snapshots.some(
        (snapshot) => groupLane(snapshot, snapshot.lanes[0], grouping).names.length > 1,
      );
    return (
      ['node', 'pool', 'stack'].filter((name) => this.groupings.includes(name)).find(tells) ||
      'size'
    );
  }

  build(root) {
    const tabs = [
      {name: 'allocation', title: 'Allocation', render: () => renderAllocation(this)},
      {name: 'holders', title: 'Holders', render: () => renderHolders(this)},
      {name: 'matches', title: 'Matches', render: () => renderMatches(this)},
      {name: 'compare', title: 'Compare', render: () => renderCompare(this)},
      {name: 'about', title: 'About', render: () => renderAbout(this)},
    ].filter((tab) => tab.name !== 'compare' || this.panes.length === 2);
    this.side = new Side(tabs);
    this.side.current = this.panes.length === 2 ? 'compare' : 'holders';
    this.refreshSide = oncePerFrame(() => this.side.refresh());
    this.toolbar = makeToolbar(this);
    this.legend = h('div', {class: 'legend'});
    const warnings = this.snapshots.flatMap((snapshot) => snapshot.warnings);
    fill(
      root,
      this.toolbar.element,
      this.legend,
      warnings.length ? h('p', {class: 'warning strip'}, warnings.join(' ')) : null,
      h(
        'div',
        {class: 'body'},
        h(
          'main',
          {class: this.panes.length === 2 ? 'two' : 'one'},
          this.panes.map((pane) => pane.element),
        ),
        this.side.element,
      ),
    );
    root.classList.toggle('comparing', this.panes.length === 2);
  }

  listen() {
    let axis = this.store.get('axis');
    this.store.on(['layout'], () => this.panes.forEach((pane) => pane.layoutChanged()));
    this.store.on(['axis'], () => {
      const before = axis;
      axis = this.store.get('axis');
      this.panes.forEach((pane) => pane.axisChanged(before));
    });
    this.store.on(['grouping'], () => this.regroup());
    this.store.on(['query'], () => this.find());
    this.store.on(['focus', 'query'], () => this.recolour());
    onThemeChange(() => this.themeChanged());
    listenToKeys(this);
  }

  settings() {
    return this.store.values;
  }

  // --- groups and colours

  groupsOf(pane) {
    const key = pane.lane;
    if (!this.grouped.has(key)) {
      this.grouped.set(key, groupLane(pane.snapshot, pane.lane, this.store.get('grouping')));
    }
    return this.grouped.get(key);
  }

  regroup() {
    this.grouped.clear();
    const {ordered} = GROUPINGS[this.store.get('grouping')];
    this.ranking = rankGroups(
      this.panes.map((pane) => this.groupsOf(pane)),
      ordered,
      COLOUR_COUNT,
    );
    const nameOf = ({name}) => name;
    this.nameColours = colourNames(
      this.ranking.kept.map(nameOf),
      this.ranking.rest.map(nameOf),
      ordered,
      this.theme,
    );
    this.store.values.focus = null;
    this.recolour();
  }

  recolour() {
    renderLegend(this, this.legend);
    for (const pane of this.panes) pane.recolour();
    this.refreshSide();
  }

  coloursFor(pane) {
    const {group, names} = this.groupsOf(pane);
    return pixelColours({
      count: pane.lane.allocations.count,
      group,
      lit: this.litIn(pane),
      groupColours: names.map((name) => this.nameColours.get(name)),
      theme: this.theme,
    });
  }

  // Which allocations stand out: those of the chosen group that the search found.
  litIn(pane) {
    const focus = this.store.get('focus');
    const found = this.found?.find((entry) => entry.pane === pane);
    if (focus === null && !found) return null;
    const {group, names} = this.groupsOf(pane);
    const wanted = names.indexOf(focus);
    const lit = new Uint8Array(pane.lane.allocations.count);
    if (found) for (const i of found.hits) lit[i] = focus === null || group[i] === wanted ? 1 : 0;
    else for (let i = 0; i < lit.length; ++i) lit[i] = group[i] === wanted ? 1 : 0;
    return lit;
  }

  cssColourOfName(name) {
    return cssColour(this.nameColours.get(name) || this.theme.rest);
  }

  cssColourOf(pane, i) {
    const {group, names} = this.groupsOf(pane);
    return this.cssColourOfName(names[group[i]]);
  }

  isFocused(name) {
    return this.store.get('focus') === name;
  }
  toggleFocus(name) {
    this.store.set({focus: this.isFocused(name) ? null : name});
  }

  themeChanged() {
    this.theme = readTheme();
    this.regroup();
    for (const pane of this.panes) {
      pane.overview.redraw();
      pane.timeline.redraw();
    }
  }

  // --- search

  search(query) {
    this.toolbar.setQuery(query);
    this.store.set({query});
    this.side.show('matches');
  }

  find() {
    const query = this.store.get('query').trim();
    this.found = null;
    this.at = -1;
    if (query !== '') {
      this.found = this.panes.map((pane) => {
        const found = findMatches(pane.lane, compileQuery(query, pane.snapshot)(pane.lane));
        const {size} = pane.lane.allocations;
        found.hits.sort((a, b) => size[b] - size[a] || a - b);
        return {pane, ...found};
      });
    }
    if (this.found && this.side.current !== 'matches') this.side.current = 'matches';
  }

  matches() {
    return this.found;
  }

  // Goes to the next match by age from what is pinned, or the one before.
  step(direction) {
    const all = (this.found || []).flatMap(({pane, hits}) =>
      [...hits].sort((a, b) => a - b).map((i) => ({pane, i})),
    );
    if (all.length === 0) return;
    this.at = (this.at + direction + all.length) % all.length;
    if (this.at < 0) this.at = 0;
    all[this.at].pane.reveal(all[this.at].i);
  }

  // --- what the panes tell

  focusPane() {
    return this.focused;
  }

  pinned(pane) {
    this.focused = pane;
    const hit = pane.pinned && pane.pinned.allocation >= 0;
    if (hit && this.side.current !== 'matches') this.side.show('allocation');
    else this.side.refresh();
  }

  momentChanged(pane) {
    if (this.side.current === 'holders' || this.side.current === 'compare') {
      if (pane.hover || this.focused === pane) this.focused = pane;
      this.refreshSide();
    }
  }

  laneChanged() {
    this.find();
    this.regroup();
    this.side.refresh();
  }
}
