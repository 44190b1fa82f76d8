// Keys. They act on the pane that was touched last; typing in a field is left alone.

export function listenToKeys(app) {
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === 'Escape') return escape(app, event);
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = ACTIONS[event.key];
    if (!act) return;
    event.preventDefault();
    act(app, app.focusPane(), event.shiftKey);
  });
}

function escape(app, event) {
  if (event.target.tagName === 'INPUT') event.target.blur();
  app.search('');
  app.store.set({focus: null});
  app.side.current = app.panes.length === 2 ? 'compare' : 'holders';
  for (const pane of app.panes) pane.unpin();
}

function next(list, current) {
  return list[(list.indexOf(current) + 1) % list.length];
}

function failure(pane) {
  const marker = pane.lane.markers.find((m) => m.kind === 'oom');
  if (marker) pane.goTo(marker.event + 1);
}

const ACTIONS = {
  ArrowLeft: (app, pane) => pane.timeline.pan(-0.15, 0),
  ArrowRight: (app, pane) => pane.timeline.pan(0.15, 0),
  ArrowUp: (app, pane, shift) => (shift ? pane.timeline.pan(0, 0.15) : pane.timeline.stretch(1.25)),
  ArrowDown: (app, pane, shift) =>
    shift ? pane.timeline.pan(0, -0.15) : pane.timeline.stretch(0.8),
  '+': (app, pane) => pane.timeline.zoomAtCentre(1.5),
  '=': (app, pane) => pane.timeline.zoomAtCentre(1.5),
  '-': (app, pane) => pane.timeline.zoomAtCentre(1 / 1.5),
  0: (app, pane) => pane.timeline.showAll(),
  '[': (app, pane) => pane.goTo(pane.state() - 1),
  ']': (app, pane) => pane.goTo(pane.state() + 1),
  p: (app, pane) => pane.goTo(pane.lane.peakState),
  o: (app, pane) => failure(pane),
  e: (app, pane) => pane.goTo(pane.lane.eventCount),
  n: (app) => app.step(1),
  N: (app) => app.step(-1),
  c: (app) => app.store.set({grouping: next(app.groupings, app.store.get('grouping'))}),
  l: (app) => app.store.set({layout: next(['stack', 'address'], app.store.get('layout'))}),
  t: (app) => app.store.set({axis: next(['event', 'time'], app.store.get('axis'))}),
  '/': (app) => app.toolbar.focusSearch(),
  '?': (app) => app.side.show('about'),
};
