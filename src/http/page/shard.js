// The panel of one shard, below the grid.

import {getShard} from './feed.js';
import {eventRows, nodeName, reasonBadge} from './tables.js';
import {byId, count, duration, el, fill, lasting, words} from './words.js';

const TRANSITIONS = 8;

export class ShardPanel {
  constructor(onClose) {
    this.panel = byId('shard');
    this.shard = null;
    this.details = null;
    this.panel.addEventListener('click', (event) => {
      if (event.target.closest('button')) onClose();
    });
  }

  open(shard) {
    if (this.shard !== shard) this.details = null;
    this.shard = shard;
    this.panel.hidden = shard === null;
    if (shard !== null) this.ask();
  }

  async ask() {
    const shard = this.shard;
    try {
      const details = await getShard(shard);
      if (shard === this.shard) this.details = details;
    } catch {
      // The page asks for the overview at the same time, and shows if the node does not answer.
    }
  }

  /** Call it with each overview. */
  show(model) {
    const known = this.shard === null ? undefined : model.shards[this.shard];
    if (known === undefined) return;
    const details = this.details ?? {term: null, address: null, previous: null};
    const row = (name, ...value) => [el('dt', {}, name), el('dd', {}, ...value)];
    const rows = eventRows(model.events, (event) => event.shard === this.shard).slice(0, TRANSITIONS);
    fill(this.panel, [
      el('h3', {}, `Shard ${this.shard} `, el('span', {class: 'badge', 'data-state': known.state}, words(known.state)),
         el('button', {type: 'button', 'aria-label': 'Close'}, '×')),
      el('dl', {},
         ...row('Leader', nodeName(known.leader)), ...row('Reason', reasonBadge(known.reason)),
         ...(details.cause ? row('Why here', details.cause.words) : []),
         ...row('Term', details.term ?? '…'), ...row('Address', details.address ?? '–'),
         ...row('Previous leader', details.previous ? nodeName(details.previous) : '–'),
         ...(details.failing ? row('Fails to activate', `${count(details.failing.attempts, 'attempt')} ${lasting(details.failing.lasted_ms)}; the last error: ${details.failing.last_error}`) : []),
         ...(details.deaths > 0 ? row('Leaders that died soon', `${details.deaths} in a row`) : []),
         ...(details.claims_wait_ms > 0 ? row('Nobody claims it for', duration(details.claims_wait_ms)) : []),
         ...(details.lock_wait_ms > 0 ? row('Lock delay', `nobody claims it for ${duration(details.lock_wait_ms)}`) : []),
         ...(details.waits_for ? row('Waits for', nodeName(details.waits_for), details.others_wait_ms === null ? '' : `, alone for ${duration(details.others_wait_ms)}`) : []),
         ...(details.standbys?.length > 0 ? row('Standbys', ...details.standbys.flatMap(({node, ready}, i) => [i === 0 ? '' : ', ', nodeName(node), ready ? ' ready' : ' not ready'])) : []),
         ...(details.without_ready_standby ? row('Placement', `rule ${details.rule} asks for standbys, and none is ready`) : []),
         ...(details.nobody_may_lead ? row('Placement', `rule ${details.rule} lets no live node lead it`) : []),
         ...(details.led_against_rule ? row('Placement', `rule ${details.rule} would not let its leader begin to lead it`) : []),
         ...(details.move ? row('Move', 'to ', nodeName(details.move.to), `, ${details.move.phase}`) : [])),
      rows.length === 0 ? el('p', {class: 'dim'}, 'This node has seen no transition of this shard.') : el('div', {class: 'scroll'}, el('table', {class: 'table'}, el('tbody', {}, ...rows))),
    ]);
  }
}
