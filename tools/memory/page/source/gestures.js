// Pointer, wheel and touch on a timeline.
//
//   wheel, pinch       zoom along time, around the pointer
//   shift and wheel    stretch upwards, around the pointer
//   drag               move
//   double click       zoom in twice
//   move, tap          look, pin
//
// d3-zoom tells a drag from a click, follows several fingers and smooths wheels; its transform and
// the timeline's view are kept the same.

import {select} from 'd3-selection';
import {zoom, zoomIdentity} from 'd3-zoom';
import {positionOf, valueOf, zoomY} from './view.js';

export function attachGestures(timeline) {
  const target = timeline.overlay;
  const selection = select(target);
  let following = false;
  let lastY = null;
  const behaviour = zoom()
    .filter((event) => !event.shiftKey && !event.button)
    .on('start', (event) => {
      lastY = pointerY(event.sourceEvent);
    })
    .on('zoom', (event) => {
      if (!following) zoomed(timeline, event, lastY);
      lastY = pointerY(event.sourceEvent);
    });
  selection.call(behaviour);
  listenToPointer(timeline, target);
  return {
    // Makes d3's transform that of the view, after a change from elsewhere.
    follow() {
      if (!timeline.width) return;
      const {view, length, width} = timeline;
      const k = length / (view.to - view.from);
      following = true;
      selection.call(
        behaviour.transform,
        zoomIdentity.translate((-view.from * k * width) / length, 0).scale(k),
      );
      following = false;
    },
    resized() {
      const {width, tall, length, least} = timeline;
      behaviour
        .extent([
          [0, 0],
          [width, tall],
        ])
        .translateExtent([
          [0, -Infinity],
          [width, Infinity],
        ])
        .scaleExtent([1, Math.max(1, length / least)]);
      const wanted = length / (timeline.view.to - timeline.view.from);
      const now = target.__zoom;
      const from = (-now.x * length) / (now.k * width);
      const drift = Math.abs(from - timeline.view.from) > (1e-6 * length) / wanted;
      if (Math.abs(now.k - wanted) > 1e-9 * wanted || drift) this.follow();
    },
  };
}

function pointerY(event) {
  if (!event || event.type === 'wheel') return null;
  const touch = event.touches && event.touches[0];
  return touch ? touch.clientY : (event.clientY ?? null);
}

function zoomed(timeline, event, lastY) {
  const {transform} = event;
  const {view, length, width, tall} = timeline;
  const from = (-transform.x * length) / (transform.k * width);
  const y = pointerY(event.sourceEvent);
  const moved = lastY !== null && y !== null ? ((y - lastY) / tall) * (view.top - view.bottom) : 0;
  timeline.setView(
    {from, to: from + length / transform.k, bottom: view.bottom + moved, top: view.top + moved},
    true,
  );
}

function listenToPointer(timeline, target) {
  target.addEventListener(
    'wheel',
    (event) => {
      if (!event.shiftKey) return;
      event.preventDefault();
      const delta = event.deltaY || event.deltaX;
      const at = valueOf(timeline.view, timeline.tall, event.offsetY);
      timeline.setView(zoomY(timeline.view, 2 ** (-delta / 300), at));
    },
    {passive: false},
  );
  target.addEventListener('pointermove', (event) => {
    if (event.pointerType === 'touch' || event.buttons) return;
    look(timeline, event, 'lookedAt');
  });
  target.addEventListener('pointerleave', () => timeline.pane.lookedAway());
  target.addEventListener('click', (event) => look(timeline, event, 'clickedAt'));
}

function look(timeline, event, how) {
  if (!timeline.raster.samples) return;
  const state = timeline.stateAtX(event.offsetX);
  const value = valueOf(timeline.view, timeline.tall, event.offsetY);
  timeline.pane[how]({
    state,
    value,
    position: positionOf(timeline.view, timeline.width, event.offsetX),
    clientX: event.clientX,
    clientY: event.clientY,
  });
}
