// Filters: choose shards and transitions.

import {byId, el, fill, words} from './words.js';

/** "7", "10-19" or "3, 7-9" as [first, last] pairs; null for anything else. */
export function parseShards(text) {
  const parts = text.split(',').map((part) => part.trim()).filter((part) => part !== '');
  const found = parts.map((part) => /^(\d{1,9})(?:\s*[-–]\s*(\d{1,9}))?$/.exec(part));
  if (found.includes(null)) return null;
  return found.map(([, first, last]) => [Number(first), Number(last ?? first)]);
}

export class Filters {
  constructor(onChange) {
    this.shard = byId('filter-shard');
    this.node = byId('filter-node');
    this.state = byId('filter-state');
    this.reason = byId('filter-reason');
    this.clear = byId('filter-clear');
    this.known = '';
    const form = byId('filters');
    const changed = () => {
      this.read();
      onChange();
    };
    form.addEventListener('input', changed);
    form.addEventListener('submit', (event) => event.preventDefault());
    form.addEventListener('reset', () => setTimeout(changed));
    this.onChange = changed;
    this.read();
  }

  read() {
    const shards = parseShards(this.shard.value);
    this.shard.setCustomValidity(shards === null ? 'a shard, or a range such as 10-19' : '');
    this.shards = shards ?? [];
    this.active = this.shards.length > 0 || [this.node, this.state, this.reason].some((select) => select.value !== '');
    this.clear.hidden = !this.active && this.shard.value === '';
  }

  /** Sets the choices. */
  offer(nodes, states, reasons) {
    const known = JSON.stringify([nodes, states, reasons]);
    if (known === this.known) return;
    this.known = known;
    const option = (value) => el('option', {value}, words(value));
    for (const [select, values, label] of [[this.node, nodes, (value) => el('option', {value}, value)],
                                           [this.state, states, option], [this.reason, reasons, option]]) {
      const chosen = select.value;
      fill(select, [el('option', {value: ''}, 'all'), ...values.map(label)]);
      select.value = values.includes(chosen) ? chosen : '';
    }
    this.read();
  }

  toggleNode(node) {
    this.node.value = this.node.value === node ? '' : node;
    this.onChange();
  }

  meansNumber(shard) {
    return this.shards.length === 0 || this.shards.some(([first, last]) => first <= shard && shard <= last);
  }

  meansShard({shard, leader, to, state, reason}) {
    return this.meansNumber(shard) && (this.node.value === '' || this.node.value === leader || this.node.value === to) &&
        (this.state.value === '' || this.state.value === state) &&
        (this.reason.value === '' || this.reason.value === reason);
  }

  /** `state`: the shard's current state. */
  meansEvent({shard, from, to, reason}, state) {
    return this.meansNumber(shard) && (this.node.value === '' || this.node.value === from || this.node.value === to) &&
        (this.state.value === '' || this.state.value === state) &&
        (this.reason.value === '' || this.reason.value === reason);
  }
}
