// The log of a run. Only the lines in view are in the page; they are read in blocks around the reader. Follow ends on
// what the reader does (wheel, keys, touch, dragging the bar), never on events of scrolling, and never starts by itself.
import { $, make, count } from './dom.js';
import { pieces, plain } from './ansi.js';
import { Blocks, SIZE } from './log-blocks.js';
import { Find } from './log-find.js';
import { Outline } from './log-outline.js';
import { join } from './runstream.js';
import { notice } from './notices.js';

const ROW = 20, TALLEST = 8e6, WHOLE = 1 << 20, UP = ['ArrowUp', 'PageUp', 'Home'];
const views = new WeakMap();
const encoder = new TextEncoder();

class View {
  constructor(pane) {
    const d = pane.dataset;
    Object.assign(this, { pane, id: d.run, live: d.live !== undefined, top: 0, follow: false, mark: null, base: 0, was: 0,
      shown: new Map(), map: null, due: false, place: null, word: null, hit: null, off: new AbortController() });
    this.el = $('.log', pane);
    this.blocks = new Blocks(this.id, () => this.ask());
    this.blocks.grow(Number(d.bytes) || 0);
    this.listen();
    this.find = new Find(this);
    this.outline = new Outline(this);
    if (this.live) {
      this.part = join(this.id, { after: () => Number(d.events) || 0, offset: () => this.blocks.total,
        log: piece => this.take(piece), end: () => this.ended(), poll: () => this.poll() });
    }
    this.begin(d).catch(err => this.fail(err));
  }

  // begin reads the end of the log, and then takes the place of the lines that the server wrote.
  async begin(d) {
    const b = this.blocks, last = Math.max(0, Math.ceil(b.total / SIZE) - 1);
    if (b.total) {
      const first = b.total <= WHOLE ? 0 : Math.max(0, last - 1);
      for (let k = last; k >= first; k--) await b.load(k);
      if (Number(d.first)) await b.load(Math.floor(Number(d.offset) / SIZE));
      if (Number(d.first)) b.anchor(Number(d.first) - 1, Number(d.offset));
      if (!this.live && Number(d.lines)) b.close(Number(d.lines));
    }
    if (this.off.signal.aborted) return;
    this.rows = make('div', { class: 'rows' }); this.lines = make('div', { class: 'lines' }); this.space = make('div', { class: 'space' });
    this.rows.append(this.lines);
    this.el.replaceChildren(this.rows, this.space);
    this.el.classList.add('on');
    this.resized = new ResizeObserver(() => this.ask());
    this.resized.observe(this.el);
    const hash = /^#L(\d+)(?:-L?(\d+))?$/.exec(location.hash);
    if (hash) { this.mark = [Number(hash[1]), Number(hash[2] || hash[1])].sort((x, y) => x - y); await this.line(this.mark[0]); }
    else if (this.live) this.setFollow(true);
    else this.end();
    this.paint();
    this.part?.start();
    this.pane.dataset.ready = '';
    if (!this.live && !b.known()) this.number();
  }

  // number asks how many lines a log has that has ended, so that the lines at its end have their numbers.
  async number() {
    const found = await this.find.ask('^', true, true, 1).catch(() => null);
    if (found) { this.blocks.close(found.total); this.ask(); }
  }

  fail(err) {
    console.warn('The log cannot be read.', err);
    const note = $('[data-log-error]', this.pane);
    if (note) note.hidden = false;
    this.part?.start();
  }

  listen() {
    const { el } = this, on = (target, names, f, options) => {
      for (const n of names.split(' ')) target.addEventListener(n, f, { signal: this.off.signal, ...options });
    };
    const leave = () => { if (this.follow) this.setFollow(false); };
    on(el, 'scroll', () => this.scrolled(), { passive: true });
    on(el, 'wheel', e => { if (e.deltaY < 0) leave(); }, { passive: true });
    on(el, 'touchmove', leave, { passive: true });
    // A press on the bar itself is beyond the content of the element.
    on(el, 'pointerdown', e => { if (e.target === el && (e.offsetX > el.clientWidth || e.offsetY > el.clientHeight)) leave(); });
    on(el, 'keydown', e => {
      if (UP.includes(e.key)) { leave(); if (e.key === 'Home') { e.preventDefault(); this.setTop(0); } }
      if (e.key === 'End') { e.preventDefault(); if (this.live) this.setFollow(true); else this.end(); }
    });
    on(el, 'click', e => this.clicked(e));
    on(this.pane, 'click', e => {
      const b = e.target.closest('button');
      if (!b) return;
      if (b.matches('[data-follow]')) this.setFollow(!this.follow);
      if (b.matches('[data-tail]')) { this.setFollow(true); el.focus(); }
      if (b.matches('[data-wrap]')) this.wrap(b);
      if (b.matches('[data-link]')) navigator.clipboard.writeText(location.href).then(() => notice('Copied.'), () => {});
    });
    on(document, 'writ:cell', e => this.outline.show(e.detail));
    on(window, 'hashchange', () => {
      const m = /^#L(\d+)(?:-L?(\d+))?$/.exec(location.hash);
      if (m) { this.mark = [Number(m[1]), Number(m[2] || m[1])]; this.line(this.mark[0]); }
    });
  }

  // take adds a piece of the stream. A piece whose bytes cannot be known from its text is read when it is shown.
  take(piece) {
    const bytes = encoder.encode(piece.text);
    if (bytes.length !== piece.next - piece.offset || !this.blocks.add(piece.offset, bytes)) this.blocks.grow(piece.next);
    this.ask();
  }

  async poll() {
    const b = this.blocks, k = Math.floor(b.total / SIZE);
    try { const { at, stop } = await b.ask(b.total, b.total + 1); stop.abort(); b.grow(at.total); } catch { return; }
    await b.load(Math.min(k, Math.floor(Math.max(0, b.total - 1) / SIZE)));
    this.ask();
  }

  ended() {
    this.live = false;
    if (this.follow) { this.end(); this.follow = false; }
    this.state();
    this.outline.refresh();
  }

  count() { return this.map ? this.map.count() : this.blocks.lines(); }
  page() { return this.el.clientHeight / ROW; }
  limit() { return Math.max(0, this.count() - this.page()); }

  size() {
    const height = this.el.clientHeight, all = this.count() * ROW;
    this.scaled = all > TALLEST;
    this.rows.style.height = `${height}px`;
    this.space.style.height = `${Math.max(0, Math.min(all, TALLEST) - height)}px`;
  }

  // scrolled follows the bar. In a log that is too tall for an element, small steps move by lines and large ones by
  // the share of the bar.
  scrolled() {
    if (!this.rows) return;
    const { el } = this, at = el.scrollTop, max = el.scrollHeight - el.clientHeight, step = at - this.was;
    this.was = at;
    if (step) {
      if (!this.scaled) this.top = at / ROW;
      else if (at <= 0) this.top = 0;
      else if (at >= max - 1) this.top = this.limit();
      else if (Math.abs(step) < 1.5 * el.clientHeight) this.top = Math.min(this.limit(), Math.max(0, this.top + step / ROW));
      else this.top = at / max * this.limit();
      this.hold();
    }
    this.ask();
  }

  setTop(top) {
    this.size();
    this.top = Math.min(this.limit(), Math.max(0, top));
    const { el } = this, max = el.scrollHeight - el.clientHeight;
    el.scrollTop = this.scaled ? (this.limit() ? this.top / this.limit() * max : 0) : this.top * ROW;
    this.was = el.scrollTop;
    this.hold();
    this.ask();
  }

  // hold remembers the line at the top by its place in the bytes, which stays when estimates become exact.
  hold() { this.place = this.map ? null : { ...this.blocks.where(Math.floor(this.top)), rest: this.top % 1 }; }

  end() { this.setTop(this.limit()); }

  setFollow(on) {
    this.follow = on && this.live;
    this.base = this.blocks.lines();
    if (on) { this.map = null; this.outline.reset(); this.end(); }
    this.state();
  }

  // line shows a line by its number.
  async line(no) {
    if (this.follow) this.setFollow(false);
    this.outline.reset(); this.map = null;
    await this.blocks.seek(no - 1).catch(() => {});
    this.centre(no - 1);
  }

  centre(line) { this.setTop(line - this.page() / 2.6); }

  // go shows a line that the server found, with its offset.
  async go(hit, mark) {
    if (this.follow) this.setFollow(false);
    this.outline.reset(); this.map = null;
    await this.blocks.load(Math.floor(hit.offset / SIZE));
    this.blocks.anchor(hit.line - 1, hit.offset);
    this.hit = hit.line;
    if (mark) this.setMark(hit.line, hit.line);
    this.centre(hit.line - 1);
  }

  setMark(a, b) {
    this.mark = [Math.min(a, b), Math.max(a, b)];
    history.replaceState(history.state, '', `#L${this.mark[0]}${a === b ? '' : `-L${this.mark[1]}`}`);
    const link = $('[data-link]', this.pane);
    if (link) link.hidden = false;
    this.ask();
  }

  clicked(e) {
    const ln = e.target.closest('.ln');
    if (!ln || !ln.dataset.no) return;
    const no = Number(ln.dataset.no);
    if (e.target.closest('.no')) {
      e.preventDefault();
      if (this.map) { this.go({ line: no, offset: Number(ln.dataset.offset) || this.blocks.offset(no - 1) || 0 }, true); return; }
      this.setMark(e.shiftKey && this.mark ? this.mark[0] : no, no);
    }
    if (!getSelection().toString()) this.outline.cell(no, ln.lastElementChild.textContent);
  }

  wrap(b) {
    const on = this.el.classList.toggle('wrap');
    b.setAttribute('aria-pressed', on);
    this.shown.clear(); this.lines.replaceChildren();
    this.ask();
  }

  state() {
    const tail = $('[data-tail]', this.pane), follow = $('[data-follow]', this.pane), n = this.blocks.lines();
    follow?.setAttribute('aria-pressed', this.follow);
    if (follow) follow.hidden = !this.live;
    if (tail) {
      const fresh = Math.max(0, n - this.base);
      tail.hidden = this.follow || !this.live;
      const text = fresh ? `${count(fresh)} new ${fresh === 1 ? 'line' : 'lines'}, End` : 'Follow, End';
      if (tail.lastChild.textContent !== text) tail.lastChild.textContent = text;
    }
    const len = $('[data-len]', this.pane), about = this.blocks.known() ? '' : 'about ';
    const text = `${about}${count(n)} ${n === 1 ? 'line' : 'lines'}`;
    if (len && len.textContent !== text) len.textContent = text;
  }

  ask() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => { this.due = false; this.paint(); });
  }

  paint() {
    const { el, blocks: b } = this;
    if (!this.rows || !el.clientHeight) return;
    this.size();
    if (this.follow) {
      this.top = this.limit(); el.scrollTop = el.scrollHeight; this.was = el.scrollTop; this.hold();
    } else if (this.place && !this.map) {
      const top = b.lineOf(this.place) + this.place.rest;
      if (Math.abs(top - this.top) > .5) { this.setTop(top); this.size(); }
    }
    const from = Math.floor(this.top), to = Math.min(this.count(), from + Math.ceil(this.page()) + 1), list = [], need = new Set();
    for (let r = from; r < to; r++) this.row(r, list, need);
    const keep = new Map();
    const nodes = list.map(([key, build]) => { const node = this.shown.get(key) || build(); keep.set(key, node); return node; });
    this.shown = keep;
    const now = this.lines.childNodes;
    if (nodes.length !== now.length || nodes.some((x, i) => x !== now[i])) this.lines.replaceChildren(...nodes);
    const bottom = this.top >= this.limit() - .01 && from > 0;
    this.lines.classList.toggle('end', bottom);
    this.lines.style.transform = bottom ? '' : `translateY(${-(this.top - from) * ROW}px)`;
    for (const k of need) b.load(k).catch(err => this.fail(err));
    this.state();
  }

  // row adds what is shown for a row: a line, the head of a fold, a found line, and a missing part before it.
  row(r, list, need) {
    const item = this.map ? this.map.row(r) : { line: r };
    if (item.head) { list.push([`h${r} ${item.key}`, item.head]); return; }
    const x = item.hit ? { no: item.hit.line, exact: true, text: item.hit.text, need: [], offset: item.hit.offset } : this.blocks.get(item.line);
    for (const k of x.need) need.add(k);
    if (x.gap) {
      const bytes = x.gap.to - x.gap.from;
      list.push([`g${x.gap.from} ${bytes}`, () => make('div', { class: 'ln cut-here' }, make('span', { class: 'no' }),
        make('span', {}, `${count(bytes)} bytes are missing here: ${this.pane.dataset.cut || 'the log was longer than its limit'}.`))]);
    }
    const marked = this.mark && x.exact && x.no >= this.mark[0] && x.no <= this.mark[1], word = this.word;
    const key = [x.no, x.exact, marked && x.no === this.mark[0], marked, word?.source, word?.flags, this.hit === x.no, x.text?.length, x.text].join(' ');
    list.push([key, () => this.build(x, marked)]);
  }

  build(x, marked) {
    const no = x.exact ? count(x.no) : `~${count(x.no)}`;
    const number = marked && x.no === this.mark[0] ? make('a', { class: 'no', href: `#L${x.no}` }, no) : make('span', { class: 'no' }, no);
    const body = make('span', { class: 'tx' });
    if (x.text === undefined) body.append('…'); else this.fill(body, x);
    if (x.more > 0) body.append(make('span', { class: 'q' }, ` … ${count(x.more)} more bytes in this line`));
    return make('div', { class: `ln${marked ? ' mark' : ''}${this.hit === x.no ? ' hit' : ''}`, 'data-no': x.exact ? x.no : null,
      'data-offset': x.offset ?? null }, number, body);
  }

  // fill writes the pieces of a line, with what is searched marked across their borders.
  fill(body, x) {
    const list = pieces(x.text), spans = [];
    if (this.word) for (const m of plain(x.text).slice(0, 4000).matchAll(this.word)) if (m[0]) spans.push([m.index, m.index + m[0].length]);
    let at = 0, i = 0;
    for (const p of list) {
      const out = p.cls || p.mark ? make('span', { class: `${p.cls}${p.mark ? ' ctl' : ''}`.trim() }) : body, end = at + p.text.length;
      let from = at;
      while (i < spans.length && spans[i][0] < end) {
        const [a, z] = spans[i];
        if (a > from) out.append(p.text.slice(from - at, a - at));
        out.append(make('mark', {}, p.text.slice(Math.max(a, from) - at, Math.min(z, end) - at)));
        from = Math.min(z, end);
        if (z > end) break;
        i++;
      }
      if (from < end) out.append(p.text.slice(from - at));
      if (out !== body) body.append(out);
      at = end;
    }
  }

  leave() { this.off.abort(); this.part?.leave(); this.resized?.disconnect(); }
}

export const mount = pane => views.set(pane, new View(pane));
export const unmount = pane => views.get(pane)?.leave();
// viewOf returns the view of a pane.
export const viewOf = pane => views.get(pane);
