// Relative times are written again once a minute, all in one pass.
import { $$ } from './dom.js';

const span = s => s < 60 ? `${Math.floor(s)} s` : s < 3600 ? `${Math.floor(s / 60)} min`
  : s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} days`;

export const relative = (at, now = Date.now()) => {
  const ago = (now - at) / 1000;
  if (ago < 0) return `in ${span(-ago)}`;
  return ago < 5 ? 'just now' : `${span(ago)} ago`;
};

export const duration = ms => {
  const s = Math.round(ms / 1000);
  if (ms < 10000) return `${Math.round(ms / 100) / 10} s`;
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s / 60} min`;
  const m = Math.floor(s / 60) % 60;
  return m ? `${Math.floor(s / 3600)} h ${m} min` : `${Math.floor(s / 3600)} h`;
};

const WEEK = 7 * 86400 * 1000;
const pass = () => {
  const now = Date.now();
  for (const el of $$('time[data-rel]')) {
    const at = Date.parse(el.dateTime);
    if (Math.abs(now - at) < WEEK) { const text = relative(at, now); if (el.textContent !== text) el.textContent = text; }
  }
};

// Durations that grow: <span data-since="..."> is written each second.
const tick = () => {
  for (const el of $$('[data-since]')) el.textContent = duration(Date.now() - Date.parse(el.dataset.since));
};

export const start = () => { setInterval(pass, 60000); setInterval(tick, 1000); };
