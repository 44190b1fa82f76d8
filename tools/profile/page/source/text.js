// Times as people read them, and elements: h('p', {class: 'x', onclick: f}, 'text', child ...).

function timeText(ns) {
  const size = Math.abs(ns);
  if (size < 999.5) return `${Math.round(ns)} ns`;
  if (size < 9995) return `${(ns / 1e3).toFixed(2)} µs`;
  if (size < 999500) return `${(ns / 1e3).toFixed(1)} µs`;
  if (size < 999.5e6) return `${(ns / 1e6).toFixed(2)} ms`;
  return `${(ns / 1e9).toFixed(3)} s`;
}

function countText(count) {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
}

function percentText(part, whole) {
  return `${(whole > 0 ? (100 * part) / whole : 0).toFixed(1)} %`;
}

const SVG = 'http://www.w3.org/2000/svg';
const SVG_TAGS = new Set(['svg', 'rect', 'line', 'circle', 'title']);

function h(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}
