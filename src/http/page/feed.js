// Feed: gets the node's data. It asks for the overview every second, and soon after each transition.
// Transitions come as server-sent events. A hidden page asks for nothing.

const POLL_MS = 1000;
const SOON_MS = 120;
const ANSWER_WITHIN_MS = 4000;
const RETRY_MS = 2000;
const HISTORY = 500;  // transitions to get at the start

async function getJson(target) {
  const answer = await fetch(target, {signal: AbortSignal.timeout(ANSWER_WITHIN_MS), cache: 'no-store'});
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? `status ${answer.status}`);
  return body;
}

export const getShard = (shard) => getJson(`/v1/shards/${shard}`);

/** Calls onOverview(overview), or onSilence(error) if there was no answer. */
export class OverviewFeed {
  constructor(onOverview, onSilence) {
    this.onOverview = onOverview;
    this.onSilence = onSilence;
    this.timer = null;
    this.due = Infinity;
    this.asking = false;
    this.again = false;
    document.addEventListener('visibilitychange', () => this.soon());
  }

  soon() {
    if (this.asking) {
      this.again = true;
    } else {
      this.schedule(SOON_MS);
    }
  }

  schedule(delay) {
    const due = performance.now() + delay;
    if (this.timer !== null && this.due <= due) return;
    clearTimeout(this.timer);
    this.due = due;
    this.timer = setTimeout(() => this.ask(), delay);
  }

  async ask() {
    this.timer = null;
    if (document.hidden) return;
    this.asking = true;
    this.again = false;
    try {
      this.onOverview(await getJson('/v1/overview'));
    } catch (error) {
      this.onSilence(error);
    }
    this.asking = false;
    this.schedule(this.again ? SOON_MS : POLL_MS);
  }
}

/** Calls onEvents(events, {restart}) in order. restart: forget the earlier events. */
export class EventFeed {
  constructor(onEvents, onState) {
    this.onEvents = onEvents;
    this.onState = onState;
    this.started = null;
    this.last = 0;
    this.source = null;
    this.retry = null;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.close() : this.open()));
  }

  async open() {
    this.close();
    const attempt = (this.attempt = {});
    try {
      const head = await getJson('/v1/events?after=0&limit=1');
      if (attempt !== this.attempt || document.hidden) return;
      if (head.started !== this.started || head.last < this.last) this.forget(head);
      this.listen();
    } catch {
      if (attempt === this.attempt) this.later();
    }
  }

  forget(head) {
    this.started = head.started;
    this.last = Math.max(0, head.last - HISTORY, head.first - 1);
    this.onEvents([], {restart: true});
  }

  listen() {
    this.source = new EventSource(`/v1/events?after=${this.last}`);
    this.source.addEventListener('open', () => this.onState('live'));
    this.source.addEventListener('transition', (message) => {
      const event = JSON.parse(message.data);
      this.last = event.seq;
      this.onEvents([event], {restart: false});
    });
    // The process is another one, or no longer has the events: begin again.
    this.source.addEventListener('reset', () => {
      this.started = null;
      this.later();
    });
    this.source.addEventListener('error', () => this.later());
  }

  later() {
    this.close();
    this.onState('reconnecting');
    this.retry = setTimeout(() => this.open(), RETRY_MS);
  }

  close() {
    this.attempt = null;
    clearTimeout(this.retry);
    if (this.source !== null) this.source.close();
    this.source = null;
  }
}
