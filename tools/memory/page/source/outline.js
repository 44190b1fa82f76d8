// The outline of single allocations over the bands: the one under the pointer, and the pinned one.
//
// The pixel numbers of the picture (raster.js) know where an allocation was drawn, so its edge is
// wherever a pixel of it has a neighbour that is not.

import {columnOfState} from './columns.js';
import {cssColour} from './palette.js';
import {PIXEL} from './shade.js';

// Runs of rows that `id` takes in a column: in both layouts at most one.
function runInColumn(ids, height, c, id) {
  const base = c * height;
  const from = ids.subarray(base, base + height).indexOf(id);
  if (from < 0) return null;
  let to = from;
  while (to < height && ids[base + to] === id) ++to;
  return [from, to];
}

export function drawOutline(context, raster, lane, allocation, width, height, colour) {
  const {ids, samples, canvas} = raster;
  if (!ids || !samples) return;
  const {start, end} = lane.allocations;
  const shown =
    samples.lastIndexOf(-1) === samples.length - 1 ? samples.filter((s) => s >= 0) : samples;
  const first = columnOfState(shown, start[allocation] + 1);
  const tall = canvas.height;
  const sx = width / canvas.width;
  const sy = height / tall;
  const runs = [];
  for (let c = first; c < shown.length && shown[c] <= end[allocation]; ++c) {
    const run = runInColumn(ids, tall, c, allocation + PIXEL.firstAllocation);
    if (run) runs.push([c, run[0], run[1]]);
  }
  if (runs.length === 0) return;
  strokeRuns(context, runs, sx, sy, colour);
}

function strokeRuns(context, runs, sx, sy, colour) {
  context.beginPath();
  for (let k = 0; k < runs.length; ++k) {
    const joined = k > 0 && runs[k - 1][0] === runs[k][0] - 1;
    if (!joined) trace(context, runs, k, sx, sy);
  }
  context.globalAlpha = 0.25;
  context.fillStyle = cssColour(colour);
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = 2;
  context.strokeStyle = cssColour(colour);
  context.stroke();
}

// One closed path around the neighbouring columns that begin with run k.
function trace(context, runs, k, sx, sy) {
  let last = k;
  while (last + 1 < runs.length && runs[last + 1][0] === runs[last][0] + 1) ++last;
  context.moveTo(runs[k][0] * sx, runs[k][2] * sy);
  for (let i = k; i <= last; ++i) {
    context.lineTo(runs[i][0] * sx, runs[i][1] * sy);
    context.lineTo((runs[i][0] + 1) * sx, runs[i][1] * sy);
  }
  for (let i = last; i >= k; --i) {
    context.lineTo((runs[i][0] + 1) * sx, runs[i][2] * sy);
    context.lineTo(runs[i][0] * sx, runs[i][2] * sy);
  }
  context.closePath();
}
