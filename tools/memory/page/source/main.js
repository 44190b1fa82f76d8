// Starts the page. What goes wrong is said on the page itself: nobody looks at a console.

import {App} from './app.js';
import {h} from './dom.js';
import {readPayload} from './payload.js';

function start() {
  const root = document.getElementById('app');
  try {
    const directory = JSON.parse(document.getElementById('directory').textContent);
    const columns = document.getElementById('columns');
    const began = performance.now();
    const snapshots = readPayload(directory, columns.textContent.trim());
    columns.remove();
    const app = new App(root, snapshots, directory.made_by);
    window.graphtreePage = {app, openedMs: performance.now() - began};
  } catch (error) {
    root.replaceChildren(h('p', {class: 'warning'}, `This page cannot be shown: ${error.message}`));
    throw error;
  }
}

start();
