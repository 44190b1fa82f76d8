// The page: which kind of replay is shown, which replay is selected, and what is said of it.

class App {
  constructor(root, data) {
    this.data = data;
    this.root = root;
    this.kind = 0;
    this.order = 'time';
    this.sort = 'extra';
    this.stack = new Stack((index) => this.select(index));
    this.said = h('p', {class: 'said', 'aria-live': 'polite'});
    this.list = h('div');
    this.root.replaceChildren(this.header(), ...this.body());
    if (data.kinds.length > 0) this.showKind(0);
    window.matchMedia('(prefers-color-scheme: dark)')
      .addEventListener('change', () => this.stack.draw());
  }

  header() {
    const {data} = this;
    return h('header', {}, h('h1', {}, data.file),
      h('p', {class: 'dim'}, `${countText(data.op_count)} ops in ${timeText(data.span)}; the ` +
        `device is busy for ${timeText(data.busy)}, ${percentText(data.busy, data.span)}; made ` +
        `by ${data.made_by}`),
      data.warnings.map((warning) => h('p', {class: 'warning'}, warning)));
  }

  body() {
    const {data} = this;
    const all = h('details', {open: data.kinds.length === 0},
      h('summary', {}, 'All ops of the trace, those with most time first'), allOps(data.ops));
    if (data.kinds.length === 0) {
      return [h('p', {}, 'There is no replay of a graph in this trace.'), all];
    }
    return [this.toolbar(), h('section', {}, this.stack.canvas, this.said), this.list, all];
  }

  toolbar() {
    this.kindChoice = h('select', {onchange: (e) => this.showKind(Number(e.target.value))},
      this.data.kinds.map((kind, index) => h('option', {value: index},
        `${kind.name}: ${countText(kind.count)} replays of ${countText(kind.ops.length)} ops`)));
    const choice = (name, options) => h('select', {onchange: (e) => {
      this[name] = e.target.value;
      this.show();
    }}, options.map(([value, text]) => h('option', {value}, text)));
    return h('nav', {}, h('label', {}, 'Replays of ', this.kindChoice),
      h('label', {}, 'rows ', choice('order', [['time', 'as they came'],
        ['wall', 'slowest first']])),
      h('label', {}, 'ops ', choice('sort', [['extra', 'by what is slow here'],
        ['place', 'in their order'], ['time', 'by time']])));
  }

  showKind(index) {
    this.kind = index;
    this.spreads = spreadsOf(this.data.kinds[index]);
    this.selected = slowestOf(this.data.kinds[index]);
    this.show();
  }

  select(index) {
    if (index === this.selected) return;
    this.selected = index;
    this.show();
  }

  show() {
    const kind = this.data.kinds[this.kind];
    const order = kind.replays.map((_, index) => index);
    if (this.order === 'wall') {
      order.sort((a, b) => kind.replays[b].wall - kind.replays[a].wall);
    }
    this.stack.show(kind, order, this.selected);
    this.said.replaceChildren(...this.sentence(kind));
    this.list.replaceChildren(opList(kind, this.spreads, this.selected, this.sort));
  }

  // What made the replay slower than the median one.
  cause(kind, replay) {
    const {op, slow, cause} = culpritOf(replay, this.spreads);
    const told = [h('b', {}, kind.ops[op].name),
      `: ${timeText(replay.durations[op])} in place of ${timeText(this.spreads.ops[op][2])}.`];
    if (cause === 'op') return [' Most of what is more took ', ...told];
    if (cause === 'ops') {
      const ops = `${countText(slow)} of its ${countText(kind.ops.length)} ops`;
      return [` ${ops} took over a fifth longer than usual, most of all `, ...told];
    }
    if (cause === 'gaps') {
      return [' Its ops took about as long as usual: what is more are gaps between them.'];
    }
    return [];
  }

  sentence(kind) {
    const replay = kind.replays[this.selected];
    const median = this.spreads.wall[2];
    const parts = [h('b', {}, `Replay ${countText(replay.number + 1)}`),
      ` of ${countText(kind.count)}, at ${timeText(replay.at)}: ${timeText(replay.wall)}, ` +
      `${differenceText(replay.wall, median)} against the median of ${timeText(median)}.`];
    if (replay.latency !== undefined) {
      parts.push(` Its first op began ${timeText(replay.latency)} after the launch call ` +
        `(median ${timeText(this.spreads.latency[2])}).`);
    }
    parts.push(...this.cause(kind, replay));
    if (kind.replays.length < kind.count) {
      parts.push(h('span', {class: 'dim'}, ` The page holds ${countText(kind.replays.length)} of ` +
        'these replays: the slowest, and an even choice of the others.'));
    }
    return parts;
  }
}

function start() {
  const root = document.getElementById('app');
  try {
    const data = JSON.parse(document.getElementById('data').textContent);
    if (data.version !== 1) throw new Error(`the data's version is ${data.version}, not 1`);
    window.graphtreePage = {app: new App(root, data)};
  } catch (error) {
    root.replaceChildren(h('p', {class: 'warning'}, `This page cannot be shown: ${error.message}`));
    throw error;
  }
}

start();
