// Who holds more in one snapshot than in another.

import {holdersAt} from './moment.js';

// [{name, bytes: [before, after], counts: [before, after]}], largest change first. `sides` are two
// of {lane, state, group, names}.
export function compareHolders(sides) {
  const rows = new Map();
  sides.forEach(({lane, state, group, names}, side) => {
    for (const holder of holdersAt(lane, state, group)) {
      const name = names[holder.group];
      let row = rows.get(name);
      if (!row) rows.set(name, (row = {name, bytes: [0, 0], counts: [0, 0]}));
      row.bytes[side] += holder.bytes;
      row.counts[side] += holder.count;
    }
  });
  const change = (row) => Math.abs(row.bytes[1] - row.bytes[0]);
  return [...rows.values()].sort((a, b) => change(b) - change(a) || b.bytes[1] - a.bytes[1]);
}
