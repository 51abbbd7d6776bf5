// The forms of records: the next times of a cron expression while it is typed, the names of time zones, and a search in
// long lists of boxes. The page has all of it without script too.
import { $, $$, make } from './dom.js';

const stamp = (text, timeZone) => new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric',
  hour: '2-digit', minute: '2-digit', timeZoneName: 'short', timeZone: timeZone || 'UTC' }).format(new Date(text));

const cron = box => {
  const input = $('input', box), list = $('.fires', box), zone = $('[data-zones] input');
  let timer = 0, asked = 0;
  const ask = async () => {
    const n = ++asked, q = new URLSearchParams({ cron: input.value });
    if (zone && zone.value) q.set('timezone', zone.value);
    if (!input.value.trim()) { list.replaceChildren(); return; }
    const answer = await fetch(`/v1/schedules/preview?${q}`);
    const body = await answer.json().catch(() => ({}));
    if (n !== asked) return;
    if (!answer.ok) { list.replaceChildren(make('p', { class: 'sm st fail wrap' }, body.error || 'The times cannot be shown.')); return; }
    list.replaceChildren(
      make('p', { class: 'sm q2' }, `Next times. In ${body.timezone || "the server's time zone"}.`),
      make('ol', { class: 'sm mono' }, ...body.next.map(t => make('li', {}, stamp(t, body.timezone)))),
      ...(body.next.length ? [] : [make('p', { class: 'sm' }, 'It never fires.')]),
      ...body.notes.map(t => make('p', { class: 'sm st chg wrap' }, t)));
  };
  const later = () => { clearTimeout(timer); timer = setTimeout(ask, 300); };
  input.addEventListener('input', later);
  zone?.addEventListener('input', later);
};

const zones = box => {
  const list = $('datalist', box);
  for (const name of Intl.supportedValuesOf?.('timeZone') ?? []) list.append(make('option', { value: name }));
};

const filter = box => {
  if (!box.dataset.filter) return;
  const input = make('input', { type: 'search', 'aria-label': `Find in ${box.dataset.filter}`, placeholder: 'Find' });
  input.addEventListener('input', () => {
    const word = input.value.toLowerCase();
    for (const tick of $$('.tick', box)) tick.hidden = !tick.textContent.toLowerCase().includes(word) && !$('input', tick).checked;
  });
  input.addEventListener('keydown', e => { if (e.key === 'Enter') e.preventDefault(); });
  box.prepend(make('div', { class: 'field' }, input));
};

// slot is a list of boxes in a sentence: its head names the ticked ones.
const slot = box => {
  const head = $('[data-chosen]', box);
  box.addEventListener('change', () => {
    head.textContent = $$('.tick', box).filter(t => $('input', t).checked).map(t => t.textContent.trim()).join(', ') || box.dataset.slot;
  });
  box.addEventListener('keydown', e => { if (e.key === 'Escape' && box.open) { box.open = false; $('summary', box).focus(); e.stopPropagation(); } });
  box.addEventListener('focusout', e => { if (e.relatedTarget && !box.contains(e.relatedTarget)) box.open = false; });
};

export const mount = el => {
  document.documentElement.dataset.ready = '';
  $$('[data-cron]', el).forEach(cron);
  $$('[data-zones]', el).forEach(zones);
  $$('[data-filter]', el).forEach(filter);
  $$('[data-slot]', el).forEach(slot);
};
