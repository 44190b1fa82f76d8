// The picture of a timeline: paints a lane into one canvas, a number and then a colour a pixel.
//
// A full picture of a million events takes some tens of milliseconds at worst. Where a machine is
// slower than that, the picture is painted coarser while it moves and sharp when it rests.

import {AddressedPainter} from './addressed.js';
import {sampleColumns} from './columns.js';
import {levelFor} from './levels.js';
import {shade} from './shade.js';
import {StackedPainter} from './stacked.js';

const MOST_PIXELS = 2.4e6;
const FRAME_MS = 28;

export class Raster {
  constructor(canvas) {
    this.canvas = canvas;
    this.scale = 1; // of the pixels that the screen has
    this.lastMs = 0;
    this.painters = new Map();
  }

  painterFor(lane, layout) {
    const key = `${layout}`;
    if (this.lane !== lane) this.painters.clear();
    this.lane = lane;
    if (!this.painters.has(key)) {
      this.painters.set(
        key,
        layout === 'address' ? new AddressedPainter(lane) : new StackedPainter(lane),
      );
    }
    return this.painters.get(key);
  }

  // Chooses the size of the picture; coarse where painting was too slow for a moving one.
  resize(width, height, moving) {
    const ratio = window.devicePixelRatio || 1;
    const wanted = Math.min(ratio, Math.sqrt(MOST_PIXELS / (width * height)));
    const scale = moving && this.lastMs > FRAME_MS ? wanted * 0.5 : wanted;
    const wide = Math.max(1, Math.round(width * scale));
    const high = Math.max(1, Math.round(height * scale));
    this.coarse = scale < wanted;
    if (this.canvas.width === wide && this.canvas.height === high && this.ids) return;
    this.canvas.width = wide;
    this.canvas.height = high;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.ids = new Uint32Array(wide * high);
    this.image = new ImageData(wide, high);
    this.words = new Uint32Array(this.image.data.buffer);
  }

  paint(lane, settings, view, colours, {width, height, moving}) {
    const began = performance.now();
    this.resize(width, height, moving);
    const {canvas, ids} = this;
    const {axis} = settings;
    const level = levelFor(lane, axis, view.from, view.to, canvas.width);
    this.samples = sampleColumns(lane, axis, view.from, view.to, canvas.width, level);
    this.painterFor(lane, settings.layout).paint(view, this.samples, canvas.height, ids, level);
    this.recolour(colours);
    if (!this.coarse) this.lastMs = performance.now() - began;
  }

  // Only the colours have changed.
  recolour(colours) {
    const {canvas} = this;
    shade(this.ids, canvas.width, canvas.height, colours, this.words);
    canvas.getContext('2d').putImageData(this.image, 0, 0);
  }
}
