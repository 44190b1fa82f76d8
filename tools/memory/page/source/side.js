// The panel beside the panes: one tab at a time.

import {fill, h} from './dom.js';

export class Side {
  constructor(tabs) {
    this.tabs = tabs; // [{name, title, render: () => elements}]
    this.bar = h('div', {class: 'tabs', role: 'tablist'});
    this.body = h('div', {class: 'side-body', role: 'tabpanel'});
    this.element = h('aside', {class: 'side'}, this.bar, this.body);
    this.buttons = new Map();
    for (const tab of tabs) {
      const button = h('button', {role: 'tab', onclick: () => this.show(tab.name)}, tab.title);
      this.buttons.set(tab.name, button);
      this.bar.append(button);
    }
    this.current = tabs[0].name;
  }

  show(name) {
    this.current = name;
    this.refresh();
    this.body.scrollTop = 0;
  }

  refresh() {
    for (const [name, button] of this.buttons) {
      button.setAttribute('aria-selected', String(name === this.current));
    }
    fill(this.body, this.tabs.find((tab) => tab.name === this.current).render());
  }

  refreshIf(name) {
    if (this.current === name) this.refresh();
  }
}
