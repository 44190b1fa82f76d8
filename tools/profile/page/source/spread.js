// What a list of replays says about each op: quantiles, and how far one replay is off.

function quantile(sorted, share) {
  if (sorted.length === 0) return 0;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

// [least, a tenth, half, nine tenths, 99 of a hundred, most]
function spreadOf(values) {
  const sorted = Float64Array.from(values).sort();
  return [0, 0.1, 0.5, 0.9, 0.99, 1].map((share) => quantile(sorted, share));
}

// Of a kind: the spread of each op's duration, of the wall time and of the latency.
function spreadsOf(kind) {
  return {
    ops: kind.ops.map((_, op) => spreadOf(kind.replays.map((replay) => replay.durations[op]))),
    wall: spreadOf(kind.replays.map((replay) => replay.wall)),
    latency: spreadOf(kind.replays.map((replay) => replay.latency ?? 0)),
  };
}

function slowestOf(kind) {
  let slowest = 0;
  kind.replays.forEach((replay, index) => {
    if (replay.wall > kind.replays[slowest].wall) slowest = index;
  });
  return slowest;
}

// Why a replay took longer than the median one: {op, extra} is the op that took most beyond its
// own median, `slow` how many ops took more than a fifth longer, and `cause` what makes up at least
// half of the difference: that op, many ops, or the gaps between them.
function culpritOf(replay, spreads) {
  const culprit = {op: 0, extra: -Infinity, slow: 0, cause: 'none'};
  let sum = 0;
  spreads.ops.forEach((spread, op) => {
    const extra = replay.durations[op] - spread[2];
    sum += extra;
    if (extra > spread[2] / 5) ++culprit.slow;
    if (extra > culprit.extra) Object.assign(culprit, {op, extra});
  });
  const more = replay.wall - spreads.wall[2];
  if (more > 0) {
    culprit.cause = culprit.extra >= more / 2 ? 'op' : sum >= more / 2 ? 'ops' : 'gaps';
  }
  return culprit;
}
