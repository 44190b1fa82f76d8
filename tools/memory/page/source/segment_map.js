// Where everything lies at one moment: segments to scale, blocks in their colours, holes empty.

import {fitCanvas, h, oncePerFrame} from './dom.js';
import {formatBytes, formatCount, formatPercent} from './format.js';
import {poolName, streamName} from './groups.js';
import {segmentsAt} from './moment.js';
import {cssColour} from './palette.js';
import {PIXEL} from './shade.js';
import {chooseScale, layTape, partAt, TAPE} from './tape.js';

export class SegmentMap {
  constructor(pane) {
    this.pane = pane;
    this.magnify = 1;
    this.canvas = h('canvas');
    this.scroller = h('div', {class: 'map-scroll'}, this.canvas);
    this.title = h('span', {class: 'map-title'});
    const button = (label, title, factor) =>
      h('button', {title, 'aria-label': title, onclick: () => this.enlarge(factor)}, label);
    this.element = h(
      'div',
      {class: 'map'},
      h(
        'div',
        {class: 'map-head'},
        this.title,
        h(
          'span',
          {class: 'buttons'},
          button('−', 'Draw segments smaller', 0.5),
          button('+', 'Draw segments larger', 2),
        ),
      ),
      this.scroller,
    );
    this.redraw = oncePerFrame(() => this.draw());
    new ResizeObserver(() => this.redraw()).observe(this.scroller);
    this.canvas.addEventListener('pointermove', (event) => this.look(event, 'mapLookedAt'));
    this.canvas.addEventListener('pointerleave', () => pane.lookedAway());
    this.canvas.addEventListener('click', (event) => this.look(event, 'mapClickedAt'));
  }

  enlarge(factor) {
    this.magnify = Math.min(Math.max(this.magnify * factor, 1), 4096);
    this.redraw();
  }

  // What lies where changes only with the moment.
  update() {
    const {lane} = this.pane;
    const state = this.pane.state();
    if (this.shownLane === lane && this.shownState === state) return;
    this.shownLane = lane;
    this.shownState = state;
    this.groups = segmentsAt(lane, state);
  }

  draw() {
    if (!this.element.isConnected) return;
    this.update();
    const width = this.scroller.clientWidth;
    const bytesPerPixel = chooseScale(this.groups, width, this.scroller.clientHeight, this.magnify);
    this.tape = layTape(this.groups, width, bytesPerPixel);
    this.bytesPerPixel = bytesPerPixel;
    const height = Math.min(Math.max(this.tape.height, this.scroller.clientHeight - 2), 16000);
    const context = fitCanvas(this.canvas, width, height);
    this.drawHeadings(context, width);
    for (const part of this.tape.parts) this.drawPart(context, part);
    this.drawTitle();
  }

  drawTitle() {
    const count = this.groups.reduce((sum, group) => sum + group.segments.length, 0);
    const bytes = this.groups.reduce((sum, group) => sum + group.bytes, 0);
    const used = this.groups.reduce((sum, group) => sum + group.used, 0);
    this.title.textContent =
      `${formatCount(count)} ${count === 1 ? 'segment' : 'segments'}, ` +
      `${formatBytes(bytes)} reserved, ` +
      `${formatBytes(used)} in use (${formatPercent(used, bytes) || '0 %'})`;
  }

  drawHeadings(context, width) {
    const {snapshot, theme} = this.pane;
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'alphabetic';
    for (const {group, y} of this.tape.headings) {
      context.fillStyle = cssColour(theme.muted);
      const title = `${poolName(snapshot, group.pool)}, ${streamName(snapshot, group.stream)}`;
      const text = `${title}: ${formatBytes(group.used)} of ${formatBytes(group.bytes)}`;
      context.fillText(text, 1, y + 15, width);
    }
  }

  drawPart(context, part) {
    const {lane, theme} = this.pane;
    const {segment, x, y, width, from, to} = part;
    context.fillStyle = cssColour(theme.free);
    context.fillRect(x, y, width, TAPE.row);
    const {address, size, requested} = lane.allocations;
    const state = this.shownState;
    for (const i of segment.blocks) {
      const low = Math.max(address[i] - segment.address, from);
      const high = Math.min(address[i] - segment.address + size[i], to);
      if (high <= low) continue;
      const left = x + (low - from) / this.bytesPerPixel;
      const wide = (high - low) / this.bytesPerPixel;
      context.fillStyle = this.colourOf(i);
      context.fillRect(left, y, wide > 3 ? wide - 0.75 : Math.max(wide, 0.5), TAPE.row);
      if (requested[i] < state) hatch(context, left, y, wide, theme);
      this.drawFrame(context, i, left, y, wide);
    }
  }

  drawFrame(context, i, left, y, wide) {
    for (const {allocation, colour} of this.pane.outlined()) {
      if (allocation !== i) continue;
      context.strokeStyle = cssColour(colour);
      context.lineWidth = 2;
      context.strokeRect(left - 1, y - 1, Math.max(wide, 3) + 2, TAPE.row + 2);
    }
  }

  colourOf(i) {
    const word = this.pane.colours()[i + PIXEL.firstAllocation];
    return `rgb(${word & 255}, ${(word >> 8) & 255}, ${(word >> 16) & 255})`;
  }

  look(event, how) {
    const {offsetX, offsetY, clientX, clientY} = event;
    const part = this.tape && partAt(this.tape, offsetX, offsetY);
    if (!part) return how === 'mapLookedAt' ? this.pane.lookedAway() : undefined;
    const at = part.segment.address + part.from + (offsetX - part.x) * this.bytesPerPixel;
    const {address, size} = this.pane.lane.allocations;
    const hit = part.segment.blocks.find((i) => address[i] <= at && at < address[i] + size[i]);
    return this.pane[how]({allocation: hit ?? -1, segment: part.segment, at, clientX, clientY});
  }
}

// Freed, but other streams may still use it.
function hatch(context, left, top, width, theme) {
  context.save();
  context.beginPath();
  context.rect(left, top, width, TAPE.row);
  context.clip();
  context.strokeStyle = cssColour(theme.paper);
  context.lineWidth = 1.5;
  context.beginPath();
  for (let x = left - TAPE.row; x < left + width; x += 5) {
    context.moveTo(x, top + TAPE.row);
    context.lineTo(x + TAPE.row, top);
  }
  context.stroke();
  context.restore();
}
