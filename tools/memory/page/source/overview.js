// The strip above a timeline: the whole history, and a window for the part that is shown.

import {brushX} from 'd3-brush';
import {select} from 'd3-selection';
import {sampleColumns} from './columns.js';
import {fitCanvas, h, oncePerFrame} from './dom.js';
import {cssColour} from './palette.js';

export class Overview {
  constructor(pane) {
    this.pane = pane;
    this.canvas = h('canvas');
    this.svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    this.element = h(
      'div',
      {class: 'overview', title: 'Drag the window to move, its edges to zoom'},
      this.canvas,
      this.svg,
    );
    this.redraw = oncePerFrame(() => this.draw());
    this.brush = brushX().on('brush end', (event) => this.brushed(event));
    this.group = select(this.svg).append('g');
    new ResizeObserver(() => this.redraw()).observe(this.element);
  }

  brushed(event) {
    if (!event.sourceEvent) return;
    const {timeline} = this.pane;
    if (!event.selection) {
      if (event.type === 'end') timeline.showAll();
      return;
    }
    const [left, right] = event.selection.map((x) => (x / this.width) * timeline.length);
    timeline.setView({...timeline.view, from: left, to: right});
  }

  follow() {
    const {view, length} = this.pane.timeline;
    if (!this.width || !view) return;
    const left = (view.from / length) * this.width;
    const right = Math.max((view.to / length) * this.width, left + 2);
    this.group.call(this.brush.move, [left, Math.min(right, this.width)]);
  }

  draw() {
    const {lane, settings, timeline, theme} = this.pane;
    const box = this.element.getBoundingClientRect();
    if (box.width === 0 || !timeline.view) return;
    this.width = box.width;
    const context = fitCanvas(this.canvas, box.width, box.height);
    const samples = sampleColumns(lane, settings.axis, 0, timeline.length, Math.ceil(box.width));
    const top = Math.max(
      lane.allocated[lane.peakState],
      ...samples.map((s) => lane.reserved[s] || 0),
      1,
    );
    drawArea(context, samples, lane.reserved, top, box.height, cssColour(theme.free));
    drawArea(context, samples, lane.allocated, top, box.height, cssColour(theme.rest));
    for (const marker of lane.markers) {
      if (marker.kind !== 'oom') continue;
      context.fillStyle = cssColour(theme.alarm);
      const column = samples.findIndex((state) => state > marker.event);
      context.fillRect(column < 0 ? box.width - 2 : column, 0, 2, box.height);
    }
    select(this.svg).attr('width', box.width).attr('height', box.height);
    this.brush.extent([
      [0, 0],
      [box.width, box.height],
    ]);
    this.group.call(this.brush);
    this.follow();
  }
}

function drawArea(context, samples, values, top, height, colour) {
  context.fillStyle = colour;
  samples.forEach((state, x) => {
    if (state < 0) return;
    const tall = (values[state] / top) * (height - 2);
    context.fillRect(x, height - tall, 1, tall);
  });
}
