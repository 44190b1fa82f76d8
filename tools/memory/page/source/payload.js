// The data inside the page: a directory in JSON and one block of packed columns.
//
//   <script id="directory" type="application/json">   names, settings, where each column lies
//   <script id="columns"   type="text/plain">         base64 of the columns (bytes.js)
//
// A snapshot has its own strings, frames, stacks, pools, streams and nodes; lanes refer to them by
// number. The C++ side that writes this is tools/memory/html_*.cc.

import {decodeBase64, readColumn} from './bytes.js';
import {readLane} from './lane.js';
import {Stacks} from './stacks.js';

export const PAYLOAD_VERSION = 1;

export function readPayload(directory, base64) {
  if (directory.version !== PAYLOAD_VERSION) {
    throw new Error(
      `the page reads data of version ${PAYLOAD_VERSION}, this is ` + `${directory.version}`,
    );
  }
  const bytes = decodeBase64(base64);
  return directory.snapshots.map((description) => readSnapshot(bytes, description));
}

function readSnapshot(bytes, description) {
  if (description.lanes.length === 0) {
    throw new Error(`${description.file} holds neither segments nor a history`);
  }
  const {columns} = description;
  const stacks = new Stacks(
    description.strings,
    readColumn(bytes, columns.frame_words, Uint32Array),
    readColumn(bytes, columns.stack_parent, Uint32Array),
    readColumn(bytes, columns.stack_frame, Uint32Array),
  );
  return {
    file: description.file,
    facts: description.facts,
    warnings: description.warnings,
    settings: description.settings,
    strings: description.strings,
    pools: description.pools,
    streams: description.streams,
    nodes: description.nodes,
    stacks,
    lanes: description.lanes.map((lane) => readLane(bytes, lane)),
  };
}
