// Shortcuts: g and a letter goes to a section, "/" to the search of the page, "?" lists the keys, and any element with
// data-key is clicked by its key. A page switches single letters off with data-keys="off".
import { $, $$, make, typing } from './dom.js';

const GO = { o: '/ui/', r: '/ui/runs', a: '/ui/approvals', l: '/ui/launch', f: '/ui/fleet', t: '/ui/trust',
  s: '/ui/settings' };
let pending = 0;

const list = () => {
  const rows = [['Ctrl K', 'find or do anything'], ['/', 'search on this page'],
    ['g o, r, a, l, f, t, s', 'go to a section'], ['Esc', 'close the topmost']];
  for (const el of $$('[data-key]')) rows.push([el.dataset.key, el.getAttribute('aria-label') || el.textContent.trim()]);
  const d = make('dialog', { class: 'sheet', 'aria-label': 'Keys of this page' },
    make('header', {}, make('h2', {}, 'Keys of this page')),
    make('div', { class: 'body' }, make('dl', { class: 'kv' },
      ...rows.flatMap(([k, t]) => [make('dt', {}, make('kbd', {}, k)), make('dd', {}, t)])),
    make('div', { class: 'btns' }, make('button', { class: 'btn', 'data-close': true, autofocus: true }, 'Close'))));
  document.body.append(d);
  d.addEventListener('close', () => d.remove());
  d.showModal();
};

const press = e => {
  if (e.ctrlKey || e.metaKey || e.altKey || typing(e) || $('dialog[open]') || e.defaultPrevented) return;
  if (document.documentElement.dataset.keys === 'off') return;
  if (pending && Date.now() - pending < 900) {
    pending = 0;
    if (GO[e.key]) { e.preventDefault(); location.href = GO[e.key]; }
    return;
  }
  if (e.key === 'g') { pending = Date.now(); return; }
  if (e.key === '?') { e.preventDefault(); list(); return; }
  const el = e.key === '/' ? $('[data-find]') : $$('[data-key]').find(x => x.dataset.key === e.key);
  if (!el) return;
  e.preventDefault();
  if (e.key === '/' || el.matches('input, textarea')) el.focus(); else el.click();
};

export const start = () => addEventListener('keydown', press);
