// Draws one of Baton's dashboards from a Prometheus into a PNG file, by a headless Chromium. A preview, not Grafana: it
// knows the panel types, transformations and functions that dashboards/grafana/build.py uses, and refuses others.
//
//   node preview.mjs --prometheus http://127.0.0.1:9090 --dashboard ../grafana/fleet.json --out fleet.png
//     [--group NAME] [--seconds 3600] [--interval 15] [--width 1280] [--chromium /usr/bin/chromium]
//
// --interval is the scrape interval in seconds. Exit codes: 0 drawn, 1 not, 2 usage.
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';

import {chromium} from 'playwright-core';

import {Prometheus} from './prometheus.mjs';
import {Variables} from './variables.mjs';

const PANELS = ['row', 'stat', 'timeseries', 'heatmap', 'state-timeline', 'table'];
const FUNCTIONS = ['organize', 'partitionByValues'];

function options() {
  const {values} = parseArgs({options: {
    prometheus: {type: 'string'}, dashboard: {type: 'string'}, out: {type: 'string'}, group: {type: 'string'},
    seconds: {type: 'string', default: '3600'}, interval: {type: 'string', default: '15'},
    width: {type: 'string', default: '1280'}, chromium: {type: 'string', default: '/usr/bin/chromium'},
  }});
  for (const name of ['prometheus', 'dashboard', 'out']) {
    if (!values[name]) throw new Error(`--${name} is missing`);
  }
  for (const name of ['seconds', 'interval', 'width']) {
    if (!/^[1-9]\d{0,6}$/.test(values[name])) throw new Error(`--${name} ${values[name]}: a whole number is expected`);
    values[name] = Number(values[name]);
  }
  return values;
}

/** What Grafana would choose for a panel of so many of the 24 columns. */
function stepOf(panel, {seconds, interval, width}) {
  const pixels = Math.max(60, (width * panel.gridPos.w) / 24);
  return Math.max(interval, Math.ceil(seconds / (pixels / 4)));
}

async function answersOf(panel, variables, prometheus, given) {
  const step = stepOf(panel, given);
  const builtin = {__rate_interval: `${Math.max(step + given.interval, 4 * given.interval)}s`, __range: `${given.seconds}s`};
  return Promise.all(panel.targets.map(async (target) => {
    const expression = variables.fill(target.expr, builtin);
    const series = target.instant ? await prometheus.query(expression, given.now)
      : await prometheus.queryRange(expression, given.now - given.seconds, given.now, step);
    return {legend: target.legendFormat, series, step};
  }));
}

function refuseTheUnknown(dashboard) {
  for (const panel of dashboard.panels) {
    if (!PANELS.includes(panel.type)) throw new Error(`panel "${panel.title}": type ${panel.type} is not known here`);
    for (const {id} of panel.transformations ?? []) {
      if (!FUNCTIONS.includes(id)) throw new Error(`panel "${panel.title}": transformation ${id} is not known here`);
    }
  }
}

async function draw(dashboard, subtitle, given) {
  const here = (name) => fileURLToPath(new URL(name, import.meta.url));
  const browser = await chromium.launch({
    executablePath: given.chromium,
    // The sandbox needs a user other than root.
    args: ['--disable-background-networking', '--hide-scrollbars', ...(process.getuid() === 0 ? ['--no-sandbox'] : [])],
  });
  try {
    const page = await browser.newPage({viewport: {width: given.width, height: 800}, colorScheme: 'dark'});
    const complaints = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    await page.setContent(`<!doctype html><style>${readFileSync(here('page.css'))}</style><body></body>`);
    await page.addScriptTag({path: here('node_modules/echarts/dist/echarts.min.js')});
    await page.addScriptTag({path: here('units.js')});
    await page.addScriptTag({path: here('page.js')});
    await page.evaluate(([made, words, from, to]) => window.draw(made, words, from, to),
      [dashboard, subtitle, given.now - given.seconds, given.now]);
    if (complaints.length > 0) throw new Error(complaints.join('; '));
    await page.screenshot({path: given.out, fullPage: true});
    return await page.evaluate(() => document.body.innerText);
  } finally {
    await browser.close();
  }
}

async function main() {
  let given;
  try {
    given = options();
  } catch (error) {
    console.error(`preview: ${error.message}`);
    return 2;
  }
  try {
    const prometheus = new Prometheus(given.prometheus);
    given.now = Math.floor(Date.now() / 1000);
    const dashboard = JSON.parse(readFileSync(given.dashboard, 'utf8'));
    refuseTheUnknown(dashboard);
    const variables = await Variables.of(dashboard, prometheus, given);
    await Promise.all(dashboard.panels.filter((panel) => panel.type !== 'row').map(async (panel) => {
      panel.answers = await answersOf(panel, variables, prometheus, given);
    }));
    // The text of what was drawn, for those who can't look.
    console.log(await draw(dashboard, variables.words(), given));
    return 0;
  } catch (error) {
    console.error(`preview: ${error.message}`);
    return 1;
  }
}

process.exitCode = await main();
