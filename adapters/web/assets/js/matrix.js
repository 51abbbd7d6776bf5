// The matrix of a run: hosts by tasks on one canvas inside a scroller of the browser. Three real rows follow the
// cursor, so that assistive tools read the same cells.
import htmx from './htmx.js';
import { $, $$, make, count, say, glyph } from './dom.js';
import { Grid, WORDS, FAILED, UNREACHABLE, bad } from './matrix-data.js';
import { order } from './matrix-order.js';
import { colours, paint, paintStrip } from './matrix-paint.js';
import { join } from './runstream.js';

const FOLDED = 1000, FRAMES = 600, TALLEST = 16e6;
const CHIPS = [[FAILED, 'fail'], [UNREACHABLE, 'lost'], [8, 'now'], [6, 'fail'], [7, 'fail'], [2, 'chg'], [1, 'done'], [3, 'skip']];
const views = new WeakMap();
const phone = matchMedia('(max-width: 720px)');

class Matrix {
  constructor(el) {
    const d = el.dataset, q = new URLSearchParams(location.search);
    Object.assign(this, { el, id: d.run, live: d.live !== undefined, parent: d.parent !== undefined, off: new AbortController(),
      rows: [], cursor: null, hover: null, rowH: 20, headH: 52, frames: [], due: false, held: false });
    this.tools = $('.mxtools', el); this.drawer = $('.drawer', el);
    $('.rtools')?.append(this.tools); // the bar with the views, if the page has one
    this.box = $('.mx', el); this.canvas = $('.cells', el); this.strip = $('.mini', el); this.space = $('.space', el);
    this.g = this.canvas.getContext('2d', { alpha: false }); this.sg = this.strip.getContext('2d', { alpha: false });
    this.grid = new Grid(this.id);
    const only = WORDS.indexOf(q.get('only') || '-');
    this.options = { sort: q.get('order') || '', text: q.get('host') || '', only: only > 0 ? only : null, durations: null };
    this.part = this.live ? join(this.id, { after: () => (this.parent ? null : this.grid.rev), matrix: x => this.delta(x),
      event: e => this.grid.heed(e), end: () => this.ended(), poll: () => this.reload() }) : null;
    this.c = colours();
    this.listen();
    this.start(q).catch(err => { console.warn('The matrix cannot be read.', err); this.readout(null, 'The matrix cannot be read.'); this.part?.start(); });
  }

  async start(q) {
    await this.grid.load((n, all) => { if (n < all) this.readout(null, `${count(n)} of ${count(all)} hosts read`); });
    if (this.off.signal.aborted) return;
    const events = Number(this.el.dataset.events) || 0;
    if (!this.live) await this.grid.explain(events).catch(() => {});
    const o = this.options, many = !this.live && this.grid.H > FOLDED;
    o.sort ||= phone.matches || many ? 'alike' : this.live ? 'listed' : 'worst';
    $('[data-order]', this.tools).value = o.sort;
    $('[data-hosts]', this.tools).value = o.text;
    if (o.sort === 'duration') o.durations = await this.grid.durations();
    this.sort();
    const at = q.get('at');
    if (at) this.goTo(at, t => t.id === q.get('task'));
    this.part?.start();
    if (this.live) this.grid.explain(0).then(() => this.ask(), () => {});
    this.el.dataset.ready = '';
  }

  listen() {
    const { box, strip, el } = this, on = (target, names, f, options) => {
      for (const n of names.split(' ')) target.addEventListener(n, f, { signal: this.off.signal, ...options });
    };
    on(box, 'scroll', () => this.ask(), { passive: true });
    on(window, 'theme', () => this.recolour());
    for (const m of ['(prefers-color-scheme: dark)', '(forced-colors: active)', '(prefers-contrast: more)']) on(matchMedia(m), 'change', () => this.recolour());
    on(box, 'pointermove', e => { this.hover = this.at(e); this.ask(); this.readout(this.hover || this.cursor); });
    on(box, 'pointerleave', () => { this.hover = null; this.ask(); this.readout(this.cursor); });
    on(box, 'click', e => { const p = this.at(e); if (p) { this.cursor = p; this.rowsOf(); this.ask(); this.open(p); } });
    on(box, 'keydown', e => this.key(e));
    on(box, 'focus blur', () => { if (!this.cursor && this.rows.length) this.cursor = { r: Math.floor(box.scrollTop / this.rowH), t: 0 }; this.rowsOf(); this.readout(this.cursor); this.ask(); });
    const drag = e => {
      const share = (e.clientY - strip.getBoundingClientRect().top) / strip.clientHeight;
      box.scrollTop = share * this.rows.length * this.rowH - box.clientHeight / 2;
    };
    on(strip, 'pointerdown', e => { strip.setPointerCapture(e.pointerId); drag(e); });
    on(strip, 'pointermove', e => { if (e.buttons) drag(e); });
    on($('[data-order]', this.tools), 'change', e => this.reorder(e.target.value));
    on($('[data-hosts]', this.tools), 'input', e => { this.options.text = e.target.value.trim(); this.fresh(); });
    for (const part of [el, this.tools]) on(part, 'click', e => this.press(e.target.closest('button')));
    on(document, 'writ:line', e => {
      const { host, task, nth } = e.detail;
      let n = 0;
      this.goTo(host, t => t.name === task && n++ === nth);
    });
    on(document, 'keydown', e => { if (e.key === 'Escape' && !this.drawer.hidden && !$('dialog[open]')) { e.preventDefault(); this.shut(); } });
    on(this.drawer, 'click', e => {
      const a = e.target.closest('[data-line]'), log = $('#log .log');
      if (!a || !log || e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      location.hash = `L${a.dataset.line}`;
      log.focus({ preventScroll: true });
    });
    this.resized = new ResizeObserver(() => { this.size(); this.ask(); });
    this.resized.observe(box);
  }

  press(b) {
    if (!b) return;
    const { only, next } = b.dataset;
    if (only !== undefined) { const v = Number(only); this.options.only = this.options.only === v ? null : v; this.fresh(); }
    else if (next) this.next(Number(next));
    else if (b.matches('[data-resort]')) this.sort();
    else if (b.matches('[data-shut]')) this.shut();
  }

  recolour() { this.c = colours(); this.stale = true; this.ask(); }

  async reorder(sort) {
    this.options.sort = sort;
    if (sort === 'duration') this.options.durations = await this.grid.durations();
    this.fresh();
  }

  fresh() { this.box.scrollTop = 0; this.cursor = null; this.sort(); this.address(); }

  // address keeps what is chosen in the address of the page.
  address() {
    const u = new URL(location.href), o = this.options, i = this.info(this.cursor);
    const set = (k, v) => (v ? u.searchParams.set(k, v) : u.searchParams.delete(k));
    set('order', o.sort); set('host', o.text); set('only', o.only === null ? '' : WORDS[o.only]);
    set('at', i?.host); set('task', i?.t >= 0 ? i.task.id : '');
    history.replaceState(history.state, '', u);
  }

  // sort makes the rows anew. While a run changes, they stay as they are until the reader asks.
  sort() {
    const was = this.info(this.cursor);
    this.rows = order(this.grid, this.options);
    this.grid.touched.clear();
    if (was) { const r = this.rows.findIndex(x => x.h === was.h); this.cursor = r < 0 ? null : { r, t: this.cursor.t }; }
    this.box.setAttribute('aria-rowcount', this.rows.length + 1);
    this.box.setAttribute('aria-colcount', this.grid.T + 1);
    this.stale = true;
    this.size(); this.chips(); this.news(); this.rowsOf(); this.readout(this.cursor); this.ask();
  }

  delta(d) {
    const hosts = this.grid.H;
    if (!this.grid.apply(d)) { this.reload(); return; }
    if (d.since === 0 || this.options.sort === 'listed' && this.grid.H !== hosts) this.sort();
    else if (d.tasks.length) this.size();
    this.stale = true;
    this.chips(); this.news(); this.ask();
  }

  async reload() {
    if (this.held) return;
    this.held = true;
    try { await this.grid.load(); this.sort(); } catch (err) { console.warn('The matrix cannot be read.', err); }
    this.held = false;
  }

  ended() { this.live = false; this.grid.explain(Number.MAX_VALUE).then(() => this.ask(), () => {}); this.news(); }

  news() {
    const b = $('[data-resort]', this.tools), n = this.options.sort === 'listed' && this.options.only === null ? 0 : this.grid.touched.size;
    b.hidden = !n;
    if (n) b.textContent = `Re-sort, ${count(n)} ${n === 1 ? 'host' : 'hosts'} changed`;
  }

  chips() {
    const box = $('[data-chips]', this.tools), n = new Array(WORDS.length).fill(0);
    for (let h = 0; h < this.grid.H; h++) n[this.grid.worst[h]]++;
    const key = `${n.join()} ${this.options.only}`;
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    const focus = box.contains(document.activeElement) ? document.activeElement.dataset.only : null;
    box.replaceChildren(...CHIPS.filter(([v]) => n[v] || this.options.only === v).map(([v, name]) => make('button',
      { type: 'button', 'data-only': v, 'aria-pressed': String(this.options.only === v) },
      make('span', { class: `st ${name === 'skip' ? 'idle' : name}` }, glyph(name), count(n[v])), make('span', { class: 'hidephone' }, WORDS[v]))));
    if (focus !== null) $(`[data-only="${focus}"]`, box)?.focus();
  }

  size() {
    const { box, canvas, strip, grid } = this, w = box.clientWidth, h = box.clientHeight, r = devicePixelRatio || 1;
    if (!w) return;
    this.w = w; this.h = h; this.left = w < 560 ? 118 : 196;
    this.cw = Math.max(9, Math.min(18, Math.floor((w - this.left - 12) / Math.max(1, grid.T))));
    const fitTo = (cv, g, cw, ch) => {
      if (cv.width !== Math.round(cw * r) || cv.height !== Math.round(ch * r)) { cv.width = Math.round(cw * r); cv.height = Math.round(ch * r); }
      g.setTransform(r, 0, 0, r, 0, 0);
    };
    canvas.style.width = `${w}px`; canvas.style.height = `${h}px`;
    fitTo(canvas, this.g, w, h);
    this.sw = strip.clientWidth; this.sh = strip.clientHeight;
    fitTo(strip, this.sg, this.sw, this.sh);
    this.space.style.width = `${this.left + this.cw * grid.T + 12}px`;
    this.space.style.height = `${Math.min(TALLEST, this.headH + this.rows.length * this.rowH)}px`;
  }

  ask() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      if (!this.box.clientWidth || document.hidden) return;
      const start = performance.now();
      paint(this); paintStrip(this);
      this.frames.push(performance.now() - start);
      if (this.frames.length > FRAMES) this.frames.shift();
    });
  }

  at(e) {
    const b = this.box.getBoundingClientRect(), x = e.clientX - b.left, y = e.clientY - b.top;
    if (y < this.headH) return null;
    const r = Math.floor((y - this.headH + this.box.scrollTop) / this.rowH);
    const t = x < this.left ? -1 : Math.floor((x - this.left + this.box.scrollLeft) / this.cw);
    return r < this.rows.length && t < this.grid.T ? { r, t } : null;
  }

  info(p) {
    const row = p && this.rows[p.r];
    if (!row) return null;
    const v = p.t < 0 ? this.grid.worst[row.h] : this.grid.cell(row.h, p.t);
    return { h: row.h, n: row.n, host: this.grid.names[row.h], t: p.t, task: this.grid.tasks[p.t], v, word: WORDS[v], message: bad(v) ? this.grid.message(row.h) : '' };
  }

  // words says a cell in one line.
  words(i) {
    return [i.n > 1 ? `${i.host} and ${count(i.n - 1)} alike` : i.host, i.task?.name, i.word, i.message].filter(Boolean).join(', ');
  }

  readout(p, text) {
    const out = $('[data-readout]', this.el), i = this.info(p);
    if (text || !i) { out.replaceChildren(text || out.dataset.hint); return; }
    const parts = [make('span', { class: 'mono' }, i.host)];
    if (i.n > 1) parts.push(` and ${count(i.n - 1)} alike`);
    if (i.task) parts.push(` · ${i.task.name}`);
    parts.push(' · ', make('b', {}, i.word));
    if (i.message) parts.push(` · ${i.message}`);
    out.replaceChildren(...parts);
  }

  // rowsOf writes the real rows: the one of the cursor, the one before and the one after.
  rowsOf() {
    const box = $('[data-rows]', this.el), p = this.cursor;
    if (!p || !this.rows[p.r]) { box.replaceChildren(); this.box.removeAttribute('aria-activedescendant'); return; }
    const cols = [p.t - 1, p.t, p.t + 1].filter(t => t >= 0 && t < this.grid.T);
    box.replaceChildren(...[p.r - 1, p.r, p.r + 1].filter(r => this.rows[r]).map(r => {
      const row = make('div', { role: 'row', 'aria-rowindex': r + 2 }, make('div', { role: 'rowheader', 'aria-colindex': 1, id: `mx-${r}-h` }, this.words(this.info({ r, t: -1 }))));
      for (const t of cols) row.append(make('div', { role: 'gridcell', 'aria-colindex': t + 2, id: `mx-${r}-${t}`, 'aria-selected': String(r === p.r && t === p.t) }, this.words(this.info({ r, t }))));
      return row;
    }));
    this.box.setAttribute('aria-activedescendant', p.t < 0 ? `mx-${p.r}-h` : `mx-${p.r}-${p.t}`);
  }

  go(r, t) {
    if (!this.rows.length) return;
    r = Math.max(0, Math.min(this.rows.length - 1, r)); t = Math.max(0, Math.min(this.grid.T - 1, t));
    this.cursor = { r, t };
    const { box } = this, y = r * this.rowH, seen = this.h - this.headH, x = t * this.cw, wide = this.w - this.left;
    if (y < box.scrollTop) box.scrollTop = y; else if (y + this.rowH > box.scrollTop + seen) box.scrollTop = y + this.rowH - seen;
    if (x < box.scrollLeft) box.scrollLeft = x; else if (x + this.cw > box.scrollLeft + wide) box.scrollLeft = x + this.cw - wide;
    this.rowsOf(); this.readout(this.cursor); this.ask();
  }

  // goTo marks the cell of a host and of the first task that matches.
  goTo(host, match) {
    const h = this.grid.host(host);
    let r = this.rows.findIndex(x => x.h === h);
    if (r < 0 && h >= 0 && this.options.sort === 'alike') {
      r = this.rows.findIndex(x => String(this.grid.row(x.h)) === String(this.grid.row(h)) && this.grid.message(x.h) === this.grid.message(h));
    }
    if (r >= 0) this.go(r, Math.max(0, this.grid.tasks.findIndex(match)));
  }

  next(by) {
    for (let r = this.cursor ? this.cursor.r + by : by > 0 ? 0 : this.rows.length - 1; r >= 0 && r < this.rows.length; r += by) {
      const { h } = this.rows[r];
      if (!bad(this.grid.worst[h])) continue;
      let t = 0;
      while (t < this.grid.T - 1 && !bad(this.grid.cell(h, t))) t++;
      this.go(r, t);
      this.box.focus({ preventScroll: true });
      return;
    }
    say(by > 0 ? 'No failure after this one' : 'No failure before this one');
  }

  key(e) {
    if (e.target !== this.box || e.altKey || e.metaKey) return;
    const p = this.cursor || { r: Math.floor(this.box.scrollTop / this.rowH), t: 0 };
    const page = Math.max(1, Math.floor((this.h - this.headH) / this.rowH) - 1), last = this.rows.length - 1;
    const to = { ArrowDown: [p.r + 1, p.t], ArrowUp: [p.r - 1, p.t], ArrowRight: [p.r, p.t + 1], ArrowLeft: [p.r, p.t - 1],
      PageDown: [p.r + page, p.t], PageUp: [p.r - page, p.t], Home: [e.ctrlKey ? 0 : p.r, 0],
      End: [e.ctrlKey ? last : p.r, this.grid.T - 1] }[e.key];
    if (to) this.go(...to);
    else if (e.ctrlKey) return;
    else if (e.key === 'n' || e.key === 'N') this.next(e.key === 'n' ? 1 : -1);
    else if (e.key === 'Enter' && this.cursor) this.open(this.cursor);
    else return;
    e.preventDefault();
  }

  // open shows the details of a cell, and its line in the log.
  async open(p) {
    const i = this.info(p), d = this.drawer;
    if (!i) return;
    this.address();
    let nth = 0;
    for (let t = 0; t < i.t; t++) if (this.grid.tasks[t].name === i.task.name) nth++;
    document.dispatchEvent(new CustomEvent('writ:cell', { detail: { host: i.host, task: i.task?.name ?? '', nth, only: i.t < 0 } }));
    $('[data-title]', d).replaceChildren(i.n > 1 ? `${i.host} and ${count(i.n - 1)} alike` : i.host);
    d.hidden = false;
    d.focus();
    const query = new URLSearchParams({ host: i.host, task: i.task?.id ?? '' }), body = $('#cell', d);
    body.setAttribute('aria-busy', 'true');
    body.replaceChildren(make('p', {}, this.words(i)));
    try { await htmx.ajax('GET', `/ui/runs/${this.id}/cell?${query}`, { target: body, swap: 'innerHTML' }); } catch (err) { console.warn(err); }
    body.removeAttribute('aria-busy');
  }

  shut() {
    if (this.drawer.hidden) return;
    this.drawer.hidden = true;
    this.box.focus({ preventScroll: true });
  }

  leave() { this.tools.remove(); this.off.abort(); this.part?.leave(); this.resized.disconnect(); }
}

export const mount = el => views.set(el, new Matrix(el));
export const unmount = el => views.get(el)?.leave();
// viewOf returns the matrix of an element.
export const viewOf = el => views.get(el);
export const all = () => $$('[data-mod=matrix]').map(viewOf);
