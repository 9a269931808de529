// Colours: named in style.css, for canvas and elements alike. Nodes have cool, quiet ones, so that
// red and amber always mean trouble.

const NODE_COLOURS = 12;
const places = new Map();  // by node, in the order of first sight; a node that is gone keeps its own

const probe = document.createElement('span');
probe.hidden = true;
document.documentElement.append(probe);

/** The value of a custom property of style.css in the present theme. */
export function colour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** Gives names without a colour theirs. Call with sorted names. */
export function introduce(names) {
  for (const name of names) {
    if (!places.has(name)) places.set(name, places.size);
  }
}

/** The custom property's name: "node-3". */
export const nodeColour = (name) => `node-${(places.get(name) ?? 0) % NODE_COLOURS}`;

export const nodeNames = () => [...places.keys()].sort();
