// A group of real batonds on a private etcd, for the page's tests.
//
// It uses only loopback, ports that the system picks, and files in a temporary folder. Nothing
// sleeps: `eventually` polls a condition for a limited time. end() ends only the processes that
// were started here. After a failure it keeps the folder, and says where it is.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtemp, open, readFile, rm} from 'node:fs/promises';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const PATIENCE_MS = 60_000;  // far more than any condition needs, even on a loaded machine
const POLL_MS = 25;
const ETCD_STARTS = 5;  // another process may take a free port before etcd binds it

const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

/** The first truthy result of `condition`. Throws, naming `what`, if there is none in time. */
export async function eventually(what, condition, bound = PATIENCE_MS) {
  const deadline = performance.now() + bound;
  let last = 'false';
  while (performance.now() < deadline) {
    try {
      const answer = await condition();
      if (answer) return answer;
      last = String(answer);
    } catch (error) {
      last = error.message;
    }
    await pause();
  }
  throw new Error(`not within ${bound} ms: ${what} (last: ${last})`);
}

async function freePorts(count) {
  const held = [];
  for (let i = 0; i < count; ++i) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    held.push(server);
  }
  const ports = held.map((server) => server.address().port);
  await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

// However this process ends, it ends the processes that it started.
const started = new Set();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
process.on('exit', () => started.forEach((child) => child.kill('SIGKILL')));

/** A program that writes its output to a file. */
class Program {
  static async start(command, words, logPath) {
    const log = await open(logPath, 'a');
    const child = spawn(command, words, {stdio: ['ignore', log.fd, log.fd]});
    const program = new Program(child, logPath);
    await once(child, 'spawn');
    await log.close();
    started.add(child);
    program.ended.then(() => started.delete(child));
    return program;
  }

  constructor(child, logPath) {
    this.child = child;
    this.logPath = logPath;
    this.ended = once(child, 'exit');
  }

  get running() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  async end(signal = 'SIGKILL') {
    if (this.running) this.child.kill(signal);
    await this.ended;
  }
}

async function startEtcd(folder) {
  for (let attempt = 0; attempt < ETCD_STARTS; ++attempt) {
    const [client, peer] = await freePorts(2);
    const at = (port) => `http://127.0.0.1:${port}`;
    const etcd = await Program.start('etcd', [
      '--name', 'e1', '--data-dir', join(folder, `etcd.${attempt}`), '--listen-client-urls', at(client),
      '--advertise-client-urls', at(client), '--listen-peer-urls', at(peer), '--initial-advertise-peer-urls', at(peer),
      '--initial-cluster', `e1=${at(peer)}`], join(folder, 'etcd.log'));
    const healthy = async () => !etcd.running || (await fetch(`${at(client)}/health`)).ok;
    await eventually('etcd is healthy', healthy);
    if (etcd.running) return {etcd, endpoint: `127.0.0.1:${client}`};
  }
  throw new Error(`etcd does not start; see ${folder}/etcd.log`);
}

export class Cluster {
  static async start(options = {}) {
    const folder = await mkdtemp(join(tmpdir(), 'baton-page-'));
    const cluster = new Cluster(folder, {shards: 24, ttl: '3s', flags: [], ...options});
    return Object.assign(cluster, await startEtcd(folder));
  }

  constructor(folder, options) {
    this.folder = folder;
    this.options = options;
    this.nodes = new Map();
  }

  /** Starts a node and waits until it is ready. Without a guard, unless the flags name one: the page shows how a lease
      ends. `command` is batond, or a program that takes its flags. */
  async add(id, flags = [], command = process.env.BATOND) {
    const ready = join(this.folder, `${id}.ready`);
    await rm(ready, {force: true});
    const program = await Program.start(command, [
      '--group', this.options.group ?? 'page', '--shards', String(this.options.shards), '--node', id, '--etcd', this.endpoint,
      '--listen', '127.0.0.1:0', '--http', '127.0.0.1:0', '--ttl', this.options.ttl, '--ready-file', ready,
      ...(flags.includes('--guard') ? [] : ['--guard', 'off']), '--state-dir', join(this.folder, `${id}.state`),
      ...this.options.flags, ...flags], join(this.folder, `${id}.log`));
    const node = {id, program};
    this.nodes.set(id, node);
    Object.assign(node, await eventually(`${id} is ready`, async () => JSON.parse(await readFile(ready, 'utf8'))));
    node.url = `${flags.includes('--tls-cert') ? 'https' : 'http'}://${node.http}`;
    return node;
  }

  async get(id, target) {
    const answer = await fetch(this.nodes.get(id).url + target);
    return answer.json();
  }

  /** Waits until `id` sees all shards led by exactly these nodes, evenly. */
  async balanced(id, nodes) {
    const {shards} = this.options;
    await eventually(`${nodes} share ${shards} shards`, async () => {
      const picture = await this.get(id, '/v1/shards');
      const led = new Map(nodes.map((node) => [node, 0]));
      for (const {leader, state} of picture.shards) {
        if (state !== 'led' || !led.has(leader)) return false;
        led.set(leader, led.get(leader) + 1);
      }
      const counts = [...led.values()];
      return Math.max(...counts) - Math.min(...counts) <= 1;
    });
  }

  async kill(id) {
    await this.nodes.get(id).program.end();
  }

  async batonctl(id, words) {
    const program = await Program.start(process.env.BATONCTL, ['--endpoint', this.nodes.get(id).grpc, ...words],
                                        join(this.folder, 'batonctl.log'));
    const [code] = await program.ended;
    if (code !== 0) throw new Error(`batonctl ${words.join(' ')}: exit ${code}; see ${program.logPath}`);
  }

  /** Puts a value below the group's prefix into etcd, without Baton. */
  async put(key, value) {
    const base64 = (text) => Buffer.from(text).toString('base64');
    const body = JSON.stringify({key: base64(`/baton/v1/${this.options.group ?? 'page'}/${key}`), value: base64(value)});
    const answer = await fetch(`http://${this.endpoint}/v3/kv/put`, {method: 'POST', body});
    if (!answer.ok) throw new Error(`etcd refused the put: ${answer.status}`);
  }

  async end({failed = false} = {}) {
    for (const {program} of this.nodes.values()) {
      program.child.kill('SIGCONT');
      await program.end();
    }
    await this.etcd.end();
    if (failed) return console.error(`logs are kept in ${this.folder}`);
    await rm(this.folder, {recursive: true, force: true});
  }
}
