// One stream of each tab tells which runs changed. It is read with fetch, since the heartbeats of the server are comments,
// which an EventSource hides. What changed becomes the event writ:run on the document; writ:reset says that changes were
// missed, and writ:poll comes every five seconds where streams are impossible. Rows on the screen replace themselves.
import htmx from './htmx.js';
import { $, $$, make } from './dom.js';

const HIDDEN = 5000, SILENT = 35000, NOTE = 10000, LONGEST = 15000, POLL = 5000, BATCH = 250;
let reader = null, stopped = null, last = '', tries = 0, lostAt = 0, timer = 0, ticking = 0, hiding = 0, polling = 0;

const emit = (name, detail) => document.dispatchEvent(new CustomEvent(`writ:${name}`, { detail }));

const showHeld = n => {
  const el = $('#held-count');
  if (!el) return;
  el.firstChild.data = n > 99 ? '99+' : String(n);
  el.hidden = !n;
};

// dispatch reads one message of the stream: lines of "field: value".
const dispatch = text => {
  let type = 'message', data = '';
  for (const line of text.split('\n')) {
    const at = line.indexOf(':');
    if (at < 1) continue;
    const field = line.slice(0, at), value = line.slice(at + 1).replace(/^ /, '');
    if (field === 'event') type = value;
    if (field === 'data') data += value;
    if (field === 'id') last = value;
  }
  if (type === 'run') emit('run', JSON.parse(data));
  if (type === 'held') { const { count } = JSON.parse(data); showHeld(count); emit('held', { count }); }
  // What the page read before the stream began may be older than the stream.
  if (type === 'reset' || type === 'ready') emit('reset');
};

const read = async stop => {
  const answer = await fetch(`/v1/live${last ? `?after=${encodeURIComponent(last)}` : ''}`,
    { headers: { Accept: 'text/event-stream' }, signal: stop.signal, cache: 'no-store' });
  if (answer.status === 401) { location.reload(); return 'end'; }
  if (answer.status === 404 || !answer.body) return 'poll';
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  if (!/^text\/event-stream/.test(answer.headers.get('Content-Type') || '')) return 'poll';
  const body = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '', quiet = 0;
  const listen = () => { clearTimeout(quiet); quiet = setTimeout(() => stop.abort(), SILENT); };
  try {
    for (listen(); ;) {
      const { value, done } = await body.read();
      if (done) return 'again';
      well(); listen();
      rest = (rest + value).replace(/\r\n/g, '\n');
      const parts = rest.split('\n\n');
      rest = parts.pop();
      parts.forEach(dispatch);
    }
  } finally { clearTimeout(quiet); }
};

const well = () => { tries = 0; lostAt = 0; clearInterval(ticking); $('#live-paused')?.remove(); };

// lost says after ten seconds without the server that the page stands still, and when it is asked again.
const lost = next => {
  lostAt ||= Date.now();
  clearInterval(ticking);
  ticking = setInterval(() => {
    if (Date.now() - lostAt < NOTE) return;
    const left = Math.max(1, Math.ceil((next - Date.now()) / 1000));
    const el = $('#live-paused') || document.body.appendChild(make('p', { id: 'live-paused', class: 'paused' }));
    el.textContent = `Live updates paused. Trying again in ${left} s`;
  }, 1000);
};

const open = async () => {
  clearTimeout(timer);
  if (reader || polling) return;
  const stop = reader = new AbortController();
  let what = 'again';
  try { what = await read(stop); } catch { /* it is tried again below */ }
  if (reader === stop) reader = null;
  if (stopped === stop || what === 'end') { stopped = null; return; }
  if (what === 'poll') { poll(); return; }
  const wait = Math.min(LONGEST, 500 * 2 ** tries++ * (1 + Math.random() / 4));
  lost(Date.now() + wait);
  timer = setTimeout(open, wait);
};

const close = () => { clearTimeout(timer); well(); if (reader) { stopped = reader; reader.abort(); reader = null; } };

const poll = () => { polling ||= setInterval(() => { if (!document.hidden) emit('poll'); }, POLL); };

const visibility = () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(close, HIDDEN); else open();
};

// Rows of the page are asked for together, at most every quarter of a second.
const wanted = new Set();
let asking = 0;
const ask = () => {
  asking = 0;
  const list = $('#runs-list');
  const ids = [...wanted].slice(0, 50);
  if (!list || !ids.length) return;
  ids.forEach(id => wanted.delete(id));
  const q = new URLSearchParams([['q', list.dataset.q || ''], ['since', list.dataset.span || ''], ...ids.map(id => ['id', id])]);
  htmx.ajax('GET', `/ui/runs/rows?${q}`, { target: '#runs-list', swap: 'none' });
  if (wanted.size) asking = setTimeout(ask, BATCH);
};
export const refresh = ids => {
  for (const id of ids) if (document.getElementById(`run-${id}`)) wanted.add(id);
  if (wanted.size) asking ||= setTimeout(ask, BATCH);
};

// The number of held runs is asked for when it may have changed, at most every five seconds.
let counting = 0;
const count = e => {
  const held = !$('#held-count').hidden || e.type === 'writ:poll' || e.detail?.status === 'pending_approval';
  if (!held || e.detail?.parent_id) return;
  counting ||= setTimeout(async () => {
    counting = 0;
    const answer = await fetch('/ui/runs/fresh');
    if (answer.ok) showHeld((await answer.json()).held);
  }, POLL);
};

const unfinished = () => $$('tr[data-live]').map(tr => tr.id.slice(4));

export const start = () => {
  if (!$('#held-count')) return;
  document.addEventListener('writ:run', e => refresh([e.detail.id, e.detail.parent_id].filter(Boolean)));
  for (const name of ['reset', 'poll']) document.addEventListener(`writ:${name}`, () => refresh(unfinished()));
  for (const name of ['run', 'reset', 'poll']) document.addEventListener(`writ:${name}`, count);
  document.addEventListener('writ:fresh', e => showHeld(e.detail.held));
  // A page with a stream of its own, as that of a run has, keeps this one closed.
  if ($('[data-mod="runstream"], [data-mod="log"][data-live], [data-mod="matrix"][data-live], [data-live="off"]')) return;
  document.addEventListener('visibilitychange', visibility);
  addEventListener('pagehide', close);
  addEventListener('pageshow', e => { if (e.persisted) open(); });
  requestAnimationFrame(() => setTimeout(() => { if (!document.hidden) open(); }));
};
