// Find in the log: the server searches all of it and returns the true count and the first thousand places.
import { $, draw, count } from './dom.js';

const MOST = 1000, WAIT = 200, AGAIN = 3000;

export class Find {
  constructor(view) {
    Object.assign(this, { view, hits: [], total: 0, at: -1, timer: 0, asked: 0, size: 0 });
    const pane = view.pane, on = (el, name, f) => el?.addEventListener(name, f, { signal: view.off.signal });
    this.input = $('[data-log-find]', pane); this.count = $('[data-found]', pane); this.strip = $('.hits', pane);
    on(this.input, 'input', () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.run(true), WAIT); });
    on(this.input, 'keydown', e => {
      if (e.key === 'Enter') { e.preventDefault(); this.step(e.shiftKey ? -1 : 1); }
      if (e.key === 'Escape') { this.input.value = ''; this.run(); view.el.focus(); }
    });
    on(pane, 'click', e => {
      const b = e.target.closest('button');
      if (b?.matches('[data-step]')) this.step(Number(b.dataset.step));
      if (b?.matches('[data-case], [data-regex]')) {
        b.setAttribute('aria-pressed', b.getAttribute('aria-pressed') !== 'true');
        this.run(true);
      }
    });
    on(this.strip, 'click', e => {
      const r = this.strip.getBoundingClientRect(), at = (e.clientY - r.top) / r.height * view.blocks.total;
      let best = -1;
      this.hits.forEach((h, i) => { if (best < 0 || Math.abs(h.offset - at) < Math.abs(this.hits[best].offset - at)) best = i; });
      if (best >= 0) { this.at = best - 1; this.step(1); }
    });
    this.again = setInterval(() => { if (view.live && this.input?.value && view.blocks.total !== this.size) this.run(); }, AGAIN);
    view.off.signal.addEventListener('abort', () => { clearInterval(this.again); clearTimeout(this.timer); });
    const q = new URLSearchParams(location.search).get('find');
    if (q && this.input) { this.input.value = q; this.run(true); }
  }

  pressed(name) { return $(`[data-${name}]`, this.view.pane)?.getAttribute('aria-pressed') === 'true'; }

  // ask searches the log.
  async ask(q, regex, sensitive, limit = MOST) {
    const query = new URLSearchParams({ q, limit });
    if (regex) query.set('regex', 1);
    if (sensitive) query.set('case', 1);
    const r = await fetch(`/v1/runs/${this.view.id}/logs/find?${query}`);
    const body = await r.json();
    if (!r.ok) throw new Error(body.errors?.[0]?.message || body.detail || body.error || 'The search failed.');
    return body;
  }

  async run(first) {
    const { view } = this, q = this.input?.value || '', regex = this.pressed('regex'), sensitive = this.pressed('case');
    const asked = ++this.asked;
    this.hits = []; this.total = 0;
    if (first) { this.at = -1; view.hit = null; }
    this.input?.removeAttribute('aria-invalid');
    view.word = null;
    if (q) {
      try { view.word = new RegExp(regex ? q : q.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), sensitive ? 'g' : 'gi'); } catch { /* RE2 only */ }
      this.size = view.blocks.total;
      try {
        const found = await this.ask(q, regex, sensitive);
        if (asked !== this.asked) return;
        this.hits = found.hits; this.total = found.total;
      } catch (err) {
        if (asked !== this.asked) return;
        this.input.setAttribute('aria-invalid', 'true');
        view.word = null; this.say(err.message); this.draw(); view.ask();
        return;
      }
    }
    this.say(q ? this.text() : '');
    this.draw();
    view.ask();
    if (first && this.hits.length) this.step(1);
  }

  text() {
    if (!this.total) return 'no match';
    const all = count(this.total), at = this.at < 0 ? '' : `${count(this.at + 1)} of `;
    return this.total > this.hits.length ? `${at}${all}, the first ${count(this.hits.length)} are listed` : `${at}${all}`;
  }

  say(text) { if (this.count) this.count.textContent = text; }

  async step(by) {
    const n = this.hits.length;
    if (!n) return;
    this.at = this.at < 0 && by < 0 ? n - 1 : (this.at + by + n) % n;
    this.say(this.text());
    await this.view.go(this.hits[this.at]).catch(err => this.view.fail(err));
  }

  draw() {
    if (!this.strip) return;
    this.strip.replaceChildren(...this.hits.map(h => draw('rect', { x: 1, width: 8, height: 3, class: 'f-chg',
      y: `${Math.min(99.4, h.offset / Math.max(1, this.view.blocks.total) * 100)}%` })));
    this.strip.toggleAttribute('hidden', !this.hits.length);
  }
}
