// The list of runs: keys, selection, children that unfold, and new runs that wait for the reader.
import htmx from './htmx.js';
import { $, $$, say, typing } from './dom.js';

let root = null, asking = 0;

const links = () => $$('a.cover', root);
const row = () => document.activeElement?.closest?.('tr') || null;

const move = by => {
  const list = links();
  const now = row();
  const at = now ? list.findIndex(a => now.contains(a)) : -1;
  list[Math.max(0, Math.min(list.length - 1, at + by))]?.focus();
};

const picked = () => $$('input[name=run]:checked', root);

const show = () => {
  const b = $('[data-cancel]', root);
  if (!b) return;
  const n = picked().length;
  b.disabled = !n;
  b.textContent = n ? `Cancel ${n} ${n === 1 ? 'run' : 'runs'}` : 'Cancel selected';
};

// cancel takes the run that has the focus if none is selected.
const cancel = () => {
  const b = $('[data-cancel]', root);
  if (!b) return;
  if (!picked().length) {
    const box = $('input[name=run]', row() || undefined);
    if (!box || !row()) return;
    box.checked = true;
    show();
  }
  b.form.requestSubmit(b);
};

const press = e => {
  if (!root || e.ctrlKey || e.metaKey || e.altKey || typing(e) && e.target.type !== 'checkbox' || $('dialog[open]')) return;
  if (document.documentElement.dataset.keys === 'off') return;
  const act = { j: () => move(1), k: () => move(-1), c: cancel, x: () => $('input[name=run]', row() || root)?.click() }[e.key];
  if (!act || e.key === 'x' && !row()) return;
  e.preventDefault();
  e.stopPropagation();
  act();
};

const kids = id => $$(`tr[data-parent="${CSS.escape(id)}"]`, root);

const unfold = a => {
  const id = a.dataset.fold, rows = kids(id);
  a.setAttribute('aria-expanded', String(!rows.length));
  if (rows.length) for (const tr of rows) tr.remove();
  else htmx.ajax('GET', `/ui/runs/children?id=${encodeURIComponent(id)}`, { target: `#run-${id}`, swap: 'afterend' });
};

const click = e => {
  const a = e.target.closest('a[data-fold]');
  if (a && !e.ctrlKey && !e.metaKey) { e.preventDefault(); unfold(a); return; }
  const fresh = e.target.closest('#runs-fresh');
  if (fresh) {
    e.preventDefault();
    htmx.ajax('GET', fresh.getAttribute('href'), { target: '#runs-list', swap: 'outerMorph' }).then(() => links()[0]?.focus());
  }
};

// news asks how many runs of the search are newer than the first row, and offers them.
const news = async () => {
  asking = 0;
  if (!root) return;
  const first = $('tbody tr[id]', root);
  const q = new URLSearchParams({ q: root.dataset.q || '', since: root.dataset.span || '' });
  if (root.dataset.newest === 'true' && first) q.set('after', first.id.slice(4));
  const answer = await fetch(`/ui/runs/fresh?${q}`);
  if (!answer.ok || !root) return;
  const { count, more, held } = await answer.json();
  document.dispatchEvent(new CustomEvent('writ:fresh', { detail: { count, held } }));
  const el = $('#runs-fresh', root);
  if (!el || root.dataset.newest !== 'true') return;
  const text = count ? `${more ? 'More than ' : ''}${count} new ${count === 1 ? 'run. Show it' : 'runs. Show them'}` : '';
  if (el.textContent !== text) { el.textContent = text; if (text) say(text); }
  el.hidden = !count;
};
const later = () => { asking ||= setTimeout(news, 1000); };
const changed = e => { if (!e.detail.parent_id && !document.getElementById(`run-${e.detail.id}`)) later(); };

// A row that was replaced does not know that its children are shown, nor what is selected.
const swapped = () => {
  for (const a of $$('a[data-fold]', root)) a.setAttribute('aria-expanded', String(kids(a.dataset.fold).length > 0));
  show();
};

const events = { 'writ:run': changed, 'writ:reset': later, 'writ:poll': later, 'htmx:after:swap': swapped };

export const mount = el => {
  root = el;
  el.addEventListener('click', click);
  el.addEventListener('change', show);
  addEventListener('keydown', press, true);
  for (const [name, f] of Object.entries(events)) document.addEventListener(name, f);
  show();
};

export const unmount = el => {
  if (root !== el) return;
  removeEventListener('keydown', press, true);
  for (const [name, f] of Object.entries(events)) document.removeEventListener(name, f);
  root = null;
};
