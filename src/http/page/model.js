// Model: the newest overview, shard by shard, and the transitions.

const MOST_EVENTS = 2000;
const FLAPPING_WITHIN_MS = 300_000;
const FLAPPING_FROM = 4;
// The reasons of unplanned transitions.
const TROUBLE = new Set(['lease_expired', 'process_died', 'callback_timeout', 'suspended']);

export const isTrouble = (reason) => TROUBLE.has(reason);

export class Model {
  constructor() {
    this.overview = null;
    this.previous = null;  // the overview before, for rates
    this.shards = [];
    this.events = [];      // oldest first
  }

  setOverview(overview) {
    this.previous = this.overview;
    this.overview = overview;
    const {nodes, leaders, states, reasons, state_letters, reason_letters} = overview.grid;
    this.shards = leaders.map((place, shard) => ({
      shard,
      leader: place < 0 ? null : nodes[place],
      state: state_letters[states[shard]],
      reason: reason_letters[reasons[shard]],
    }));
    for (const move of overview.moves) {
      if (this.shards[move.shard]) this.shards[move.shard].to = move.to;
    }
    for (const sick of overview.attention.shards) this.shards[sick.shard].sick = true;
  }

  addEvents(events, restart) {
    if (restart) this.events = [];
    this.events.push(...events);
    if (this.events.length > MOST_EVENTS) this.events.splice(0, this.events.length - MOST_EVENTS);
    // Until the next overview, which will have these changes too.
    for (const {shard, to, reason} of events) this.apply(shard, to, reason);
  }

  apply(shard, to, reason) {
    const known = this.shards[shard];
    if (!known || reason === 'suspended' || reason === 'resumed' || this.isOld()) return;
    Object.assign(known, {leader: to, reason, sick: to === null, state: to === null ? 'leaderless' : 'led'});
  }

  // When the page opens, it gets events that are older than its overview.
  isOld() {
    const last = this.events.at(-1);
    return last === undefined || Date.parse(last.at) < this.overview.taken_ms;
  }

  lastEventOf(shard) {
    return this.events.findLast((event) => event.shard === shard);
  }

  /** The shards with several unplanned transitions in a short time, the worst first. */
  flapping() {
    const since = (this.overview?.taken_ms ?? 0) - FLAPPING_WITHIN_MS;
    const changes = new Map();
    for (const event of this.events) {
      if (!isTrouble(event.reason) || Date.parse(event.at) < since) continue;
      changes.set(event.shard, (changes.get(event.shard) ?? 0) + 1);
    }
    return [...changes].filter(([, times]) => times >= FLAPPING_FROM).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }
}
