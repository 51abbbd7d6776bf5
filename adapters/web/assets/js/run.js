// Keeps the head of a run current. The server answers with the head alone; htmx takes it over. It is not replaced while
// it holds the focus, an open dialog or advice. The stream of the page dispatches writ:run; without news for a while, the head
// is asked for every five seconds.
import { $, say } from './dom.js';

const EVERY = 5000, SETTLE = 400;
const state = new WeakMap();

const busy = el => el.contains(document.activeElement) && document.activeElement !== document.body
  || Boolean(el.querySelector('dialog[open], details[open], [data-answer]:not([hidden]), [data-busy]:not([hidden])'));

const refresh = el => {
  const s = state.get(el);
  if (!s || document.hidden || busy(el)) { if (s) s.due = true; return; }
  s.due = false;
  s.asked = Date.now();
  el.dispatchEvent(new CustomEvent('refresh'));
};

// changed takes over what the new head says into the document, and announces an end.
const changed = el => {
  const s = state.get(el);
  if (!s) return;
  const status = el.dataset.status;
  document.title = el.dataset.title;
  const icon = $('link[rel=icon]');
  if (icon) icon.setAttribute('href', `/ui/icon/${el.dataset.glyph}.svg`);
  if (status === s.status) return;
  s.status = status;
  say($('.t p', el)?.textContent.replace(/\s+/g, ' ').trim() || status);
  document.dispatchEvent(new CustomEvent('writ:status', { detail: { id: el.dataset.run, status } }));
  if ($('#results.plan') && !/^pending/.test(status)) began();
  else if (!('live' in el.dataset) && !$('.runpage')) ended();
};

// began shows the results in place of what would run. What the reader is at stays, and gets a link.
const began = () => {
  if (document.activeElement === document.body) location.reload(); else offer('The run has begun. Show its results');
};

// ended offers the results of the whole run in views that the server made while it ran.
const ended = () => offer('The run has ended. Show all of its results');

const offer = text => {
  const box = $('#results');
  if (!box || $('#rended')) return;
  const a = document.createElement('a');
  a.id = 'rended';
  a.className = 'fresh';
  a.href = location.href;
  a.textContent = text;
  box.before(a);
};

// jump shows the first cell of a cause in the matrix, and its line in the log. Without a matrix, the link leads to the
// table.
const jump = e => {
  const a = e.target.closest('[data-jump]');
  if (!a || !$('#matrix .mx') || e.ctrlKey || e.metaKey || e.shiftKey) return;
  e.preventDefault();
  const detail = { host: a.dataset.host || '', task: a.dataset.task || '', nth: 0 };
  for (const name of ['writ:line', 'writ:cell']) document.dispatchEvent(new CustomEvent(name, { detail }));
  $('#matrix .mx').focus();
};

export const mount = el => {
  el.addEventListener('click', jump);
  const s = { status: el.dataset.status, asked: Date.now(), due: false, timer: 0 };
  state.set(el, s);
  let soon = 0;
  s.news = e => {
    if (e.detail?.id !== el.dataset.run) return;
    s.asked = Date.now();
    clearTimeout(soon);
    soon = setTimeout(() => refresh(el), SETTLE);
  };
  s.swapped = () => changed(el);
  document.addEventListener('writ:run', s.news);
  s.watch = new MutationObserver(s.swapped);
  s.watch.observe(el, { attributes: true, attributeFilter: ['data-status', 'data-title'] });
  s.timer = setInterval(() => {
    if (s.due || 'live' in el.dataset && Date.now() - s.asked >= EVERY) refresh(el);
  }, 1000);
};

export const unmount = el => {
  const s = state.get(el);
  if (!s) return;
  clearInterval(s.timer);
  el.removeEventListener('click', jump);
  s.watch.disconnect();
  document.removeEventListener('writ:run', s.news);
  state.delete(el);
};
