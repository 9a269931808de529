// Makes elements and words. All text gets into the page through textContent, because names come from
// outside.

/** Makes an element: el('td', {class: 'x', title: 'y'}, 'text', child). Leaves out null children. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined).map(
      (child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return element;
}

export const byId = (id) => document.getElementById(id);

function settleAttributes(old, next) {
  for (const {name} of [...old.attributes]) {
    if (!next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const {name, value} of next.attributes) {
    // The page's policy does not allow style attributes.
    if (name === 'style') {
      old.style.cssText = next.style.cssText;
    } else if (old.getAttribute(name) !== value) {
      old.setAttribute(name, value);
    }
  }
}

/** Replaces the children of `element`, but only those that differ, so that focus, selection and the
    scroll position stay. */
export function fill(element, children) {
  const old = [...element.childNodes];
  children.map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))).forEach((next, i) => {
    const present = old[i];
    if (present === undefined) {
      element.append(next);
    } else if (present.nodeName !== next.nodeName) {
      present.replaceWith(next);
    } else if (next.nodeType === Node.TEXT_NODE) {
      if (present.data !== next.data) present.data = next.data;
    } else {
      settleAttributes(present, next);
      fill(present, [...next.childNodes]);
    }
  });
  for (const present of old.slice(children.length)) present.remove();
}

const NUMBERS = new Intl.NumberFormat('en-US');
export const number = (value) => NUMBERS.format(value);

export const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? '' : 's'}`;

/** A duration for people: 1,234 ms becomes "1.2 s". */
export function duration(ms) {
  if (ms < 1) return ms > 0 ? `${ms.toFixed(2)} ms` : '0 ms';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

/** How long something has lasted, in whole seconds so that it doesn't flicker. `atLeast`: it was so already when
    the node first saw it. */
export function lasting(ms, atLeast = false) {
  if (ms < 1000) return atLeast ? 'since before this node started' : 'since just now';
  return `for ${atLeast ? 'at least ' : ''}${duration(Math.floor(ms / 1000) * 1000)}`;
}

export const words = (enumerator) => enumerator.replaceAll('_', ' ');

/** [3, 4, 5, 9] becomes "3–5, 9", with at most `most` parts. `numbers` must be sorted, without duplicates. */
export function ranges(numbers, most = 8) {
  const parts = [];
  for (let i = 0; i < numbers.length;) {
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end] + 1) ++end;
    if (parts.length === most) return `${parts.join(', ')} and ${number(numbers.length - i)} more`;
    parts.push(end === i ? `${numbers[i]}` : `${numbers[i]}–${numbers[end]}`);
    i = end + 1;
  }
  return parts.join(', ');
}
