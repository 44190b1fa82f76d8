// The timeline of one pane: the picture, what is drawn over it, and the gestures on it.
//
// It owns the view. What is under the pointer is told to the pane, which decides what follows.

import {fitCanvas, h, oncePerFrame} from './dom.js';
import {drawAxes, drawGrid, drawMarkers, drawMoment, drawRanges, drawReserved} from './axes.js';
import {axisLength, positionOfState, stateAtPosition} from './columns.js';
import {attachGestures} from './gestures.js';
import {drawOutline} from './outline.js';
import {Raster} from './raster.js';
import {clampView, panView, positionOf, wholeView, zoomX, zoomY} from './view.js';

const REST_MS = 140;

export class Timeline {
  constructor(pane) {
    this.pane = pane;
    this.picture = h('canvas', {class: 'picture'});
    this.overlay = h('canvas', {
      class: 'overlay',
      tabindex: 0,
      role: 'img',
      'aria-label': 'Timeline of allocations. Arrow keys move, plus and minus zoom.',
    });
    this.svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    this.svg.innerHTML = '<g class="axis-x"></g><g class="axis-y"></g>';
    this.element = h('div', {class: 'timeline'}, this.svg, this.picture, this.overlay);
    this.raster = new Raster(this.picture);
    this.redraw = oncePerFrame(() => this.draw());
    this.redrawOverlay = oncePerFrame(() => this.drawOverlay());
    this.gestures = attachGestures(this);
    new ResizeObserver(() => {
      this.measuredFor = null;
      this.redraw();
    }).observe(this.element);
  }

  makeButtons() {
    const button = (label, title, act) =>
      h('button', {title, 'aria-label': title, onclick: act}, label);
    return h(
      'span',
      {class: 'buttons'},
      button('+', 'Zoom in (+)', () => this.zoomAtCentre(2)),
      button('−', 'Zoom out (−)', () => this.zoomAtCentre(0.5)),
      button('↕', 'Stretch upwards (Shift and wheel)', () => this.stretch(1.5)),
      button('⤢', 'Show everything (0)', () => this.showAll()),
    );
  }

  get lane() {
    return this.pane.lane;
  }
  get settings() {
    return this.pane.settings;
  }
  get length() {
    return axisLength(this.lane, this.settings.axis);
  }

  get painter() {
    return this.raster.painterFor(this.lane, this.settings.layout);
  }

  // The highest thing there is to see. Stacks side by side are drawn to one scale.
  get fullHeight() {
    if (this.settings.layout === 'address') return Math.max(this.painter.space.length, 4096);
    return Math.max(...this.pane.app.panes.map((pane) => pane.lane.mostHeld), 4096) * 1.04;
  }

  get least() {
    return this.settings.axis === 'event' ? 8 : 2;
  }

  showAll() {
    this.setView(wholeView(this.length, this.fullHeight));
  }

  setView(view, fromGesture = false) {
    this.view = clampView(view, this.length, this.fullHeight, this.least);
    if (!fromGesture) this.gestures.follow();
    this.movedAt = performance.now();
    // A finger may scroll the page past a timeline that has nowhere to go up or down.
    const wholeHeight = this.view.top - this.view.bottom >= this.fullHeight;
    this.overlay.style.touchAction = wholeHeight ? 'pan-y' : 'none';
    this.redraw();
    this.pane.viewChanged();
  }

  pan(partX, partY) {
    this.setView(panView(this.view, partX, partY));
  }

  zoomAtCentre(factor) {
    this.setView(zoomX(this.view, factor, (this.view.from + this.view.to) / 2));
  }

  stretch(factor) {
    this.setView(zoomY(this.view, factor, this.view.bottom));
  }

  // Shows states [from, to] with some room on both sides.
  showStates(from, to) {
    const {axis} = this.settings;
    const left = positionOfState(this.lane, axis, from);
    const right = positionOfState(this.lane, axis, Math.min(to, this.lane.eventCount));
    const room = Math.max((right - left) * 0.4, this.least);
    this.setView({...this.view, from: left - room, to: right + room});
  }

  // Keeps what is shown when the axis changes: the same states, on the other scale.
  switchAxis(before) {
    const {lane, view} = this;
    const from = stateAtPosition(lane, before, view.from);
    const to = stateAtPosition(lane, before, view.to);
    const whole = from === 0 && to >= lane.eventCount;
    if (whole) return this.showAll();
    const {axis} = this.settings;
    return this.setView({
      ...view,
      from: positionOfState(lane, axis, from),
      to: positionOfState(lane, axis, Math.min(to + 1, lane.eventCount)),
    });
  }

  // Asking for the size makes the browser lay out the page, so it is asked for once.
  measure() {
    if (this.measuredFor === this.settings.layout) return;
    this.measuredFor = this.settings.layout;
    const box = this.element.getBoundingClientRect();
    const narrow = box.width < 560;
    const wideLabels = this.settings.layout === 'address';
    this.margin = {left: wideLabels ? 108 : narrow ? 54 : 66, right: 26, top: 4, bottom: 22};
    this.width = Math.max(40, box.width - this.margin.left - this.margin.right);
    this.tall = Math.max(40, box.height - this.margin.top - this.margin.bottom);
    for (const canvas of [this.picture, this.overlay]) {
      canvas.style.left = `${this.margin.left}px`;
      canvas.style.top = `${this.margin.top}px`;
    }
    this.svg.setAttribute('width', box.width);
    this.svg.setAttribute('height', box.height);
  }

  draw() {
    if (!this.element.isConnected || !this.view) return;
    this.measure();
    const moving = performance.now() - this.movedAt < REST_MS;
    this.raster.paint(this.lane, this.settings, this.view, this.pane.colours(), {
      width: this.width,
      height: this.tall,
      moving,
    });
    drawAxes(this.svg, this.frame(), this.margin);
    this.drawOverlay();
    this.gestures.resized();
    this.framesDrawn = (this.framesDrawn || 0) + 1;
    clearTimeout(this.restTimer);
    if (this.raster.coarse) this.restTimer = setTimeout(() => this.redraw(), REST_MS + 10);
  }

  // Only the colours have changed.
  recolour() {
    if (!this.raster.ids) return this.redraw();
    this.raster.recolour(this.pane.colours());
    return this.drawOverlay();
  }

  frame() {
    return {
      lane: this.lane,
      settings: this.settings,
      view: this.view,
      width: this.width,
      height: this.tall,
      painter: this.settings.layout === 'address' ? this.painter : null,
    };
  }

  drawOverlay() {
    if (!this.width || !this.raster.samples) return;
    const {theme} = this.pane;
    const context = fitCanvas(this.overlay, this.width, this.tall);
    const frame = this.frame();
    drawGrid(context, frame, theme);
    if (this.settings.layout === 'stack') drawReserved(context, frame, this.raster.samples, theme);
    drawRanges(context, frame, theme);
    drawMarkers(context, frame, theme);
    drawMoment(context, frame, this.pane.state(), this.pane.isPinned(), theme);
    for (const {allocation, colour} of this.pane.outlined()) {
      drawOutline(context, this.raster, this.lane, allocation, this.width, this.tall, colour);
    }
  }

  stateAtX(x) {
    const column = Math.floor((x / this.width) * this.raster.samples.length);
    const sampled =
      this.raster.samples[Math.min(Math.max(column, 0), this.raster.samples.length - 1)];
    if (sampled >= 0) return sampled;
    return stateAtPosition(this.lane, this.settings.axis, positionOf(this.view, this.width, x));
  }
}
