// Attention: the findings, the worst first. Each names the shard, the problem, its duration, and the
// node to examine.

import {count, duration, el, lasting, number, ranges, words} from './words.js';

const GROUP_FROM = 6;       // from this many on, shards with one problem share a line
const STALE_VIEW_MS = 5000;  // a healthy view is proven to be current more often
const STANDBYS_LOAD_MS = 600000;  // the alert ShardsWithoutReadyStandby comes then

const WRONG = {
  unreadable: {one: 'has a record that can’t be read', many: 'have records that can’t be read', level: 'bad'},
  leaderless: {one: 'has no leader', many: 'have no leader', level: 'bad'},
  suspended: {one: 'is suspended', many: 'are suspended', level: 'bad'},
  failing: {one: 'fails to activate', many: 'fail to activate', level: 'bad'},
  moving: {one: 'is stuck moving', many: 'are stuck moving', level: 'warn'},
  activating: {one: 'is stuck activating', many: 'are stuck activating', level: 'warn'},
};

const node = (name) => el('b', {}, name);

/** Why nobody claims the shard yet, or one node only; empty if that is not so. */
function waitOf({deaths, claims_wait_ms: wait, waits_for: owner, others_wait_ms: others, lock_wait_ms: lock, rule, nobody_may_lead: nobody}) {
  if (nobody) return [`; placement rule ${rule} lets no live node lead it`];
  const locked = lock > 0 ? [`; nobody claims it for ${duration(lock)}, by the lock delay`] : [];
  if (owner) return ['; only ', node(owner), ` may claim it${others === null ? '' : ` for ${duration(others)}`}, by the group’s failover settings`, ...locked];
  if (lock > wait) return locked;
  return wait > 0 ? [`; its last ${deaths} leaders died soon, so nobody claims it for ${duration(wait)}`] : [];
}

function whyOf(sick) {
  const {problem, leader, previous, reason, move, failing} = sick;
  switch (problem) {
    case 'unreadable': return ['its record in etcd is damaged (the nodes repair it), or was written by a newer version (update the nodes); the nodes’ logs say which'];
    case 'leaderless':
      return previous === null ? ['nobody has led it yet', ...waitOf(sick)] : ['last led by ', node(previous), `, ${words(reason)}`, ...waitOf(sick)];
    case 'suspended': return [node(leader), ' has stopped until its lease is confirmed'];
    case 'failing': return [node(leader), `, ${count(failing.attempts, 'attempt')}; the last error: ${failing.last_error}`];
    case 'moving': return waitsFor(move);
    case 'activating': return [node(leader), '’s application has not returned from acquired'];
    default: return [];
  }
}

/** The node that a move waits for, and what it must do. */
export function waitsFor(move) {
  if (move === null) return [];
  return move.phase === 'prepared' ? [node(move.from ?? 'nobody'), ' to release'] : [node(move.to ?? 'nobody'), ' to prepare'];
}

function one(sick) {
  return {
    level: WRONG[sick.problem].level,
    shard: sick.shard,
    title: `Shard ${sick.shard} ${WRONG[sick.problem].one}`,
    lasts: lasting(sick.for_ms, sick.at_least),
    why: sick.problem === 'moving' ? ['waits for ', ...whyOf(sick)] : whyOf(sick),
  };
}

const nameOf = ({rule, require}) => (require === null ? `${rule}` : `${rule} (${require})`);

/** The placement rules that some shards don't keep in this way: "placement rules 1 (node=n9), 2 (zone=a)"; empty: none. */
function rulesWith({rules_not_kept: rules}, gap) {
  const named = rules.filter((rule) => rule[gap] > 0).map(nameOf);
  if (named.length === 0) return '';
  return `placement rule${named.length === 1 ? '' : 's'} ${named.slice(0, GROUP_FROM).join(', ')}${named.length > GROUP_FROM ? ' and others' : ''}`;
}

function group(problem, overview, shards, listed) {
  const {counts, nodes: named} = overview.attention;
  const longest = Math.max(0, ...listed.map((sick) => sick.for_ms));
  const nodes = named[problem] ?? [];
  const whose = {leaderless: 'last led by ', suspended: 'led by ', activating: 'led by ', moving: 'from '}[problem] ?? 'led by ';
  const rules = problem === 'leaderless' ? rulesWith(overview, 'nobody_may_lead') : '';
  const nobody = rules === '' ? [] : [`; no live node may lead some of them, by ${rules}`];
  const error = problem === 'failing' && listed.length > 0 ? [`; the last error of one: ${listed[0].failing.last_error}`] : [];
  return {
    level: WRONG[problem].level,
    title: `${count(counts[problem], 'shard')} ${WRONG[problem].many}`,
    lasts: lasting(longest, listed.some((sick) => sick.at_least)),
    why: [ranges(shards), ...(nodes.length > 0 ? ['; ', whose, node(nodes.slice(0, 5).join(', '))] : []), ...nobody, ...error],
  };
}

function shardFindings(model) {
  const {attention} = model.overview;
  const {counts, shards: listed} = attention;
  return Object.keys(WRONG).flatMap((problem) => {
    const of = listed.filter((sick) => sick.problem === problem);
    if (counts[problem] < GROUP_FROM) return of.map(one);
    // The list is cut, but the grid has all shards. It does not tell long moves and activations from
    // short ones, nor shards that fail, so for these only the list counts.
    const all = model.shards.filter((shard) => shard.state === problem).map(({shard}) => shard);
    const exact = ['failing', 'moving', 'activating'].includes(problem);
    const numbers = exact ? of.map(({shard}) => shard).sort((a, b) => a - b) : all;
    return [group(problem, model.overview, numbers, of)];
  });
}

const leaving = ({node, why, ago_ms: ago}) => `${node} (${why === null ? 'reason unknown' : words(why)}, ${duration(ago)} ago)`;

/** Fewer live nodes than an operator expects, and who left without a word within the last hour. */
function missingFindings({expected_nodes: expected, nodes, departed}) {
  const live = nodes.filter((member) => member.live).length;
  const left = departed.filter(({back, why}) => !back && why !== 'shutdown');
  const who = left.slice(0, GROUP_FROM).map(leaving).join(', ') + (left.length > GROUP_FROM ? ` and ${number(left.length - GROUP_FROM)} more` : '');
  if (expected !== null && live < expected) {
    return [{level: 'bad', title: `${number(live)} of ${number(expected)} expected nodes are live`, lasts: '', why: left.length > 0 ? [`gone: ${who}`] : ['see the nodes’ logs']}];
  }
  if (left.length === 0 || expected !== null) return [];
  return [{level: 'note', title: `${count(left.length, 'node')} left without a word within the last hour`, lasts: '', why: [who]}];
}

/** The rules that are not kept, except those by which nobody may lead. */
function ruleFindings(overview) {
  const late = overview.without_ready_standby_ms >= STANDBYS_LOAD_MS;
  const kinds = [
    ['led_against_rule', 'note', 'a leader that a rule forbids', 'until other nodes take over, nothing changes'],
    ['without_ready_standby', late ? 'warn' : 'note', 'no ready standby', `${late ? 'standbys are asked for' : 'the standbys may still load'}; batonctl shards list shows them`],
    ['fewer_standbys', 'note', 'fewer standbys than the rule asks for', 'too few nodes may stand by'],
    ['not_apart', 'note', 'a leader and standbys that are not apart', 'too few nodes have different values of the label of spread'],
  ];
  return kinds.flatMap(([gap, level, what, why]) => {
    const shards = overview.rules_not_kept.reduce((sum, rule) => sum + rule[gap], 0);
    if (shards === 0) return [];
    return [{level, title: `${count(shards, 'shard')} ${shards === 1 ? 'has' : 'have'} ${what}`, why: [`${rulesWith(overview, gap)}; ${why}`], lasts: ''}];
  });
}

function nodeFindings({overview}) {
  const found = [];
  const add = (level, title, why = []) => found.push({level, title, why, lasts: ''});
  const self = overview.node;
  if (overview.halted !== null) {
    add('bad', `Node ${self} has halted`, [overview.halted]);
  } else if (!overview.ready) {
    add('bad', `Node ${self} is not ready`, [overview.not_ready ?? 'no reason known']);
  }
  if (overview.view_age_ms > STALE_VIEW_MS) {
    add('bad', 'etcd does not answer this node', [`what it says of other nodes was so ${duration(overview.view_age_ms)} ago, and may have changed`]);
  }
  found.push(...missingFindings(overview));
  for (const member of overview.nodes) {
    if (!member.live) add('bad', `Node ${member.node} is gone`, ['its lease has ended, but its key still exists']);
  }
  if (overview.braking) add('warn', 'Many nodes vanished at once', ['shards without a leader wait until the membership has settled']);
  if (overview.paused) add('note', 'Balance is paused', ['run batonctl resume to end the pause']);
  found.push(...ruleFindings(overview));
  const live = overview.nodes.filter((member) => member.live);
  if (overview.balancer === null && live.length > 0) add('warn', 'No node is the balancer', ['shards without a leader still get one']);
  return found;
}

const flapFinding = ([shard, times]) => ({
  level: 'warn',
  shard,
  title: `Shard ${shard} is flapping`,
  lasts: `${times} failures in 5 min`,
  why: ['see its transitions below'],
});

/** [{level, title, lasts, why, shard?}], the worst first. */
export function findings(model) {
  const order = ['bad', 'warn', 'note'];
  const all = [...shardFindings(model), ...nodeFindings(model), ...model.flapping().slice(0, GROUP_FROM).map(flapFinding)];
  return all.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
}

/** The page's headline. */
export function verdict(model, found) {
  const {overview, shards} = model;
  const sick = Object.values(overview.attention.counts).reduce((sum, value) => sum + value, 0);
  const level = found.some((finding) => finding.level === 'bad') ? 'bad' : found.some((finding) => finding.level === 'warn') ? 'warn' : 'good';
  if (sick > 0) return {level, text: `${number(sick)} of ${count(shards.length, 'shard')} ${sick === 1 ? 'needs' : 'need'} attention`};
  if (level !== 'good') return {level, text: 'Needs attention'};
  const settling = shards.some(({state}) => state !== 'led');
  return {level, text: settling ? `All ${count(shards.length, 'shard')} have a leader` : `All ${count(shards.length, 'shard')} are led`};
}

export function findingRow({level, title, lasts, why, shard}) {
  const row = el('li', {'data-level': level},
      el('span', {class: 'title'}, title), el('span', {class: 'lasts'}, lasts), el('span', {class: 'why'}, ...why));
  if (shard === undefined) return row;
  row.dataset.shard = shard;
  row.tabIndex = 0;
  row.setAttribute('role', 'button');
  return row;
}
