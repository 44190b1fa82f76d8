// The colours that the canvases need, read from the style sheet, which follows the system's light
// or dark setting.

import {parseColour} from './palette.js';

const NAMES = ['ink', 'paper', 'muted', 'line', 'free', 'faded', 'rest', 'accent', 'alarm'];

export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const theme = {};
  for (const name of NAMES) theme[name] = parseColour(style.getPropertyValue(`--${name}`).trim());
  return theme;
}

export function onThemeChange(listener) {
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', listener);
}
