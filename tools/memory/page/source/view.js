// The part of a lane that a timeline shows, and the arithmetic between it and pixels.
//
//   from, to       positions on the horizontal axis (columns.js)
//   bottom, top    bytes, or offsets in the closed address space
//
// A view is a plain value; the functions return new ones.

export function wholeView(length, height) {
  return {from: 0, to: length, bottom: 0, top: height};
}

// The view moved or stretched so that it stays inside the lane and never shows less than `least`.
export function clampView(view, length, height, least) {
  const [from, to] = clampRange(view.from, view.to, length, least);
  const [bottom, top] = clampRange(view.bottom, view.top, height, 16);
  return {from, to, bottom, top};
}

function clampRange(low, high, length, least) {
  let span = Math.min(Math.max(high - low, Math.min(least, length)), length);
  if (!Number.isFinite(span)) span = length;
  const start = Math.min(Math.max(low, 0), length - span);
  return [start, start + span];
}

// factor > 1 shows less; `at` keeps its place on the screen.
export function zoomX(view, factor, at) {
  return {...view, from: at - (at - view.from) / factor, to: at + (view.to - at) / factor};
}

export function zoomY(view, factor, at) {
  return {...view, bottom: at - (at - view.bottom) / factor, top: at + (view.top - at) / factor};
}

// Parts of the visible width and height, positive to the right and up.
export function panView(view, partX, partY) {
  const dx = partX * (view.to - view.from);
  const dy = partY * (view.top - view.bottom);
  return {from: view.from + dx, to: view.to + dx, bottom: view.bottom + dy, top: view.top + dy};
}

export function xOf(view, width, position) {
  return ((position - view.from) / (view.to - view.from)) * width;
}

export function positionOf(view, width, x) {
  return view.from + (x / width) * (view.to - view.from);
}

export function yOf(view, height, value) {
  return height - ((value - view.bottom) / (view.top - view.bottom)) * height;
}

export function valueOf(view, height, y) {
  return view.bottom + ((height - y) / height) * (view.top - view.bottom);
}
