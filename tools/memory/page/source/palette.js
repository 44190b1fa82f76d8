// Colours for groups, as words that can be written straight into a picture.
//
// Categories take the ten colours that d3 recommends for categories and ten paler ones, chosen to
// stay apart for colour-blind eyes; groups with an order take a sequence from dark to light. Groups
// beyond those share the same colours, paler and greyer. Neighbours of one group differ a little in
// lightness, so that each allocation can be seen.

import {interpolateViridis, schemeObservable10, schemePaired} from 'd3-scale-chromatic';
import {PIXEL} from './shade.js';

const CATEGORIES = [
  ...schemeObservable10,
  ...schemePaired.filter((_, i) => i % 2 === 0),
  ...schemePaired.filter((_, i) => i % 2 === 1).slice(0, 4),
];
export const COLOUR_COUNT = CATEGORIES.length;

// "#rrggbb" or "rgb(r, g, b)" -> [r, g, b].
export function parseColour(text) {
  if (text.startsWith('#')) {
    const word = parseInt(text.slice(1), 16);
    return [word >> 16, (word >> 8) & 255, word & 255];
  }
  return text.match(/\d+/g).slice(0, 3).map(Number);
}

export function packColour([red, green, blue], alpha = 255) {
  return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function cssColour([red, green, blue]) {
  return `rgb(${red}, ${green}, ${blue})`;
}

export function mix(a, b, part) {
  return a.map((value, k) => Math.round(value + (b[k] - value) * part));
}

// names: the groups that get a colour of their own; rest: those that share one. Returns name ->
// [r, g, b].
export function colourNames(names, rest, ordered, theme) {
  const colours = new Map();
  names.forEach((name, k) => {
    const text = ordered
      ? interpolateViridis(names.length < 2 ? 0.5 : 0.12 + (0.8 * k) / (names.length - 1))
      : CATEGORIES[k % CATEGORIES.length];
    colours.set(name, parseColour(text));
  });
  rest.forEach((name, k) => {
    colours.set(name, mix(parseColour(CATEGORIES[k % CATEGORIES.length]), theme.rest, 0.62));
  });
  return colours;
}

// The colour of every pixel number of a lane (shade.js). `lit` says which allocations stand out
// (null: all), the others fade into the background.
export function pixelColours({count, group, groupColours, lit, theme}) {
  const shades = groupColours.map((colour) => makeShades(colour || theme.rest, theme));
  const words = new Uint32Array(count + PIXEL.firstAllocation);
  words[PIXEL.nothing] = 0;
  words[PIXEL.free] = packColour(theme.free);
  const faded = packColour(theme.faded);
  for (let i = 0; i < count; ++i) {
    const shown = lit === null || lit[i];
    const shade = Math.imul(i, 0x9e3779b1) >>> 28;
    words[i + PIXEL.firstAllocation] = shown ? shades[group[i]][shade] : faded;
  }
  return words;
}

// The sixteen shades that allocations of one group have.
function makeShades(colour, theme) {
  return Array.from({length: 16}, (_, k) => {
    const amount = ((k - 7.5) / 7.5) * 0.1;
    return packColour(
      amount > 0 ? mix(colour, [255, 255, 255], amount) : mix(colour, theme.ink, -amount),
    );
  });
}
