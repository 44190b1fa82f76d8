// One snapshot on the screen: its overview, timeline and segment map, and which moment they show.

import {pickByAddress} from './addressed.js';
import {describeHover} from './hover.js';
import {h} from './dom.js';
import {formatBytes, formatCount} from './format.js';
import {aliveAt, timeOfState} from './lane.js';
import {Overview} from './overview.js';
import {SegmentMap} from './segment_map.js';
import {pickInStack} from './stacked.js';
import {Timeline} from './timeline.js';

export class Pane {
  constructor(app, snapshot, index) {
    this.app = app;
    this.snapshot = snapshot;
    this.index = index;
    this.chosenLane = snapshot.lanes[0];
    this.hover = null; // {state, allocation}
    this.pinned = null; // the same, until another is pinned
    this.timeline = new Timeline(this);
    this.overview = new Overview(this);
    this.map = new SegmentMap(this);
    this.numbers = h('span', {class: 'numbers'});
    this.element = h(
      'article',
      {class: 'pane'},
      this.makeHead(),
      this.overview.element,
      this.timeline.element,
      this.map.element,
    );
    this.start();
  }

  get lane() {
    return this.chosenLane;
  }
  get settings() {
    return this.app.settings();
  }
  get theme() {
    return this.app.theme;
  }

  makeHead() {
    const {lanes, file} = this.snapshot;
    const chooser =
      lanes.length > 1
        ? h(
            'select',
            {
              'aria-label': 'Device',
              onchange: (event) => this.chooseLane(lanes[event.target.selectedIndex]),
            },
            lanes.map((lane) => h('option', {}, lane.name)),
          )
        : h('span', {class: 'lane'}, lanes[0].name);
    return h(
      'header',
      {},
      h('b', {class: 'file', title: file}, file),
      chooser,
      this.numbers,
      this.timeline.makeButtons(),
    );
  }

  start() {
    this.colouring = null;
    const {lane} = this;
    const failure = lane.markers.find((marker) => marker.kind === 'oom');
    this.restState = failure ? failure.event + 1 : lane.peakState;
    this.hover = this.pinned = null;
    this.numbers.textContent =
      `peak ${formatBytes(lane.allocated[lane.peakState])} in use · ` +
      `${formatBytes(lane.reserved[lane.eventCount])} reserved at the end · ` +
      `${formatCount(lane.eventCount)} events, ${formatCount(lane.allocations.count)} allocations`;
  }

  chooseLane(lane) {
    this.chosenLane = lane;
    this.start();
    this.timeline.showAll();
    this.overview.redraw();
    this.map.redraw();
    this.app.laneChanged(this);
  }

  // The moment on the screen: under the pointer, else pinned, else the failure or the peak.
  state() {
    return this.hover?.state ?? this.pinned?.state ?? this.restState;
  }
  isPinned() {
    return !this.hover && this.pinned !== null;
  }

  outlined() {
    const out = [];
    if (this.pinned && this.pinned.allocation >= 0) {
      out.push({allocation: this.pinned.allocation, colour: this.theme.accent});
    }
    if (this.hover && this.hover.allocation >= 0) {
      out.push({allocation: this.hover.allocation, colour: this.theme.ink});
    }
    return out;
  }

  colours() {
    if (!this.colouring) this.colouring = this.app.coloursFor(this);
    return this.colouring;
  }

  recolour() {
    this.colouring = null;
    this.timeline.recolour();
    this.map.redraw();
  }

  layoutChanged() {
    this.timeline.showAll();
    this.overview.redraw();
  }

  axisChanged(before) {
    this.timeline.switchAxis(before);
    this.overview.redraw();
  }

  viewChanged() {
    this.overview.follow();
  }

  // The allocation drawn at a state and a height of the timeline; -1 for none.
  pick(state, value) {
    const alive = aliveAt(this.lane, state);
    return this.settings.layout === 'address'
      ? pickByAddress(this.timeline.painter, alive, value)
      : pickInStack(this.lane, alive, value);
  }

  lookedAt({state, value, clientX, clientY}) {
    this.setHover({state, allocation: this.pick(state, value)}, clientX, clientY);
  }

  mapLookedAt({allocation, segment, at, clientX, clientY}) {
    this.setHover({state: this.state(), allocation, segment, at}, clientX, clientY);
  }

  setHover(hover, x, y) {
    this.hover = hover;
    this.app.tooltip.show(describeHover(this, hover), x, y);
    this.refresh();
  }

  lookedAway() {
    if (!this.hover) return;
    this.hover = null;
    this.app.tooltip.hide();
    this.refresh();
  }

  clickedAt({state, value}) {
    this.pin({state, allocation: this.pick(state, value)});
  }
  mapClickedAt({allocation}) {
    this.pin({state: this.state(), allocation});
  }

  pin(pinned) {
    this.pinned = pinned;
    this.hover = null;
    this.app.tooltip.hide();
    this.refresh();
    this.app.pinned(this);
  }

  unpin() {
    this.pinned = null;
    this.refresh();
    this.app.pinned(this);
  }

  // Shows an allocation from elsewhere (a list) on the timeline.
  reveal(allocation) {
    const {start, end} = this.lane.allocations;
    const born = Math.max(0, start[allocation] + 1);
    this.timeline.showStates(born, Math.min(end[allocation], this.lane.eventCount));
    this.pin({state: Math.min(born, this.lane.eventCount), allocation});
  }

  goTo(state) {
    const at = Math.min(Math.max(state, 0), this.lane.eventCount);
    const {view} = this.timeline;
    const position = this.settings.axis === 'event' ? at : timeOfState(this.lane, at);
    if (position < view.from || position > view.to) {
      const half = (view.to - view.from) / 2;
      this.timeline.setView({...view, from: position - half, to: position + half});
    }
    this.pin({state: at, allocation: this.pinned?.allocation ?? -1});
  }

  refresh() {
    this.timeline.redrawOverlay();
    this.map.redraw();
    this.app.momentChanged(this);
  }
}
