// The log by plays and tasks: folding, filters, and the way between a line and a cell of the matrix. The server finds
// the heads and the lines, so that it works for a log of any size.
import { $, make, count } from './dom.js';
import { plain } from './ansi.js';
import { duration } from './time.js';
import { SIZE } from './log-blocks.js';

// Colours may stand before the first word of a line.
const ANSI = '^(\\x1b\\[[0-9;]*m)*';
const HEADS = `${ANSI}(PLAY|TASK|RUNNING HANDLER) (\\[|RECAP)`;
const FILTERS = { failed: `${ANSI}(fatal|failed): \\[`, changed: `${ANSI}changed: \\[` };
const RESULT = /^(?:ok|changed|skipping|fatal|failed|unreachable|ignored|included|rescued): \[([^\]]+?)(?: -> [^\]]*)?\]/;
const AGAIN = 3000;

export class Outline {
  constructor(view) {
    Object.assign(this, { view, heads: null, tasks: null, open: new Set(), mode: '', host: '', asked: 0, size: -1 });
    const on = (el, name, f) => el?.addEventListener(name, f, { signal: view.off.signal });
    this.fold = $('[data-fold]', view.pane); this.select = $('[data-only]', view.pane);
    on(this.fold, 'click', () => (this.mode === 'fold' ? this.whole() : this.folded()));
    on(this.select, 'change', () => (this.select.value ? this.only(this.select.value) : this.whole()));
    this.again = setInterval(() => { if (view.live && this.mode && view.blocks.total !== this.size) this.refresh(); }, AGAIN);
    view.off.signal.addEventListener('abort', () => clearInterval(this.again));
  }

  // reset shows the whole log again, without moving it.
  reset() {
    this.mode = ''; this.asked++;
    this.fold?.setAttribute('aria-pressed', 'false');
    if (this.select) this.select.value = '';
  }

  whole() { this.reset(); this.view.map = null; this.view.setTop(0); }

  refresh() {
    this.heads = null;
    if (this.mode === 'fold') this.folded(); else if (this.mode) this.only(this.mode);
  }

  async list() {
    if (this.heads && (!this.view.live || this.size === this.view.blocks.total)) return this.heads;
    this.size = this.view.blocks.total;
    const found = await this.view.find.ask(HEADS, true, true);
    const seen = new Map();
    this.heads = found.hits.map(h => {
      const text = plain(h.text), m = /^(PLAY|TASK|RUNNING HANDLER) (?:\[(.*)\]|(RECAP))/.exec(text);
      const name = m?.[2] ?? 'recap', kind = m?.[1] || 'PLAY', nth = seen.get(name) || 0;
      if (kind !== 'PLAY') seen.set(name, nth + 1);
      return { line: h.line, offset: h.offset, kind, name, nth };
    });
    this.all = found.total <= found.hits.length;
    return this.heads;
  }

  async counts() {
    if (this.tasks && !this.view.live) return this.tasks;
    const r = await fetch(`/v1/runs/${this.view.id}/tasks`), seen = new Map();
    this.tasks = new Map();
    for (const t of r.ok ? (await r.json()).tasks : []) {
      const nth = seen.get(t.task) || 0;
      seen.set(t.task, nth + 1);
      this.tasks.set(`${t.task} ${nth}`, t);
    }
    return this.tasks;
  }

  async folded() {
    const asked = ++this.asked;
    try {
      await this.list();
      await this.counts();
      if (asked !== this.asked) return;
    } catch (err) { this.view.fail(err); return; }
    if (this.view.follow) this.view.setFollow(false);
    const first = this.mode !== 'fold';
    this.mode = 'fold';
    this.fold?.setAttribute('aria-pressed', 'true');
    if (this.select) this.select.value = '';
    this.view.map = this.segments();
    this.view.shown.clear();
    if (first) this.view.setTop(0); else this.view.ask();
  }

  // segments maps rows to lines: those before the first head, then each head with its lines if it is open.
  segments() {
    const lines = this.view.blocks.lines(), list = [];
    let row = 0;
    const add = s => { s.row = row; row += (s.head ? 1 : 0) + s.size; list.push(s); };
    const first = this.heads[0]?.line ?? lines + 1;
    if (first > 1) add({ from: 0, size: first - 1 });
    this.heads.forEach((h, i) => {
      const size = Math.max(0, (this.heads[i + 1]?.line ?? lines + 1) - 1 - h.line);
      add({ head: h, from: h.line, all: size, size: this.open.has(h.line) ? size : 0 });
    });
    return {
      count: () => row,
      row: r => {
        let a = 0, z = list.length - 1;
        while (a < z) { const m = (a + z + 1) >> 1; if (list[m].row <= r) a = m; else z = m - 1; }
        const s = list[a];
        if (s?.head && r === s.row) return { key: `${s.head.line} ${s.size} ${s.all}`, head: () => this.headRow(s) };
        return { line: s.from + r - s.row - (s.head ? 1 : 0) };
      },
    };
  }

  headRow(s) {
    const h = s.head, t = this.tasks.get(`${h.name} ${h.nth}`), words = [];
    if (t) {
      for (const k of ['failed', 'unreachable', 'changed', 'ok', 'skipped']) if (t[k]) words.push(`${count(t[k])} ${k}`);
      if (t.duration_ms) words.push(duration(t.duration_ms));
    }
    words.push(`${count(s.all)} ${s.all === 1 ? 'line' : 'lines'}`);
    const bad = t && (t.failed || t.unreachable);
    const b = make('button', { class: `fold-head${bad ? ' bad' : ''}${h.kind === 'PLAY' ? ' play' : ''}`, 'aria-expanded': String(s.size > 0) },
      make('b', {}, `${h.kind === 'PLAY' ? 'Play' : h.kind === 'TASK' ? 'Task' : 'Handler'} ${h.name}`), make('span', { class: 'q' }, words.join(', ')));
    b.addEventListener('click', async () => {
      if (this.open.has(h.line)) this.open.delete(h.line);
      else {
        await this.view.blocks.load(Math.floor(h.offset / SIZE)).catch(() => {});
        this.view.blocks.anchor(h.line - 1, h.offset);
        this.open.add(h.line);
      }
      this.view.map = this.segments();
      this.view.ask();
    });
    return make('div', { class: 'ln fold' }, make('span', { class: 'no' }, count(h.line)), b);
  }

  // only shows the lines of failed or changed results, or those of the host that is selected in the matrix.
  async only(what) {
    const asked = ++this.asked;
    let found;
    try {
      found = what === 'host' ? await this.view.find.ask(`[${this.host}]`, false, true) : await this.view.find.ask(FILTERS[what], true, true);
    } catch (err) { this.view.fail(err); return; }
    if (asked !== this.asked) return;
    if (this.view.follow) this.view.setFollow(false);
    const first = this.mode !== what, more = found.total - found.hits.length;
    this.mode = what;
    this.fold?.setAttribute('aria-pressed', 'false');
    if (this.select) this.select.value = what;
    this.size = this.view.blocks.total;
    const note = found.total === 0 ? 'No such line.' : more > 0 ? `${count(more)} more lines are not listed.` : '';
    this.view.map = {
      count: () => found.hits.length + (note ? 1 : 0),
      row: r => found.hits[r] ? { hit: found.hits[r] }
        : { key: note, head: () => make('div', { class: 'ln' }, make('span', { class: 'no' }), make('span', { class: 'q' }, note)) },
    };
    this.view.shown.clear();
    if (first) this.view.setTop(0); else this.view.ask();
  }

  // show shows the line of a cell: the host's first line below the head of the task.
  async show({ host, task, nth, only }) {
    this.host = host;
    const option = this.select && $('option[value=host]', this.select);
    if (option) { option.disabled = false; option.textContent = `Only ${host}`; }
    if (this.mode === 'host') { this.only('host'); return; }
    if (only) return;
    try {
      const heads = await this.list(), i = heads.findIndex(h => h.kind !== 'PLAY' && h.name === task && h.nth === nth);
      const from = i < 0 ? 0 : heads[i].line, to = i < 0 ? Infinity : heads[i + 1]?.line ?? Infinity;
      const found = await this.view.find.ask(`[${host}]`, false, true);
      const under = found.hits.filter(h => h.line > from && h.line < to);
      const hit = under.find(h => RESULT.exec(plain(h.text))?.[1] === host) || under[0] || (i < 0 ? null : heads[i]);
      if (hit) await this.view.go(hit, true);
    } catch (err) { this.view.fail(err); }
  }

  // cell reports the cell that a line belongs to.
  async cell(no, text) {
    const host = RESULT.exec(text)?.[1];
    if (!host || !$('[data-mod=matrix]')) return;
    const heads = await this.list().catch(() => []);
    let head = null;
    for (const h of heads) { if (h.line > no) break; if (h.kind !== 'PLAY') head = h; }
    document.dispatchEvent(new CustomEvent('writ:line', { detail: { host, task: head?.name ?? '', nth: head?.nth ?? 0 } }));
  }
}
