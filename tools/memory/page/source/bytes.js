// Columns of numbers as they travel inside the page: base64 text around runs of small integers.
//
// Every column is one run of variable-length integers, seven bits a byte, low bits first; the top
// bit says that another byte follows. Most numbers of a trace are small (a step to the next time,
// the distance to a free), so a column takes little more than a byte a row. Decoding is one pass
// and costs a few nanoseconds a byte.

// The bytes of a base64 text. The browser's own decoder is used where it has one.
export function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

// Reads `count` unsigned integers from bytes[offset, offset + length) into `out`. Integers beyond
// 2^53 lose their low bits, as doubles do.
export function readVarints(bytes, offset, length, count, out) {
  let at = offset;
  const end = offset + length;
  for (let i = 0; i < count; ++i) {
    if (at >= end) throw new Error(`a column of ${count} numbers ends after ${i}`);
    let byte = bytes[at++];
    let value = byte & 127;
    let scale = 128;
    while (byte & 128) {
      if (at >= end) throw new Error(`a column of ${count} numbers ends inside number ${i}`);
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    }
    out[i] = value;
  }
  if (at !== end) throw new Error(`a column of ${count} numbers has ${end - at} bytes too many`);
  return out;
}

// Numbers stored as the difference to the one before: 0, -1, 1, -2, 2 ... are 0, 1, 2, 3, 4 ...
export function undoDeltas(values) {
  let last = 0;
  for (let i = 0; i < values.length; ++i) {
    const folded = values[i];
    last += folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
    values[i] = last;
  }
  return values;
}

// One column as the page's directory describes it:
//   {"kind": "plain" | "delta" | "constant", "offset", "length", "count", "value"}
export function readColumn(bytes, column, Type) {
  const out = new Type(column.count);
  if (column.kind === 'constant') return out.fill(column.value);
  if (column.kind === 'plain') {
    return readVarints(bytes, column.offset, column.length, column.count, out);
  }
  if (column.kind !== 'delta') throw new Error(`unknown kind of column: ${column.kind}`);
  const wide = Type === Float64Array ? out : new Float64Array(column.count);
  undoDeltas(readVarints(bytes, column.offset, column.length, column.count, wide));
  if (wide !== out) out.set(wide);
  return out;
}
