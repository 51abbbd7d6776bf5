// The overview reads itself again when runs change, at most every two seconds. What the reader points at or has focused
// stays as it is.
import htmx from './htmx.js';

const EVERY = 2000;
let last = 0, timer = 0;

const still = () => {
  for (const id of ['ov-needs', 'ov-side']) {
    const el = document.getElementById(id);
    el?.toggleAttribute('hx-morph-skip', el.matches(':hover, :focus-within'));
  }
};

const refresh = () => {
  timer = 0;
  last = Date.now();
  still();
  htmx.ajax('GET', `/ui/${location.search}`, { target: '#ov', swap: 'none' });
};

const changed = () => { if (!document.hidden) timer ||= setTimeout(refresh, Math.max(300, last + EVERY - Date.now())); };
const names = ['run', 'held', 'reset', 'poll'].map(n => `writ:${n}`);

export const mount = () => { for (const n of names) document.addEventListener(n, changed); };
export const unmount = () => { clearTimeout(timer); for (const n of names) document.removeEventListener(n, changed); };
