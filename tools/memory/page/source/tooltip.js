// The small box beside the pointer.

import {fill, h} from './dom.js';

export class Tooltip {
  constructor() {
    this.element = h('div', {class: 'tooltip', role: 'tooltip', hidden: true});
    document.body.append(this.element);
  }

  show(content, x, y) {
    fill(this.element, content);
    this.element.hidden = false;
    const box = this.element.getBoundingClientRect();
    const left = x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16;
    const top = y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16;
    this.element.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }

  hide() {
    this.element.hidden = true;
  }
}
