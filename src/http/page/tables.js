// Makes the rows of the tables (nodes, moves in flight, transitions) and the strip of facts.

import {nodeColour} from './colours.js';
import {waitsFor} from './attention.js';
import {isTrouble} from './model.js';
import {count, duration, el, number, words} from './words.js';

const HOST_AND_PORT = /^(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}$/;

function dot(name) {
  const mark = el('i', {class: 'dot'});
  if (name !== null) mark.style.backgroundColor = `var(--${nodeColour(name)})`;
  return mark;
}

/** A node's name with its colour; "nobody" if the name is null. */
export const nodeName = (name) => (name === null ? el('span', {class: 'nobody'}, 'nobody') : el('span', {class: 'node'}, dot(name), name));

const fromTo = (from, to) => [nodeName(from), el('span', {class: 'dim'}, ' → '), nodeName(to)];

export const reasonBadge = (reason) => el('span', {class: 'badge', 'data-trouble': isTrouble(reason) ? 'yes' : 'no'}, words(reason));

// ---- nodes

function nodeState(member) {
  if (!member.live) return 'gone';
  if (member.suspended > 0) return 'suspended';
  if (member.unhealthy) return 'unhealthy';
  if (!member.drained && member.state !== 'draining') return member.failing ? 'failing' : member.state;
  return member.led === 0 ? 'drained' : 'draining';
}

function nodeCell(member, self) {
  const name = nodeName(member.node);
  const address = member.http_address ?? '';
  // Members choose their addresses freely, so only a plain host and port becomes a link.
  const page = self || !HOST_AND_PORT.test(address) ? name : el('a', {href: `${location.protocol}//${address}/`, rel: 'noreferrer'}, name);
  return el('td', {}, page, self ? el('span', {class: 'dim'}, ' (this page)') : null);
}

function loadBar(member, most) {
  const bar = el('span', {class: 'bar'}, el('i'), el('u'));
  const [led, target] = bar.children;
  led.style.width = `${(100 * member.led) / most}%`;
  led.style.backgroundColor = `var(--${nodeColour(member.node)})`;
  target.style.left = `${(100 * member.target) / most}%`;
  return bar;
}

function lease(member, overview) {
  if (member.node !== overview.node) return el('td', {class: 'dim'}, duration(member.ttl_ms));
  const left = Math.max(0, overview.ttl_ms - overview.renewal_age_ms);
  const bar = el('span', {class: 'bar lease', 'data-low': left * 3 < overview.ttl_ms ? 'yes' : 'no'}, el('i'));
  bar.firstChild.style.width = `${overview.ttl_ms === 0 ? 0 : (100 * left) / overview.ttl_ms}%`;
  return el('td', {title: `renewed ${duration(overview.renewal_age_ms)} ago`}, bar, `${duration(left)} left`);
}

/** The zone, and below it the labels. */
function zoneCell({zone, labels = {}}) {
  const list = Object.entries(labels).map(([name, value]) => `${name}=${value}`).join(', ');
  return el('td', {}, zone ?? '–', list === '' ? null : el('div', {class: 'dim labels', title: list}, list));
}

/** The nodes that left within the last hour, are not back, and have no key any more. */
export const gone = ({departed, nodes}) => departed.filter(({node, back}) => !back && !nodes.some((member) => member.node === node));

function goneRow({node, why, ago_ms: ago, led}) {
  const how = `${why === null ? 'reason unknown' : words(why)}, ${duration(ago)} ago, led ${count(led, 'shard')}`;
  return el('tr', {'data-node': node},
      el('td', {}, nodeName(node)), el('td', {}, el('span', {class: 'badge', 'data-state': 'gone'}, 'gone')),
      el('td', {class: 'dim', colspan: 5}, how));
}

export function nodeRows({overview}) {
  return [...memberRows(overview), ...gone(overview).map(goneRow)];
}

function memberRows(overview) {
  const most = Math.max(1, ...overview.nodes.flatMap((member) => [member.led, member.target]));
  return overview.nodes.map((member) => {
    const state = nodeState(member);
    return el('tr', {'data-node': member.node},
        nodeCell(member, member.node === overview.node),
        el('td', {}, el('span', {class: 'badge', 'data-state': state}, state)),
        el('td', {class: 'load'}, loadBar(member, most), el('b', {}, number(member.led)), el('span', {class: 'dim'}, ` / ${number(member.target)}`)),
        lease(member, overview),
        el('td', {}, member.weight), zoneCell(member), el('td', {class: 'dim'}, member.version ?? '–'));
  });
}

// ---- moves

const MOST_MOVES = 100;

/** At most MOST_MOVES rows, the longest move first. */
export function moveRows({overview}, meant) {
  const lasts = (move) => overview.moving_ms[move.shard] ?? 0;
  const moves = overview.moves.filter(meant).sort((a, b) => lasts(b) - lasts(a) || a.shard - b.shard);
  return moves.slice(0, MOST_MOVES).map((move) => el('tr', {'data-shard': move.shard},
      el('td', {class: 'number'}, move.shard), el('td', {}, ...fromTo(move.from, move.to)),
      el('td', {}, ...waitsFor(move)),
      el('td', {class: 'wrap', title: move.cause?.words}, reasonBadge(move.reason), move.actor ? el('span', {class: 'dim'}, ` by ${move.actor}`) : null),
      el('td', {class: 'number'}, duration(lasts(move)))));
}

// ---- transitions

const MOST_ROWS = 120;
// After an expired lease the time until a death was noticed is an upper bound: no survivor knows when it happened.
const PHASES = [['detect_at_most_seconds', 'detect ≤ '], ['detect_seconds', 'detect '], ['elect_seconds', 'elect '], ['activate_seconds', 'activate ']];

const DEATHS = new Set(['lease_expired', 'process_died']);

function gapCells({gap, reason, to}) {
  const known = PHASES.filter(([phase]) => typeof gap?.[phase] === 'number');
  const detected = known.some(([phase]) => phase.startsWith('detect_'));
  const unknown = DEATHS.has(reason) && to !== null && !detected;
  if (known.length === 0) return [el('td', {class: 'dim'}, unknown ? '?' : '–'), el('td', {class: 'dim phases'}, unknown ? 'detect ?' : '–')];
  const total = known.reduce((sum, [phase]) => sum + gap[phase], 0);
  const bound = unknown ? '? + ' : gap.detect_at_most_seconds > 0 ? '≤ ' : '';
  const phases = (unknown ? 'detect ? · ' : '') + known.map(([phase, text]) => text + duration(gap[phase] * 1000)).join(' · ');
  return [el('td', {class: 'number', title: phases}, bound + duration(total * 1000)), el('td', {class: 'dim phases'}, phases)];
}

function timeOf(at) {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? '–' : time.toLocaleTimeString('en-GB');
}

const eventRow = (event) => el('tr', {'data-shard': event.shard},
    el('td', {class: 'dim', title: event.at}, timeOf(event.at)), el('td', {class: 'number'}, event.shard),
    el('td', {}, ...fromTo(event.from, event.to)),
    el('td', {class: 'wrap', title: event.cause?.words}, reasonBadge(event.reason), event.actor ? el('span', {class: 'dim'}, ` by ${event.actor}`) : null),
    ...gapCells(event), el('td', {class: 'number dim'}, event.term));

/** The newest first, at most MOST_ROWS. */
export function eventRows(events, meant) {
  const rows = [];
  for (let i = events.length - 1; i >= 0 && rows.length < MOST_ROWS; --i) {
    if (meant(events[i])) rows.push(eventRow(events[i]));
  }
  return rows;
}

// ---- facts

function etcdFact({overview, previous}) {
  const before = previous?.etcd ?? {calls: 0, failed: 0, seconds: 0};
  const calls = overview.etcd.calls - before.calls;
  const failed = overview.etcd.failed - before.failed;
  const each = calls > 0 ? `${duration((1000 * (overview.etcd.seconds - before.seconds)) / calls)} a call` : 'no calls';
  return ['etcd', overview.view_age_ms > 5000 ? 'silent' : failed > 0 ? `${count(failed, 'call')} failed` : 'answers',
          `${each}; view ${duration(overview.view_age_ms)} old`];
}

function sessionFact({session, renewal_age_ms: age, ttl_ms: ttl}) {
  return ['Session', session, session === 'relay' ? 'leads nothing' : `renewed ${duration(age)} ago, TTL ${duration(ttl)}`];
}

// If a view is stale, other nodes may have changed since.
const asOf = ({stale, suspended, view_age_ms: age}) =>
  (suspended > 0 ? `, ${number(suspended)} suspended` : '') + (stale ? `, others as of ${duration(age)} ago` : '');

/** The strip below the headline: [label, value, detail]. */
export function facts(model) {
  const {overview, shards} = model;
  const led = shards.filter(({state}) => state === 'led' || state === 'moving').length;
  const live = overview.nodes.filter((member) => member.live).length;
  const balance = overview.paused ? 'paused' : overview.balancer === null ? 'nobody' : overview.rebalance_requested ? 'applying' : 'on';
  const entries = [
    ['Shards led', number(led), `of ${number(overview.shard_count)}${asOf(overview)}`],
    ['Nodes', overview.expected_nodes === null ? number(live) : `${number(live)} of ${number(overview.expected_nodes)}`, `${number(overview.nodes.length - live + gone(overview).length)} gone`],
    ['Moves', number(overview.moves.length), 'in flight'],
    sessionFact(overview),
    etcdFact(model),
    ['Balance', balance, overview.balancer === null ? 'no balancer' : `by ${overview.balancer}`],
  ];
  return entries.map(([label, value, detail]) => el('div', {}, el('dt', {}, label), el('dd', {}, value), el('dd', {class: 'dim'}, detail)));
}
