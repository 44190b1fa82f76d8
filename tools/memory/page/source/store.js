// What the parts of the page share: a few values, and who wants to know when one changes.
//
// Listeners are called in the order of subscription, at once, with the names that changed.

export class Store {
  constructor(values) {
    this.values = {...values};
    this.listeners = [];
  }

  get(name) {
    return this.values[name];
  }

  set(changes) {
    const changed = Object.keys(changes).filter((name) => this.values[name] !== changes[name]);
    if (changed.length === 0) return;
    Object.assign(this.values, changes);
    for (const {names, listener} of this.listeners) {
      if (changed.some((name) => names.includes(name))) listener(changed);
    }
  }

  on(names, listener) {
    this.listeners.push({names, listener});
  }
}
