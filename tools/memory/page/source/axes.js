// Axes, grid and everything drawn over the bands: lines, markers, named ranges, the moment.

import {axisBottom, axisLeft} from 'd3-axis';
import {scaleLinear} from 'd3-scale';
import {select} from 'd3-selection';
import {addressOfOffset} from './address_space.js';
import {positionOfState} from './columns.js';
import {formatAddress, formatBytes, formatCount, formatDuration, niceStep} from './format.js';
import {cssColour} from './palette.js';
import {xOf, yOf} from './view.js';

function ticks(low, high, wanted, isBytes) {
  const step = niceStep(high - low, wanted, isBytes);
  const values = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) values.push(v);
  return values;
}

// frame: {lane, settings, view, width, height, painter}. A moving view changes one axis at a time,
// and what a browser takes longest for is laying out text: an axis is made anew where it changed.
export function drawAxes(svg, frame, margin) {
  const {settings, view, width, height} = frame;
  const root = select(svg);
  const below = [settings.axis, view.from, view.to, width, height, margin.left];
  const beside = [settings.layout, view.bottom, view.top, height, margin.left, frame.lane.name];
  const corner = [margin.left, margin.top + height];
  drawAxis(root.select('.axis-x'), below, () => timeAxis(frame), corner);
  drawAxis(root.select('.axis-y'), beside, () => byteAxis(frame), [margin.left, margin.top]);
}

function drawAxis(group, drawnFor, makeAxis, place) {
  const key = drawnFor.join();
  if (group.attr('data-drawn') === key) return;
  group.attr('data-drawn', key).attr('transform', `translate(${place.join()})`).call(makeAxis());
}

function timeAxis({settings, view, width}) {
  const values = ticks(view.from, view.to, width / 85, false);
  return axisBottom(scaleLinear([view.from, view.to], [0, width]))
    .tickValues(settings.axis === 'event' ? values.filter(Number.isInteger) : values)
    .tickSizeOuter(0)
    .tickFormat(settings.axis === 'event' ? formatCount : formatDuration);
}

function byteAxis({lane, settings, view, height, painter}) {
  return axisLeft(scaleLinear([view.bottom, view.top], [height, 0]))
    .tickValues(ticks(view.bottom, view.top, height / 48, true))
    .tickSizeOuter(0)
    .tickFormat(
      settings.layout === 'address'
        ? (offset) => formatAddress(lane.addressBase, addressOfOffset(painter.space, offset))
        : formatBytes,
    );
}

export function drawGrid(context, frame, theme) {
  const {view, width, height} = frame;
  context.strokeStyle = cssColour(theme.line);
  context.globalAlpha = 0.35;
  context.lineWidth = 1;
  context.beginPath();
  for (const value of ticks(view.bottom, view.top, height / 48, true)) {
    const y = Math.round(yOf(view, height, value)) + 0.5;
    context.moveTo(0, y);
    context.lineTo(width, y);
  }
  context.stroke();
  context.globalAlpha = 1;
}

// The reserved bytes as a line over the stack.
export function drawReserved(context, frame, samples, theme) {
  const {lane, view, width, height} = frame;
  context.strokeStyle = cssColour(theme.ink);
  context.globalAlpha = 0.75;
  context.lineWidth = 1.25;
  context.beginPath();
  let drawing = false;
  samples.forEach((state, c) => {
    if (state < 0) return;
    const x = (c / samples.length) * width;
    const y = yOf(view, height, lane.reserved[state]);
    if (drawing) context.lineTo(x, y);
    else context.moveTo(x, y);
    context.lineTo(((c + 1) / samples.length) * width, y);
    drawing = true;
  });
  context.stroke();
  context.globalAlpha = 1;
}

const MARKER_LABELS = {
  oom: 'out of memory',
  snapshot: 'snapshot',
  annotate: 'note',
  user_defined: 'mark',
};

// Upright lines for what is no allocation: failures, snapshots, notes, unknown actions.
export function drawMarkers(context, frame, theme) {
  const {lane, settings, view, width, height} = frame;
  let labelEnd = -Infinity;
  context.font = '11px system-ui, sans-serif';
  for (const marker of lane.markers) {
    const position = positionOfState(lane, settings.axis, marker.event + 1);
    if (position < view.from || position > view.to) continue;
    const x = Math.round(xOf(view, width, position)) + 0.5;
    const isOom = marker.kind === 'oom';
    context.strokeStyle = context.fillStyle = cssColour(isOom ? theme.alarm : theme.muted);
    context.setLineDash(isOom ? [] : [3, 3]);
    context.lineWidth = isOom ? 1.5 : 1;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, height);
    context.stroke();
    const label = MARKER_LABELS[marker.kind] || marker.kind;
    const wide = context.measureText(label).width;
    const at = x + wide + 8 > width ? x - wide - 4 : x + 4;
    if (at < labelEnd) continue;
    context.fillText(label, at, lane.ranges.length > 0 ? 28 : 12);
    labelEnd = at + wide + 4;
  }
  context.setLineDash([]);
}

// Named ranges (optimizer steps and the like) as brackets along the top edge.
export function drawRanges(context, frame, theme) {
  const {lane, settings, view, width} = frame;
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  for (const range of lane.ranges) {
    const [from, to] =
      settings.axis === 'time' ? [range.from, range.to] : [range.fromState, range.toState];
    const left = Math.max(0, xOf(view, width, from));
    const right = Math.min(width, xOf(view, width, to));
    if (right < 0 || left > width || right - left < 1) continue;
    context.fillStyle = cssColour(theme.accent);
    context.globalAlpha = 0.16;
    context.fillRect(left, 0, right - left, 15);
    context.globalAlpha = 0.9;
    context.fillRect(left, 0, 1, 15);
    context.globalAlpha = 1;
    if (right - left > 30) {
      context.save();
      context.beginPath();
      context.rect(left, 0, right - left - 2, 15);
      context.clip();
      context.fillStyle = cssColour(theme.ink);
      context.fillText(range.name, left + 4, 8);
      context.restore();
    }
  }
  context.textBaseline = 'alphabetic';
}

// A line at the moment that the segment map shows.
export function drawMoment(context, frame, state, pinned, theme) {
  const {lane, settings, view, width, height} = frame;
  const next = positionOfState(lane, settings.axis, Math.min(state + 1, lane.eventCount));
  const start = positionOfState(lane, settings.axis, state);
  const middle = settings.axis === 'event' ? start + 0.5 : Math.min((start + next) / 2, start + 1);
  const x = Math.round(xOf(view, width, middle)) + 0.5;
  if (x < 0 || x > width) return;
  context.strokeStyle = cssColour(theme.accent);
  context.lineWidth = pinned ? 2 : 1;
  context.beginPath();
  context.moveTo(x, 0);
  context.lineTo(x, height);
  context.stroke();
}
