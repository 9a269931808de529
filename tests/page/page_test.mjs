// The node's page as users see it: real nodes on a real etcd, in a real browser.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {after, afterEach, before, describe, test} from 'node:test';

import {cellOf, colourOf, openPage, startBrowser} from './browser.mjs';
import {Cluster, eventually} from './cluster.mjs';

let browser;
let failed = false;
before(async () => (browser = await startBrowser()));
after(() => browser?.close());

/** Registers a test whose failure keeps the cluster's logs. */
function check(sentence, body) {
  test(sentence, async () => {
    try {
      await body();
    } catch (error) {
      failed = true;
      throw error;
    }
  });
}

const text = (page, selector) => page.locator(selector).innerText();
const rows = async (page, table) => (await page.locator(`#${table} tbody tr`).allInnerTexts()).map((row) => row.split(/\s*\t\s*/));
const shows = (page, selector, wanted) => eventually(`${selector} shows ${wanted}`, async () => {
  const seen = await text(page, selector);
  return seen.includes(wanted) ? seen : Promise.reject(new Error(seen));
});
const findings = (page, wanted) => shows(page, '#findings', wanted);

describe('three nodes and 24 shards', () => {
  let cluster;
  let open;
  before(async () => {
    cluster = await Cluster.start({shards: 24, flags: ['--settle', '500ms', '--rebalance-delay', '500ms', '--cooldown', '1s']});
    for (const id of ['n1', 'n2', 'n3']) await cluster.add(id, ['--zone', `zone-${id}`, ...(id === 'n2' ? ['--label', 'disk=ssd,rack=r7'] : [])]);
    await cluster.balanced('n1', ['n1', 'n2', 'n3']);
  });
  after(() => cluster?.end({failed}));
  const view = async (options) => {
    open = await openPage(browser, cluster.nodes.get('n1').url, options);
    return open.page;
  };
  afterEach(async () => {
    const complaints = open?.complaints ?? [];
    await open?.close();
    open = undefined;
    assert.deepEqual(complaints, []);
  });

  check('a healthy group says so in one line, and shows who leads what', async () => {
    const page = await view();
    assert.equal(await shows(page, '#verdict', 'All 24 shards are led'), 'All 24 shards are led');
    assert.equal(await text(page, '#findings'), '');
    assert.equal(await page.locator('body').getAttribute('data-health'), 'good');
    assert.match(await text(page, '#seen-from'), /seen from n1/);
    const nodes = await rows(page, 'nodes');
    assert.deepEqual(nodes.map(([name, state, load]) => [name.split(' ')[0], state, load]),
                     ['n1', 'n2', 'n3'].map((id) => [id, 'active', '8 / 8']));
    assert.deepEqual(nodes.map((row) => row[5]), ['zone-n1', 'zone-n2\ndisk=ssd, rack=r7', 'zone-n3']);
    assert.match(nodes[0][3], / left$/);
    assert.match(await text(page, '#moves tbody'), /No moves/);
  });

  check('the browser may load nothing from elsewhere, and is told so', async () => {
    const page = await view();
    const answer = await page.request.get(`${cluster.nodes.get('n1').url}/`);
    const policy = answer.headers()['content-security-policy'];
    assert.match(policy, /^default-src 'none'; /);
    assert.ok(!/unsafe|https?:|\*/.test(policy), policy);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.equal(answer.headers()['cross-origin-opener-policy'], 'same-origin');
    // A script that the policy forbids does not run, even if it gets into the page.
    const ran = await page.evaluate(() => {
      document.body.insertAdjacentHTML('beforeend', '<img src="/page/icon.svg" onload="window.ran = true">');
      return new Promise((resolve) => document.addEventListener('securitypolicyviolation', () => resolve(window.ran === true)));
    });
    assert.equal(ran, false);
    await eventually('the browser’s words about that', () => open.complaints.some((line) => line.includes('Content Security Policy')));
    open.complaints.length = 0;
  });

  check('a click on a cell opens its shard, and arrows go on', async () => {
    // Plan: clicking a cell shows its shard with the leader and term of /v1/shards. A key selects
    // the next. It can be closed.
    const page = await view();
    const known = await cluster.get('n1', '/v1/shards/7');
    await page.locator('#grid').click({position: await cellOf(page, 7)});
    await shows(page, '#shard', String(known.term));
    const panel = await text(page, '#shard');
    assert.match(panel, /Shard 7\b/);
    assert.match(panel, new RegExp(`Leader\\s+${known.leader}`));
    await page.locator('#grid').press('ArrowRight');
    await shows(page, '#shard h3', 'Shard 8');
    await page.locator('#shard button').click();
    assert.equal(await page.locator('#shard').isVisible(), false);
  });

  check('hovering names the shard under the pointer', async () => {
    const page = await view();
    await page.locator('#grid').hover({position: await cellOf(page, 11)});
    assert.match(await text(page, '#tip'), /^shard 11 · n\d leads · led · /);
  });

  check('filters narrow grid and transitions by node, state, shard and reason', async () => {
    const page = await view();
    const matching = (wanted) => shows(page, '#matching', wanted);
    await page.selectOption('#filter-node', 'n2');
    await matching('8 of 24 match');
    await page.fill('#filter-shard', '0-23');
    await matching('8 of 24 match');
    await page.click('#filter-clear');
    await matching('24');
    await page.click('#legend button[data-node="n3"]');
    await matching('8 of 24 match');
    assert.equal(await page.inputValue('#filter-node'), 'n3');
    await page.click('#legend button[data-node="n3"]');
    await page.fill('#filter-shard', '3, 7-9');
    await matching('4 of 24 match');
    await eventually('only their transitions', async () => (await rows(page, 'events')).every((row) => ['3', '7', '8', '9'].includes(row[1])));
    assert.notDeepEqual(await colourOf(page, 8), await colourOf(page, 12), 'what is not meant is faded');
    await page.selectOption('#filter-state', 'leaderless');
    await matching('0 of 24 match');
    await page.click('#filter-clear');
    await page.selectOption('#filter-reason', 'operator');
    await matching('0 of 24 match');
    await shows(page, '#events tbody', 'This node has seen none.');
    await page.fill('#filter-shard', 'seven');
    assert.equal(await page.locator('#filter-shard').evaluate((input) => input.validity.valid), false);
  });

  check('an operator’s transfer is shown live, with reason and actor', async () => {
    const page = await view();
    const {leader} = await cluster.get('n1', '/v1/shards/5');
    const target = leader === 'n3' ? 'n2' : 'n3';
    await cluster.batonctl('n1', ['pause']);
    await findings(page, 'Balance is paused');
    await cluster.batonctl('n1', ['shards', 'transfer', '5', '--to', target]);
    const row = await eventually('its transition', async () => (await rows(page, 'events')).find((cells) => cells[1] === '5' && cells[3].includes('operator')));
    assert.match(row[2], new RegExp(`${leader}\\s*→\\s*${target}`));
    assert.equal(row[4], '–', 'n1 saw no moment without a leader');
    const own = await openPage(browser, cluster.nodes.get(target).url);
    const told = await eventually('it, on the page of who gained the shard', async () => (await rows(own.page, 'events')).find((cells) => cells[1] === '5' && cells[3].includes('operator')));
    assert.match(told[4], /ms|s$/);
    await own.close();
    await page.locator('#grid').click({position: await cellOf(page, 5)});
    await shows(page, '#shard', 'an operator moved it');
    await cluster.batonctl('n1', ['resume']);
    await shows(page, '#verdict', 'All 24 shards are led');
  });

  check('a shard names the nodes that stand by for it', async () => {
    // Plan: a rule asks for a standby of shard 9. Nothing has to be loaded here, so it is ready.
    const rules = join(cluster.folder, 'standbys.yaml');
    await writeFile(rules, 'rules: [{shards: 9, standbys: 1}]');
    await cluster.batonctl('n1', ['placement', 'set', rules]);
    const {standbys} = await eventually('a ready standby', async () => {
      const shard = await cluster.get('n1', '/v1/shards/9');
      return shard.standbys[0]?.ready ? shard : undefined;
    });
    const page = await view();
    await page.locator('#grid').click({position: await cellOf(page, 9)});
    await shows(page, '#shard', `${standbys[0].node} ready`);
    await writeFile(rules, 'rules: []');
    await cluster.batonctl('n1', ['placement', 'set', rules]);
  });

  check('shards that lack a ready standby are counted, and one says so itself', async () => {
    // Plan: a rule asks for a standby of shard 9, and lets no other node than its leader lead it.
    const {leader} = await cluster.get('n1', '/v1/shards/9');
    const rules = join(cluster.folder, 'no-standby.yaml');
    await writeFile(rules, `rules: [{shards: 9, node: ${leader}, standbys: 1}]`);
    await cluster.batonctl('n1', ['placement', 'set', rules]);
    const page = await view();
    await findings(page, '1 shard has no ready standby');
    await findings(page, '1 shard has fewer standbys than the rule asks for');
    await findings(page, `placement rule 1 (node=${leader}); too few nodes may stand by`);
    await shows(page, '#verdict', 'All 24 shards are led');  // it might load: only the alert's time makes it a warning
    await page.locator('#grid').click({position: await cellOf(page, 9)});
    await shows(page, '#shard', 'rule 1 asks for standbys, and none is ready');
    await writeFile(rules, 'rules: []');
    await cluster.batonctl('n1', ['placement', 'set', rules]);
    await shows(page, '#verdict', 'All 24 shards are led');
  });

  check('a rule whose standbys can’t be apart is named', async () => {
    // Plan: a rule spreads leader and standby of shard 9 by a label that no node has.
    const rules = join(cluster.folder, 'rooms.yaml');
    await writeFile(rules, 'rules: [{shards: 9, standbys: 1, spread: room}]');
    await cluster.batonctl('n1', ['placement', 'set', rules]);
    const page = await view();
    await findings(page, '1 shard has a leader and standbys that are not apart');
    await findings(page, 'placement rule 1 (any node); too few nodes have different values of the label of spread');
    await shows(page, '#verdict', 'All 24 shards are led');
    await writeFile(rules, 'rules: []');
    await cluster.batonctl('n1', ['placement', 'set', rules]);
    await eventually('no word of it', async () => !(await text(page, '#findings')).includes('not apart'));
  });

  check('a shard whose rule names a node that is not there says so, and is led on', async () => {
    const rules = join(cluster.folder, 'nobody.yaml');
    await writeFile(rules, 'rules: [{shards: 9, node: n9}]');
    await cluster.batonctl('n1', ['placement', 'set', rules]);
    const page = await view();
    await page.locator('#grid').click({position: await cellOf(page, 9)});
    await shows(page, '#shard', 'rule 1 would not let its leader begin to lead it');
    await findings(page, '1 shard has a leader that a rule forbids');
    await findings(page, 'placement rule 1 (node=n9); until other nodes take over, nothing changes');
    await shows(page, '#verdict', 'All 24 shards are led');
    await writeFile(rules, 'rules: []');
    await cluster.batonctl('n1', ['placement', 'set', rules]);
  });

  check('in the dark it is dark, and the button changes that', async () => {
    const page = await view({colorScheme: 'dark'});
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).map(Number));
    assert.ok(Math.max(...await ground()) < 60);
    await page.click('#theme');
    assert.ok(Math.min(...await ground()) > 200);
    assert.equal(await text(page, '#verdict'), 'All 24 shards are led');
  });

  check('on any desktop all columns of all tables are seen', async () => {
    // Plan: from a small window to a wide screen, on both sides of where the tables stand side by side.
    const page = await view();
    await eventually('rows', async () => (await rows(page, 'nodes')).length === 3);
    for (const width of [901, 1000, 1200, 1280, 1360, 1361, 1480, 1920]) {
      await page.setViewportSize({width, height: 900});
      const cut = await page.evaluate(() => [...document.querySelectorAll('.scroll')]
          .filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.firstElementChild.id));
      assert.deepEqual(cut, [], `cut at ${width} px`);
    }
  });

  check('on a phone nothing is wider than the screen', async () => {
    const page = await view({viewport: {width: 360, height: 740}, isMobile: true, hasTouch: true, deviceScaleFactor: 3});
    await shows(page, '#verdict', 'All 24 shards are led');
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    await page.locator('#grid').tap({position: await cellOf(page, 23)});
    await shows(page, '#shard h3', 'Shard 23');
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  });

  check('a record that this version can’t read names its shard', async () => {
    // Plan: shard 9's record gets a far newer schema (field 1 is 99), so no node replaces it.
    const page = await view();
    await cluster.put('shards/9', '\x08\x63');
    await findings(page, 'Shard 9 has a record that can’t be read');
    assert.match(await text(page, '#verdict'), /^1 of 24 shards needs attention$/);
    assert.match(await page.title(), /Shard 9/);
    const [red, green, blue] = await eventually('a red cell', async () => {
      const pixel = await colourOf(page, 9);
      return pixel[0] > 2 * pixel[2] && pixel;
    });
    assert.ok(red > 2 * green && red > 2 * blue);
    await page.click('#findings li[data-shard="9"]');
    await shows(page, '#shard h3', 'Shard 9');
  });

  check('a kill is shown live, and who took over', async () => {
    // Plan: balance is paused, so nothing else moves. A rule lets n2 alone lead one of its shards.
    // n1's page stays open while n2 is killed, and shows that its shards change hands, but that one,
    // whose rule it names. On a very slow machine other nodes may lose their leases, too; their
    // shards are not checked.
    const page = await view();
    const ledByN2 = async () => (await cluster.get('n1', '/v1/shards')).shards.filter(({leader, state}) => leader === 'n2' && state === 'led');
    await eventually('n2 leads some', async () => (await ledByN2()).length > 0);
    await cluster.batonctl('n1', ['pause']);
    await eventually('nothing moves', async () => (await cluster.get('n1', '/v1/overview')).moves.length === 0);
    const [{shard: bound}, ...led] = await ledByN2();
    assert.ok(led.length > 0);
    const rules = join(cluster.folder, 'n2-alone.yaml');
    await writeFile(rules, `rules: [{shards: ${bound}, node: n2}]`);
    await cluster.batonctl('n1', ['placement', 'set', rules]);
    await cluster.kill('n2');
    await page.selectOption('#filter-reason', 'lease_expired');
    await eventually('each of its shards went to n1 or n3', async () => {
      const lost = (await rows(page, 'events')).filter((row) => row[3] === 'lease expired' && /^n2\s*→\s*n[13]$/.test(row[2]));
      const shards = new Set(lost.map((row) => Number(row[1])));
      return led.every(({shard}) => shards.has(shard));
    });
    await page.click('#filter-clear');
    await eventually('n2 is gone', async () => {
      const nodes = await rows(page, 'nodes');
      return nodes.length === 3 && nodes.filter((row) => row[1] === 'gone').map((row) => row[0]).join() === 'n2';
    });
    await eventually('n2 leads nothing', async () => (await page.locator('#legend button').allInnerTexts()).every((chip) => !chip.startsWith('n2')));
    await findings(page, `Shard ${bound} has no leader`);
    await findings(page, 'placement rule 1 lets no live node lead it');
    await page.locator('#grid').click({position: await cellOf(page, bound)});
    await shows(page, '#shard', 'rule 1 lets no live node lead it');
  });

  check('a node that does not answer is said to be silent, and comes back', async () => {
    const page = await view();
    const {program} = cluster.nodes.get('n1');
    program.child.kill('SIGSTOP');
    await shows(page, '#verdict', 'This node does not answer');
    assert.equal(await page.locator('body').getAttribute('data-health'), 'lost');
    program.child.kill('SIGCONT');
    await eventually('an answer', async () => (await page.locator('body').getAttribute('data-health')) !== 'lost');
    open.complaints.splice(0, Infinity, ...open.complaints.filter((line) => !line.startsWith('console: Failed to load')));
  });
});

describe('a move whose target stands still', () => {
  let cluster;
  let open;
  before(async () => {
    cluster = await Cluster.start({shards: 6, ttl: '60s'});
    for (const id of ['n1', 'n2']) await cluster.add(id);
    await cluster.balanced('n1', ['n1', 'n2']);
    open = await openPage(browser, cluster.nodes.get('n1').url);
  });
  after(async () => {
    await open?.close();
    await cluster?.end({failed});
  });

  check('is in flight, then stuck, and the page says whom it waits for', async () => {
    const {page, complaints} = open;
    const {shards} = await cluster.get('n1', '/v1/shards');
    const {shard} = shards.find(({leader}) => leader === 'n1');
    cluster.nodes.get('n2').program.child.kill('SIGSTOP');
    await cluster.batonctl('n1', ['shards', 'transfer', String(shard), '--to', 'n2', '--detach']);
    const move = await eventually('the move', async () => (await rows(page, 'moves')).find((row) => row[0] === String(shard)));
    assert.match(move[1], /^n1\s*→\s*n2$/);
    assert.match(move[2], /^n2 to prepare$/);
    await findings(page, `Shard ${shard} is stuck moving`);
    assert.match(await text(page, '#findings'), /waits for n2 to prepare/);
    assert.deepEqual(complaints, []);
  });
});

describe('an application that fails, and a process that dies', () => {
  let cluster;
  let open;
  let cause;
  before(async () => {
    // The lease is so long that nobody sees its end.
    cluster = await Cluster.start({shards: 6, ttl: '60s', flags: ['--settle', '500ms', '--rebalance-delay', '500ms', '--cooldown', '1s']});
    cause = join(cluster.folder, 'cause');
    await writeFile(cause, 'a file is missing');
    await cluster.add('h', ['--mode', 'throw-while', '--shard', '2', '--while', cause, '--callback-ms', '30000'], process.env.HANGING_NODE);
    open = await openPage(browser, cluster.nodes.get('h').url);
  });
  after(async () => {
    await open?.close();
    await cluster?.end({failed});
  });

  check('a shard that fails to activate is named with its attempts and its last error', async () => {
    // Plan: `acquired` of shard 2 throws each time, and there is no other node to try it.
    const {page, complaints} = open;
    const error = /(\d+) attempts?\b.*; the last error: this shard's state can't be loaded/;
    await findings(page, 'Shard 2 fails to activate');
    const found = await eventually('several attempts', async () => {
      const [, attempts] = (await text(page, '#findings')).match(error);
      return Number(attempts) > 2 && text(page, '#findings');
    });
    assert.match(found, /\bh, \d+ attempts; the last error/);
    await page.click('#findings li[data-shard="2"]');
    await shows(page, '#shard', 'Fails to activate');
    assert.match(await text(page, '#shard'), error);
    await rm(cause);
    await shows(page, '#verdict', 'All 6 shards are led');
    assert.deepEqual(complaints, []);
  });

  check('a proven death is shown in words, for each shard of the dead process', async () => {
    // Plan: n1 is killed, and starts again with its state directory, which proves the death.
    const {page, complaints} = open;
    await cluster.add('n1');
    await cluster.balanced('h', ['h', 'n1']);
    const {shards} = await cluster.get('h', '/v1/shards');
    const lost = shards.filter(({leader}) => leader === 'n1').map(({shard}) => shard);
    assert.equal(lost.length, 3);
    await cluster.kill('n1');
    await cluster.add('n1');
    await eventually('the death of the leader of each', async () => {
      const died = (await rows(page, 'events')).filter((row) => row[3] === 'process died' && /^n1\s*→\s*(h|n1)$/.test(row[2]));
      return died.map((row) => Number(row[1])).sort().join() === lost.join();
    });
    assert.deepEqual(complaints, []);
  });

  check('a death that a guard tells of has the time until it told', async () => {
    // Plan: n2 has a guard, and is killed. Others lead its shards long before its lease could end.
    const {page, complaints} = open;
    await cluster.add('n2', ['--guard', 'own']);
    await cluster.balanced('h', ['h', 'n1', 'n2']);
    await cluster.kill('n2');
    const row = await eventually('the death of a leader', async () => (await rows(page, 'events')).find(
        (cells) => /^n2\s*→\s*(h|n1)$/.test(cells[2]) && cells[3] === 'process died'));
    assert.match(row[5], /^detect [\d.]+ m?s\b/);
    assert.deepEqual(complaints, []);
  });
});

describe('ten thousand shards', () => {
  const SHARDS = 10_000;
  let cluster;
  before(async () => {
    // No node takes anything before both are there.
    cluster = await Cluster.start({shards: SHARDS, ttl: '15s', flags: ['--expect-nodes', '2', '--settle', '60s']});
    await Promise.all(['n1', 'n2'].map((id) => cluster.add(id)));
    await cluster.add('n3', ['--weight', '0']);
    await cluster.balanced('n3', ['n1', 'n2']);
  });
  after(() => cluster?.end({failed}));

  for (const [what, options] of [['a desktop', {}], ['a phone', {viewport: {width: 390, height: 844}, isMobile: true, hasTouch: true}]]) {
    check(`are all on the grid of ${what}, and one is found by its number`, async () => {
      const {page, complaints, close} = await openPage(browser, cluster.nodes.get('n3').url, options);
      await shows(page, '#verdict', 'All 10,000 shards are led');
      await page.fill('#filter-shard', '4321');
      await shows(page, '#matching', '1 of 10,000 match');
      const last = await cellOf(page, SHARDS - 1);
      await page.locator('#grid').click({position: last});
      await shows(page, '#shard h3', `Shard ${SHARDS - 1}`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), page.viewportSize().width);
      assert.deepEqual(complaints, []);
      await close();
    });
  }

  check('and one that is sick is named among them', async () => {
    const {page, complaints, close} = await openPage(browser, cluster.nodes.get('n3').url);
    await cluster.put('shards/6180', '\x08\x63');
    await findings(page, 'Shard 6180 has a record that can’t be read');
    assert.deepEqual(complaints, []);
    await close();
  });

  check('and when all lose their leaders, one line says so', async () => {
    // Plan: n3 has weight 0 and takes nothing. The two leaders are killed.
    const {page, complaints, close} = await openPage(browser, cluster.nodes.get('n3').url);
    await Promise.all(['n1', 'n2'].map((id) => cluster.kill(id)));
    await findings(page, 'shards have no leader');
    await eventually('all of them', async () => /(9,999|10,000) shards have no leader/.test(await text(page, '#findings')));
    assert.match(await text(page, '#findings'), /last led by n1, n2/);
    assert.deepEqual(complaints, []);
    await close();
  });
});

describe('a node whose ports have TLS', () => {
  let cluster;
  after(() => cluster?.end({failed}));

  check('the page loads over https, and follows what happens', async () => {
    cluster = await Cluster.start({shards: 4, flags: ['--settle', '500ms']});
    const cert = join(cluster.folder, 'cert.pem');
    const key = join(cluster.folder, 'key.pem');
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30',
                             '-subj', '/CN=n1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], {stdio: 'ignore'});
    const {url} = await cluster.add('n1', ['--tls-cert', cert, '--tls-key', key]);
    assert.ok(url.startsWith('https:'), url);
    const open = await openPage(browser, url, {ignoreHTTPSErrors: true});
    await shows(open.page, '#verdict', 'All 4 shards are led');
    await cluster.batonctl('n1', ['--tls-ca', cert, 'pause']);
    await findings(open.page, 'Balance is paused');
    await eventually('the feed has told of each shard', async () => (await rows(open.page, 'events')).length === 4);
    assert.deepEqual(open.complaints, []);
    await open.close();
  });
});
