// The palette finds pages, records and actions. What it lists beyond the page's own actions comes from the server.
import { $, $$, make } from './dom.js';

let dialog = null;

const rows = async word => {
  const answer = await fetch(`/ui/find?format=json&q=${encodeURIComponent(word)}`);
  return answer.ok ? (await answer.json()).found : [];
};

const actions = word => $$('main a.btn, main button.btn').filter(b => b.checkVisibility() && !b.disabled && !b.closest('details:not([open])'))
  .map(b => ({ text: b.textContent.trim(), kind: 'on this page', run: () => b.click() }))
  .filter(a => a.text && a.text.toLowerCase().includes(word.toLowerCase())).slice(0, 6);

const build = () => {
  const input = make('input', { type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette-list',
    'aria-label': 'Find or do anything', autocomplete: 'off', spellcheck: 'false' });
  const list = make('ul', { id: 'palette-list', role: 'listbox', 'aria-label': 'Matches' });
  const foot = make('footer', { 'aria-live': 'polite' });
  const d = make('dialog', { class: 'pal', 'aria-label': 'Find or do anything' }, make('div', { class: 'field' }, input), list, foot);
  document.body.append(d);
  let found = [], at = 0, timer = 0, asked = 0;
  const show = () => {
    at = Math.max(0, Math.min(at, found.length - 1));
    list.replaceChildren(...found.map((f, i) => make('li', { role: 'option', id: `palette-${i}`, 'aria-selected': String(i === at) },
      make('span', { class: 'cut' }, f.text), make('span', { class: 'sp' }), make('span', { class: 'q xs' }, f.kind || ''))));
    list.hidden = !found.length;
    input.setAttribute('aria-expanded', String(found.length > 0));
    const f = found[at];
    foot.textContent = !f ? 'Nothing fits. Enter searches all runs for it. Esc closes.'
      : f.run ? `Enter presses “${f.text}” on this page. Esc closes.` : `Enter opens ${f.text} (${f.kind}). Esc closes.`;
    input.setAttribute('aria-activedescendant', found.length ? `palette-${at}` : '');
    list.children[at]?.scrollIntoView({ block: 'nearest' });
  };
  const ask = async () => {
    const n = ++asked;
    const server = await rows(input.value);
    if (n === asked) { found = [...actions(input.value), ...server]; show(); }
  };
  const go = f => { d.close(); if (!f) location.href = `/ui/runs?q=${encodeURIComponent(input.value)}`; else if (f.run) f.run(); else location.href = f.path; };
  input.addEventListener('input', () => { at = 0; clearTimeout(timer); timer = setTimeout(ask, 150); });
  input.addEventListener('keydown', e => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step && found.length) { at = (at + step + found.length) % found.length; show(); e.preventDefault(); }
    if (e.key === 'Enter') { e.preventDefault(); go(found[at]); }
  });
  list.addEventListener('click', e => { const li = e.target.closest('[role=option]'); if (li) go(found[[...list.children].indexOf(li)]); });
  d.addEventListener('click', e => { if (e.target === d) d.close(); });
  return { d, open: () => { input.value = ''; at = 0; found = []; d.showModal(); input.focus(); ask(); } };
};

const open = e => { e?.preventDefault(); dialog ||= build(); if (dialog.d.open) dialog.d.close(); else dialog.open(); };
const press = e => { if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') open(e); };

export const mount = el => { el.addEventListener('click', open); addEventListener('keydown', press); };
export const unmount = () => removeEventListener('keydown', press);
