// The lists beside the picture: the ops of a kind with their spread, and all ops of the trace.

// Least to most as a line, the middle four fifths as a bar, the median as a mark, and a dot for the
// replay that is selected. It goes from nothing to the most, or twice the median.
function spreadPicture(spread, value, colour) {
  const most = Math.max(1, 2 * spread[2], spread[5], value ?? 0);
  const x = (ns) => ((ns / most) * 100).toFixed(2);
  const wide = (from, to) => Math.max(0.6, ((to - from) / most) * 100).toFixed(2);
  return h('svg', {viewBox: '0 0 100 14', preserveAspectRatio: 'none', class: 'spread'},
    h('title', {}, `${timeText(spread[0])} to ${timeText(spread[5])}, middle 80 %: ` +
      `${timeText(spread[1])} to ${timeText(spread[3])}`),
    h('line', {x1: x(spread[0]), x2: x(spread[5]), y1: 7, y2: 7, class: 'whole'}),
    h('rect', {x: x(spread[1]), width: wide(spread[1], spread[3]), y: 3, height: 8,
      fill: colour}),
    h('line', {x1: x(spread[2]), x2: x(spread[2]), y1: 0, y2: 14, class: 'median'}),
    value === undefined ? null
      : h('rect', {x: (x(value) - 0.6).toFixed(2), width: 1.2, y: 0, height: 14, class: 'here'}));
}

function differenceText(value, median) {
  const difference = value - median;
  return `${difference < 0 ? '−' : '+'}${timeText(Math.abs(difference))}`;
}

// Long names are cut at two lines; the whole is in the title.
function whatOf(op) {
  return h('span', {class: 'what', title: `${op.name}  ${op.place}`}, h('b', {}, op.name), ' ',
    h('span', {class: 'dim'}, op.place));
}

function opRow(op, index, spread, replay) {
  const value = replay.durations[index];
  const slow = value > spread[2] * 1.2 && value - spread[2] > 100;
  return h('li', {class: slow ? 'op slow' : 'op'},
    h('span', {class: 'swatch', style: `background:${colourOf(index)}`}),
    whatOf(op),
    spreadPicture(spread, value, colourOf(index)),
    h('span', {class: 'number'}, h('span', {class: 'dim'}, 'median '), timeText(spread[2])),
    h('span', {class: 'number'}, h('span', {class: 'dim'}, 'p99 '), timeText(spread[4])),
    h('span', {class: 'number here'}, h('span', {class: 'dim'}, 'here '), timeText(value), ' ',
      h('span', {class: 'difference'}, differenceText(value, spread[2]))));
}

const MOST_ROWS_OF_LIST = 400;

function opList(kind, spreads, selected, sort) {
  const replay = kind.replays[selected];
  const order = kind.ops.map((_, index) => index);
  const extra = (index) => replay.durations[index] - spreads.ops[index][2];
  if (sort === 'extra') order.sort((a, b) => extra(b) - extra(a));
  if (sort === 'time') order.sort((a, b) => spreads.ops[b][2] - spreads.ops[a][2]);
  const left = order.length - MOST_ROWS_OF_LIST;
  return h('ol', {class: 'ops'},
    order.slice(0, MOST_ROWS_OF_LIST).map(
      (index) => opRow(kind.ops[index], index, spreads.ops[index], replay)),
    left > 0 ? h('li', {class: 'dim'}, `… and ${countText(left)} more ops`) : null);
}

function allOps(ops) {
  const total = ops.reduce((sum, op) => sum + op.total, 0);
  return h('ol', {class: 'ops'}, ops.map((op) => h('li', {class: 'op'},
    h('span', {class: 'number share'}, percentText(op.total, total)),
    whatOf(op),
    spreadPicture(op.spread, undefined, 'var(--accent)'),
    h('span', {class: 'number'}, h('span', {class: 'dim'}, 'median '), timeText(op.spread[2])),
    h('span', {class: 'number'}, h('span', {class: 'dim'}, 'p99 '), timeText(op.spread[4])),
    h('span', {class: 'number'}, `${countText(op.count)} times, ${timeText(op.total)}`))));
}
