// Small functions over the document. Markup is made of elements, never of text.

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// make returns an element with attributes and children. A child is an element or a text.
export const make = (name, attributes = {}, ...children) => {
  const el = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) {
    if (v === true) el.setAttribute(k, '');
    else if (v !== false && v != null) el.setAttribute(k, v);
  }
  el.append(...children.filter(c => c != null));
  return el;
};

const SVG = 'http://www.w3.org/2000/svg';

// draw returns an element of SVG.
export const draw = (name, attributes = {}, ...children) => {
  const el = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attributes)) if (v != null) el.setAttribute(k, v);
  el.append(...children);
  return el;
};

// glyph copies a glyph that the page has, by its name: <template data-glyph="fail">.
export const glyph = name => {
  const t = $(`template[data-glyph="${name}"]`);
  return t ? t.content.firstElementChild.cloneNode(true) : draw('svg', { class: 'ico', viewBox: '0 0 16 16' });
};

// say announces a text to assistive tools, at most one in five seconds; the newest wins.
let last = 0, timer = 0;
export const say = text => {
  clearTimeout(timer);
  const show = () => { last = Date.now(); $('#say').textContent = text; };
  const wait = last + 5000 - Date.now();
  if (wait <= 0) show(); else timer = setTimeout(show, wait);
};

// typing reports whether a key goes into a field.
export const typing = e => /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || e.target.isContentEditable;

export const count = n => n.toLocaleString('en');
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
