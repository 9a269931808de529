// Words and elements. All text reaches the page through textContent: names are foreign input.

/** el('td', {class: 'x', title: 'y'}, 'text', child): children that are null are left out. */
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
    // A style attribute would need the page's policy to allow inline styles.
    if (name === 'style') {
      old.style.cssText = next.style.cssText;
    } else if (old.getAttribute(name) !== value) {
      old.setAttribute(name, value);
    }
  }
}

/** Makes the children of `element` what is given, and touches only what differs: focus, selection and
    scrolling survive. */
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

/** 1,234 ms as people say it: "1.2 s". */
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

/** How long something has lasted, in steps that don't flicker; `atLeast`: it was so when the node began to look. */
export function lasting(ms, atLeast = false) {
  if (ms < 1000) return atLeast ? 'since before this node started' : 'since just now';
  return `for ${atLeast ? 'at least ' : ''}${duration(Math.floor(ms / 1000) * 1000)}`;
}

export const words = (enumerator) => enumerator.replaceAll('_', ' ');

/** [3, 4, 5, 9] as "3–5, 9", at most `most` parts. Sorted, without doubles. */
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
