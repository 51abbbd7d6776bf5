// One stream of a run for all parts of its page. It resumes where the parts are, so that nothing is missing and nothing
// comes twice, and it is closed while the page is hidden. On the document it reports writ:run with {id, status}.
import { $$ } from './dom.js';

const HIDDEN_MS = 5000, POLL_MS = 5000, LONGEST_MS = 15000, TRIES = 3, NEWS_MS = 2000;
const streams = new Map();

const note = text => {
  for (const el of $$('[data-live-note]')) { el.textContent = text; el.hidden = !text; }
};

class Stream {
  constructor(id) {
    this.id = id; this.parts = new Set(); this.seen = 0; this.status = ''; this.tries = 0;
    this.opened = this.ended = false; this.source = null; this.timer = 0; this.hide = 0; this.news = 0;
    this.visible = () => {
      clearTimeout(this.hide);
      if (document.hidden) this.hide = setTimeout(() => this.close(), HIDDEN_MS); else this.open();
    };
    document.addEventListener('visibilitychange', this.visible);
  }

  // from returns the positions at which the stream starts: the oldest that a part needs.
  from() {
    let after = this.seen, offset = null;
    for (const p of this.parts) {
      const rev = p.after?.();
      if (rev != null) after = this.seen ? Math.min(after, rev) : Math.max(after, rev);
      const at = p.offset?.();
      if (at != null) offset = at;
    }
    return { after, offset };
  }

  open() {
    if (this.source || this.ended || document.hidden || !this.parts.size) return;
    for (const p of this.parts) if (!p.started) return;
    clearTimeout(this.timer);
    const { after, offset } = this.from();
    if (!this.seen) this.seen = after;
    const query = new URLSearchParams({ after });
    // A page without a log does not need it: no log is that long.
    query.set('log_offset', offset ?? Number.MAX_SAFE_INTEGER);
    const s = this.source = new EventSource(`/v1/runs/${this.id}/stream?${query}`);
    s.onopen = () => { this.tries = 0; this.opened = true; note(''); };
    s.onerror = () => this.lost();
    s.addEventListener('run', e => this.run(JSON.parse(e.data)));
    s.addEventListener('event', e => {
      const seq = Number(e.lastEventId);
      if (seq && seq <= this.seen) return;
      if (seq) this.seen = seq;
      this.give('event', JSON.parse(e.data));
      this.report();
    });
    s.addEventListener('log', e => this.give('log', JSON.parse(e.data)));
    s.addEventListener('matrix', e => this.give('matrix', JSON.parse(e.data)));
    s.addEventListener('end', () => { this.ended = true; this.close(); this.give('end'); });
  }

  give(kind, data) { for (const p of this.parts) p[kind]?.(data); }

  run(record) {
    this.status = record.status;
    this.give('run', record);
    document.dispatchEvent(new CustomEvent('writ:run', { detail: { id: this.id, status: this.status } }));
  }

  // report makes the rest of the page follow, at most every two seconds.
  report() {
    if (this.news) return;
    this.news = setTimeout(() => {
      this.news = 0;
      document.dispatchEvent(new CustomEvent('writ:run', { detail: { id: this.id, status: this.status } }));
    }, NEWS_MS);
  }

  close() { this.source?.close(); this.source = null; clearTimeout(this.timer); }

  // lost waits longer each time. A stream that never opened is replaced by questions every five seconds.
  lost() {
    this.close();
    if (this.ended || document.hidden) return;
    this.tries++;
    if (!this.opened && this.tries >= TRIES) { this.ask(); return; }
    let left = Math.min(LONGEST_MS, 500 * 2 ** (this.tries - 1));
    const wait = () => {
      if (this.tries > 1) note(`Live updates paused. Trying again in ${Math.ceil(left / 1000)} s`);
      const step = Math.min(left, 1000);
      left -= step;
      this.timer = setTimeout(() => { if (left > 0) wait(); else this.open(); }, step);
    };
    wait();
  }

  ask() {
    note('The live stream cannot be reached. The page asks every 5 s.');
    this.give('poll');
    document.dispatchEvent(new CustomEvent('writ:run', { detail: { id: this.id, status: this.status } }));
    this.timer = setTimeout(() => { if (!document.hidden) this.ask(); }, POLL_MS);
  }

  leave(part) {
    this.parts.delete(part);
    if (this.parts.size) return;
    this.close(); clearTimeout(this.hide); clearTimeout(this.news);
    document.removeEventListener('visibilitychange', this.visible);
    streams.delete(this.id);
  }
}

// join adds a part to the stream of a run. A part has the functions run, event, log, matrix, end and poll for what
// comes, and after and offset for where it is. The stream opens when every part has called start.
export const join = (id, part) => {
  if (!streams.has(id)) streams.set(id, new Stream(id));
  const s = streams.get(id);
  s.close(); // the new part may be behind
  s.parts.add(part);
  return {
    start() { part.started = true; s.open(); },
    leave() { s.leave(part); },
  };
};

// An element of a page without log and matrix follows the run by data-mod="runstream".
const mounted = new WeakMap();
export const mount = el => {
  if (el.dataset.live === undefined) return;
  const own = join(el.dataset.run, { after: () => Number(el.dataset.events) || 0 });
  mounted.set(el, own);
  own.start();
};
export const unmount = el => mounted.get(el)?.leave();
