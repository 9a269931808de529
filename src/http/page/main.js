// The page of one node. Its data (feed.js) goes into the model (model.js), and one function renders it.

import {findingRow, findings, verdict} from './attention.js';
import {introduce, nodeColour, nodeNames} from './colours.js';
import {EventFeed, OverviewFeed} from './feed.js';
import {Filters} from './filters.js';
import {Grid} from './grid.js';
import {Model} from './model.js';
import {ShardPanel} from './shard.js';
import {eventRows, facts, moveRows, nodeRows} from './tables.js';
import {byId, count, duration, el, fill, number, words} from './words.js';

const model = new Model();
const filters = new Filters(() => render());
const panel = new ShardPanel(() => choose(null));
const grid = new Grid(byId('grid'), byId('tip'), {describe: describeShard, choose});
let answeredAt = 0;
let silence = null;  // why the node does not answer
let drawing = false;

const overviews = new OverviewFeed(
    (overview) => {
      answeredAt = performance.now();
      silence = null;
      model.setOverview(overview);
      introduce(overview.grid.nodes.toSorted());
      panel.open(panel.shard);
      render();
    },
    (error) => {
      silence = error.message;
      render();
    });

const events = new EventFeed(
    (news, {restart}) => {
      model.addEvents(news, restart);
      if (news.length > 0) overviews.soon();
      render();
    },
    (state) => (byId('events-note').textContent = state));

/** Renders the page, at most once a frame. */
function render() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (silence !== null) showSilence();
    if (model.overview !== null) showOverview();
  });
}

function showSilence() {
  document.body.dataset.health = 'lost';
  const age = answeredAt === 0 ? '' : `; this page’s data is ${duration(performance.now() - answeredAt)} old`;
  byId('verdict').textContent = 'This node does not answer';
  fill(byId('findings'), [findingRow({level: 'bad', title: silence, lasts: '', why: [`retrying${age}`]})]);
  document.title = '✖ Baton: no answer';
}

function showOverview() {
  const {overview} = model;
  byId('group').textContent = overview.group;
  fill(byId('seen-from'), ['seen from ', el('b', {}, overview.node), ` · revision ${number(overview.revision)}`]);
  filters.offer(nodeNames(), Object.values(overview.grid.state_letters), Object.values(overview.grid.reason_letters));
  if (silence === null) showAttention();
  fill(byId('facts'), facts(model));
  showShards();
  fill(byId('nodes').tBodies[0], nodeRows(model));
  showMoves();
  showEvents();
  panel.show(model);
}

function showAttention() {
  const found = findings(model);
  const {level, text} = verdict(model, found);
  document.body.dataset.health = level;
  byId('verdict').textContent = text;
  fill(byId('findings'), found.map(findingRow));
  const mark = {good: '✔', warn: '⚠', bad: '✖'}[level];
  document.title = `${mark} ${model.overview.group}: ${found[0]?.title ?? text}`;
}

function showShards() {
  const meant = (shard) => !filters.active || filters.meansShard(shard);
  grid.show(model.shards, meant, panel.shard);
  const matching = model.shards.filter(meant).length;
  byId('matching').textContent = filters.active ? `${number(matching)} of ${number(model.shards.length)} match` : number(model.shards.length);
  byId('grid').setAttribute('aria-label', `${byId('verdict').textContent}: a cell for each shard, in its leader’s colour`);
  const led = new Map();
  for (const {leader} of model.shards) led.set(leader, (led.get(leader) ?? 0) + 1);
  const chip = (name) => {
    const mark = el('i', {class: 'dot'});
    mark.style.backgroundColor = `var(--${nodeColour(name)})`;
    return el('button', {type: 'button', 'data-node': name, 'aria-pressed': String(filters.node.value === name)},
        mark, name, el('span', {class: 'dim'}, ` ${number(led.get(name) ?? 0)}`));
  };
  fill(byId('legend'), [
    ...nodeNames().filter((name) => led.has(name) || model.overview.grid.nodes.includes(name)).map(chip),
    ...['leaderless', 'unreadable', 'suspended', 'moving', 'activating'].map((state) => el('span', {class: 'state', 'data-state': state}, el('i'), state)),
  ]);
}

function showMoves() {
  const all = model.overview.moves.length;
  const rows = moveRows(model, (move) => !filters.active || filters.meansShard({...model.shards[move.shard], reason: move.reason}));
  byId('move-count').textContent = all > rows.length ? `${number(rows.length)} of ${number(all)}` : number(all);
  fill(byId('moves').tBodies[0], rows.length > 0 ? rows : [emptyRow(5, 'No moves.')]);
}

function showEvents() {
  const meant = (event) => !filters.active || filters.meansEvent(event, model.shards[event.shard]?.state);
  const rows = eventRows(model.events, meant);
  fill(byId('events').tBodies[0], rows.length > 0 ? rows : [emptyRow(7, 'This node has seen none.')]);
}

const emptyRow = (columns, text) => el('tr', {class: 'empty'}, el('td', {colspan: columns}, text));

function describeShard({shard, leader, state, reason, to}) {
  const who = leader === null ? 'nobody leads' : `${leader} leads`;
  const where = state === 'moving' && to ? ` to ${to}` : '';
  return `shard ${shard} · ${who} · ${words(state)}${where} · ${words(reason)}`;
}

function choose(shard) {
  panel.open(shard);
  overviews.soon();
  render();
}

/** Opens the shard that the clicked element names. */
function openNamed(event) {
  const named = event.target.closest('[data-shard]');
  if (named === null || event.target.closest('a')) return;
  choose(Number(named.dataset.shard));
  byId('grid').scrollIntoView({block: 'nearest', behavior: 'smooth'});
}

function switchTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const now = document.documentElement.dataset.theme ?? (dark ? 'dark' : 'light');
  document.documentElement.dataset.theme = now === 'dark' ? 'light' : 'dark';
  render();
}

for (const id of ['findings', 'moves', 'events']) byId(id).addEventListener('click', openNamed);
byId('findings').addEventListener('keydown', (event) => event.key === 'Enter' && openNamed(event));
byId('legend').addEventListener('click', (event) => {
  const chip = event.target.closest('button');
  if (chip !== null) filters.toggleNode(chip.dataset.node);
});
byId('theme').addEventListener('click', switchTheme);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', render);
overviews.soon();
events.open();
