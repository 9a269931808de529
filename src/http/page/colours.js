// Colours: defined in style.css, for the canvas and for elements. Nodes have cool, quiet colours, so
// that red and amber always mean trouble.

const NODE_COLOURS = 12;
const places = new Map();  // by node, in the order of first sight; a node that is gone keeps its place

const probe = document.createElement('span');
probe.hidden = true;
document.documentElement.append(probe);

/** The value of a custom property of style.css, in the current theme. */
export function colour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** Gives each name that has no colour yet the next one. Call it with sorted names. */
export function introduce(names) {
  for (const name of names) {
    if (!places.has(name)) places.set(name, places.size);
  }
}

/** The name of the node's custom property, such as "node-3". */
export const nodeColour = (name) => `node-${(places.get(name) ?? 0) % NODE_COLOURS}`;

export const nodeNames = () => [...places.keys()].sort();
