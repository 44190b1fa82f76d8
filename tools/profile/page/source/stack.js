// The picture: replays as rows over one another, their ops in colour, from each replay's first op.
//
// There are at most as many rows as fit. Where there are more replays a row stands for several, and
// shows the slowest of them.

const MOST_ROWS = 420;
const COLOURS = 12;

function colourOf(op) {
  // Golden angle: neighbours differ, and an op keeps its colour in the list.
  const hue = (op * 137.508 + 205) % 360;
  const light = [58, 46, 66][Math.floor(op / COLOURS) % 3];
  return `hsl(${hue.toFixed(0)} 62% ${light}%)`;
}

class Stack {
  constructor(onPick) {
    this.canvas = h('canvas', {
      tabindex: 0, role: 'img',
      'aria-label': 'Replays as rows over one another; up and down choose one',
    });
    this.canvas.addEventListener('pointerdown', (event) => this.pick(event, onPick));
    this.canvas.addEventListener('pointermove', (event) => {
      if (event.pointerType === 'mouse' && event.buttons === 1) this.pick(event, onPick);
    });
    this.canvas.addEventListener('keydown', (event) => this.key(event, onPick));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  show(kind, order, selected) {
    this.kind = kind;
    this.order = order;
    this.selected = selected;
    this.most = Math.max(1, ...kind.replays.map((replay) => replay.wall));
    this.rows = [];
    const count = Math.min(order.length, MOST_ROWS);
    for (let row = 0; row < count; ++row) {
      const from = Math.floor((row * order.length) / count);
      const to = Math.max(from + 1, Math.floor(((row + 1) * order.length) / count));
      const members = order.slice(from, to);
      this.rows.push(members.reduce((slowest, index) =>
        (kind.replays[index].wall > kind.replays[slowest].wall ? index : slowest), members[0]));
    }
    this.rowHeight = Math.max(1, Math.min(16, Math.floor(360 / count)));
    this.canvas.style.height = `${count * this.rowHeight + 22}px`;
    this.draw();
  }

  // The row of a replay, or of those that a row stands for.
  rowOf(index) {
    const at = this.order.indexOf(index);
    return Math.min(this.rows.length - 1, Math.floor((at * this.rows.length) / this.order.length));
  }

  pick(event, onPick) {
    const row = Math.floor(event.offsetY / this.rowHeight);
    if (row >= 0 && row < this.rows.length) onPick(this.rows[row]);
  }

  key(event, onPick) {
    const step = {ArrowUp: -1, ArrowDown: 1}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const row = Math.max(0, Math.min(this.rows.length - 1, this.rowOf(this.selected) + step));
    onPick(this.rows[row]);
  }

  draw() {
    if (!this.kind) return;
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    const height = this.canvas.clientHeight;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext('2d');
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const scale = width / this.most;
    this.rows.forEach((index, row) => this.drawRow(context, index, row, scale));
    this.drawSelected(context, style.getPropertyValue('--ink'), width);
    this.drawAxis(context, style.getPropertyValue('--muted'), width);
  }

  drawRow(context, index, row, scale) {
    const replay = this.kind.replays[index];
    const gap = this.rowHeight > 3 ? 1 : 0;
    replay.durations.forEach((duration, op) => {
      context.fillStyle = colourOf(op);
      context.fillRect(replay.starts[op] * scale, row * this.rowHeight,
        Math.max(0.5, duration * scale), this.rowHeight - gap);
    });
  }

  drawSelected(context, ink, width) {
    const top = this.rowOf(this.selected) * this.rowHeight;
    context.strokeStyle = ink;
    context.lineWidth = 1.5;
    context.strokeRect(0.75, top - 0.5, width - 1.5, Math.max(3, this.rowHeight));
  }

  drawAxis(context, muted, width) {
    context.fillStyle = muted;
    context.font = '11px system-ui, sans-serif';
    const base = this.rows.length * this.rowHeight + 15;
    const ticks = width < 500 ? 2 : 4;
    for (let tick = 0; tick <= ticks; ++tick) {
      context.textAlign = tick === 0 ? 'left' : tick === ticks ? 'right' : 'center';
      context.fillText(timeText((this.most * tick) / ticks), (width * tick) / ticks, base);
    }
  }
}
