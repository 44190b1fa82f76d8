// Numbers as people read them.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

// 1536 -> "1.5 KiB": three digits, powers of 1024.
export function formatBytes(bytes) {
  if (!Number.isFinite(bytes)) return '?';
  const sign = bytes < 0 ? '−' : '';
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024;
    ++unit;
  }
  if (unit === 0) return `${sign}${Math.round(value)} B`;
  const digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const text = digits === 0 ? value.toFixed(0) : value.toFixed(digits).replace(/\.?0+$/, '');
  return `${sign}${text} ${UNITS[unit]}`;
}

export function formatExactBytes(bytes) {
  return bytes < 1024 ? `${bytes} B` : `${formatBytes(bytes)} (${formatCount(bytes)} B)`;
}

// 1234567 -> "1,234,567".
export function formatCount(count) {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
}

// 1 -> "1 event", 2 -> "2 events".
export function formatPlural(count, one, many) {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

// Microseconds -> "12.3 ms".
export function formatDuration(us) {
  const value = Math.abs(us);
  const sign = us < 0 ? '−' : '';
  if (value < 1000) return `${sign}${trim(value, 0)} µs`;
  if (value < 1e6) return `${sign}${trim(value / 1e3, 3)} ms`;
  if (value < 60e6) return `${sign}${trim(value / 1e6, 3)} s`;
  const seconds = Math.round(value / 1e6);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${sign}${minutes} min ${seconds % 60} s`;
  return `${sign}${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function trim(value, digits) {
  const text = value.toFixed(digits);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

// Microseconds since 1970 -> "2026-11-20 08:49:51.718 UTC".
export function formatMoment(us) {
  if (!(us > 0) || us > 8.64e18) return '';
  return new Date(us / 1000).toISOString().replace('T', ' ').replace('Z', ' UTC');
}

export function formatPercent(part, whole) {
  if (!(whole > 0)) return '';
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.05) return '< 0.1 %';
  return `${percent >= 9.95 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

// base is a BigInt, since addresses need all 64 bits; offset is a double.
export function formatAddress(base, offset) {
  return `0x${(base + BigInt(Math.round(offset))).toString(16)}`;
}

// The smallest round step that puts at most `wanted` steps in `span`: powers of two for bytes, else
// 1, 2 or 5 times a power of ten.
export function niceStep(span, wanted, isBytes) {
  const raw = span / Math.max(1, wanted);
  if (isBytes) return 2 ** Math.ceil(Math.log2(Math.max(raw, 1)));
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw);
}
