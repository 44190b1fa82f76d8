// Chooses what the tooltip says for what is under the pointer.

import {tooltipFor, tooltipForHole, tooltipForMoment} from './describe.js';

export function describeHover(pane, hover) {
  if (hover.allocation >= 0) return tooltipFor(pane, hover.allocation);
  if (hover.segment) return tooltipForHole(pane, hover.segment, hover.at);
  return tooltipForMoment(pane, hover.state);
}
