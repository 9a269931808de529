// Grid: each shard is a cell in its leader's colour. A shard with a problem is red or amber, is drawn
// larger than its cell, and has a flag with its number, so that it stands out among ten thousand.

import {colour, nodeColour, nodeNames} from './colours.js';

const LARGEST_CELL = 44;
const SMALLEST_CELL = 5;
const NUMBERS_FROM = 24;  // cells from this size on show their number
const MOST_FLAGS = 12;
const FLAG_HEIGHT = 20;
const FLAG_ROOM = 30;     // room above the first row
const FADED = 0.13;

function layOut(count, width, height) {
  const gutter = 10 + 7 * String(Math.max(0, count - 1)).length;
  const columnsOf = (cell) => {
    const columns = Math.max(1, Math.floor((width - gutter) / cell));
    return columns > 20 ? columns - (columns % 10) : columns;  // so that rows begin with round numbers
  };
  let cell = LARGEST_CELL;
  while (cell > SMALLEST_CELL && Math.ceil(count / columnsOf(cell)) * cell > height) --cell;
  const columns = columnsOf(cell);
  return {gutter, cell, columns, rows: Math.ceil(count / columns)};
}

export class Grid {
  constructor(canvas, tip, {describe, choose}) {
    this.canvas = canvas;
    this.tip = tip;
    this.describe = describe;
    this.choose = choose;
    this.shards = [];
    this.meant = () => true;
    this.selected = null;
    this.layout = layOut(0, 1, 1);
    canvas.addEventListener('pointermove', (event) => this.hover(event));
    canvas.addEventListener('pointerleave', () => (tip.hidden = true));
    canvas.addEventListener('click', (event) => this.pick(event));
    canvas.addEventListener('keydown', (event) => this.move(event));
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
  }

  show(shards, meant, selected) {
    Object.assign(this, {shards, meant, selected});
    this.draw();
  }

  draw() {
    const width = this.canvas.clientWidth;
    const phone = width < 600;
    this.layout = layOut(this.shards.length, width, phone ? 520 : 400);
    const {cell, columns, rows, gutter} = this.layout;
    const scale = window.devicePixelRatio || 1;
    const height = FLAG_ROOM + rows * cell + 4;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.height = `${height}px`;
    Object.assign(this.canvas.dataset, {cell, columns, gutter, top: FLAG_ROOM});
    const context = this.canvas.getContext('2d');
    context.scale(scale, scale);
    this.readColours();
    this.drawLabels(context);
    for (const shard of this.shards) this.drawCell(context, shard);
    context.globalAlpha = 1;
    this.drawSelection(context);
    this.drawFlags(context);
  }

  readColours() {
    this.nodes = new Map(nodeNames().map((name) => [name, colour(nodeColour(name))]));
    for (const name of ['bad', 'warn', 'dim', 'ink', 'card', 'on-bad', 'on-node', 'hole']) this[name] = colour(name);
  }

  at(shard) {
    const {cell, columns, gutter} = this.layout;
    return {x: gutter + (shard % columns) * cell, y: FLAG_ROOM + Math.floor(shard / columns) * cell};
  }

  drawLabels(context) {
    const {cell, columns, rows, gutter} = this.layout;
    const every = Math.max(1, Math.ceil(18 / cell));
    context.fillStyle = this.dim;
    context.font = '11px ui-monospace, monospace';
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (let row = 0; row < rows; row += every) context.fillText(String(row * columns), gutter - 7, FLAG_ROOM + (row + 0.5) * cell);
  }

  drawCell(context, shard) {
    const {cell} = this.layout;
    const {x, y} = this.at(shard.shard);
    const gap = cell >= 12 ? 2 : 1;
    const size = cell - gap;
    const round = Math.min(4, cell / 5);
    context.globalAlpha = this.meant(shard) ? 1 : FADED;
    const box = (inset, fill) => {
      context.fillStyle = fill;
      context.beginPath();
      context.roundRect(x + inset, y + inset, size - 2 * inset, size - 2 * inset, round);
      context.fill();
    };
    const own = this.nodes.get(shard.leader) ?? this.hole;
    switch (shard.state) {
      case 'leaderless':
      case 'unreadable': box(0, this.bad); break;
      case 'suspended': box(0, this.warn); break;
      case 'activating':
        box(0, own);
        box(Math.max(1, size * 0.12), this.card);
        if (cell < NUMBERS_FROM) box(size * 0.36, own);
        break;
      case 'moving':
        box(0, this.nodes.get(shard.to) ?? this.hole);
        context.fillStyle = own;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(x + size, y);
        context.lineTo(x, y + size);
        context.fill();
        break;
      default: box(0, own);
    }
    if (cell >= NUMBERS_FROM) this.drawNumber(context, shard, x + size / 2, y + size / 2);
  }

  drawNumber(context, {shard, state}, x, y) {
    const alarming = state === 'leaderless' || state === 'unreadable' || state === 'suspended';
    context.fillStyle = alarming ? this['on-bad'] : state === 'activating' ? this.ink : this['on-node'];
    context.font = `${alarming ? '700 ' : ''}${this.layout.cell >= 32 ? 12 : 11}px ui-sans-serif, system-ui, sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillText(String(shard), x, y);
  }

  drawSelection(context) {
    if (this.selected === null || this.selected >= this.shards.length) return;
    const {x, y} = this.at(this.selected);
    const size = this.layout.cell - 1;
    context.strokeStyle = this.ink;
    context.lineWidth = 2;
    context.strokeRect(x - 1.5, y - 1.5, size + 2, size + 2);
  }

  // Only if few shards have a problem: many make a red area that nobody overlooks.
  drawFlags(context) {
    const sick = this.shards.filter((shard) => shard.sick && this.meant(shard));
    const large = this.layout.cell >= NUMBERS_FROM;
    const taken = [];
    if (sick.length > MOST_FLAGS) return;
    for (const shard of sick) {
      this.drawRing(context, shard);
      if (!large) this.drawFlag(context, shard, taken);
    }
  }

  drawRing(context, {shard, state}) {
    const {x, y} = this.at(shard);
    const {cell} = this.layout;
    context.strokeStyle = this.toneOf(state);
    context.lineWidth = 2.5;
    context.beginPath();
    context.roundRect(x - 3, y - 3, cell + 4, cell + 4, 4);
    context.stroke();
  }

  drawFlag(context, {shard, state}, taken) {
    const {x, y} = this.at(shard);
    const {cell} = this.layout;
    context.font = '700 13px ui-sans-serif, system-ui, sans-serif';
    const width = context.measureText(String(shard)).width + 12;
    const total = this.canvas.clientWidth;
    const left = Math.min(Math.max(0, x + cell / 2 - width / 2), total - width);
    let top = y - FLAG_HEIGHT - 6;
    if (taken.some((box) => Math.abs(box.top - top) < FLAG_HEIGHT && box.left < left + width && left < box.left + box.width)) {
      top = y + cell + 6;
    }
    taken.push({left, top, width});
    context.fillStyle = this.toneOf(state);
    context.beginPath();
    context.roundRect(left, top, width, FLAG_HEIGHT, 5);
    context.fill();
    context.fillStyle = this['on-bad'];
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillText(String(shard), left + width / 2, top + FLAG_HEIGHT / 2 + 1);
  }

  toneOf(state) {
    return state === 'leaderless' || state === 'unreadable' ? this.bad : this.warn;
  }

  shardAt(event) {
    const {cell, columns, gutter} = this.layout;
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - gutter) / cell);
    const row = Math.floor((event.clientY - box.top - FLAG_ROOM) / cell);
    const shard = row * columns + column;
    return column < 0 || column >= columns || row < 0 || shard >= this.shards.length ? null : shard;
  }

  hover(event) {
    const shard = this.shardAt(event);
    this.tip.hidden = shard === null;
    if (shard === null) return;
    this.tip.textContent = this.describe(this.shards[shard]);
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const room = box.width - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, room))}px`;
    this.tip.style.top = `${event.clientY - box.top + 18}px`;
  }

  pick(event) {
    const shard = this.shardAt(event);
    if (shard !== null) this.choose(shard);
  }

  move(event) {
    const steps = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.layout.columns, ArrowDown: this.layout.columns};
    if (!(event.key in steps)) return;
    event.preventDefault();
    const from = this.selected ?? -1;
    this.choose(Math.max(0, Math.min(this.shards.length - 1, from + steps[event.key])));
  }
}
