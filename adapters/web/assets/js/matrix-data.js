// The cells of a run: one byte each, row by row, with what is counted of them. They come in pages of hosts and change by
// the deltas of the stream.

export const WORDS = ['not reached', 'ok', 'changed', 'skipped', 'failed', 'unreachable', 'rescued', 'ignored', 'running'];
export const RANK = [0, 2, 3, 1, 8, 7, 5, 4, 6];
export const STATES = WORDS.length, FAILED = 4, UNREACHABLE = 5, RESCUED = 6, IGNORED = 7, RUNNING = 8;
const SAME = 255, PAGE = 5000, MESSAGES = 5000, EVENTS = 20000;

export const bad = v => v === FAILED || v === UNREACHABLE;

const decode = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));

// runs calls give(cell, from, to) for each repetition of coded cells.
const runs = (coded, give) => {
  for (let i = 0, at = 0; i < coded.length;) {
    const cell = coded[i++];
    let n = 0, scale = 1, b;
    do { b = coded[i++]; n += (b & 127) * scale; scale *= 128; } while (b & 128);
    give(cell, at, at + n);
    at += n;
  }
};

export class Grid {
  constructor(id) {
    this.url = `/v1/runs/${id}`;
    this.reset();
  }

  reset() {
    Object.assign(this, { tasks: [], names: [], rev: 0, stride: 0, rows: 0, cells: new Uint8Array(0), worst: new Uint8Array(0),
      col: new Uint32Array(0), touched: new Set(), messages: new Map(), index: null, groups: [] });
  }

  get H() { return this.names.length; }
  get T() { return this.tasks.length; }

  // reserve makes room, with some to spare while a run grows.
  reserve(hosts, tasks) {
    if (hosts <= this.rows && tasks <= this.stride) return;
    const rows = hosts <= this.rows ? this.rows : this.rows ? Math.ceil(hosts * 1.2) : hosts;
    const stride = tasks <= this.stride ? this.stride : this.stride ? tasks + 16 : tasks;
    const cells = new Uint8Array(rows * stride), worst = new Uint8Array(rows), col = new Uint32Array(stride * STATES);
    for (let h = 0; h < Math.min(rows, this.rows); h++) {
      cells.set(this.cells.subarray(h * this.stride, h * this.stride + this.stride), h * stride);
    }
    worst.set(this.worst);
    col.set(this.col);
    Object.assign(this, { rows, stride, cells, worst, col });
  }

  async page(from, count) {
    const r = await fetch(`${this.url}/matrix?from=${from}&count=${count}`);
    if (!r.ok) throw new Error(`the matrix answered ${r.status}`);
    return r.json();
  }

  // load reads the whole matrix. The oldest revision of its pages is the one of the matrix: deltas are absolute.
  async load(progress) {
    const messages = this.messages;
    this.reset();
    this.messages = messages;
    let rev = Infinity;
    for (let from = 0, all = 1; from < all;) {
      const p = await this.page(from, PAGE);
      all = p.hosts;
      rev = Math.min(rev, p.rev);
      this.extend(p.tasks, 0);
      this.reserve(all, this.T);
      this.names.push(...p.names);
      const n = p.names.length;
      if (n) {
        runs(decode(p.cells), (cell, a, b) => {
          if (cell) for (let i = a; i < b; i++) this.cells[(from + i % n) * this.stride + Math.floor(i / n)] = cell;
        });
      }
      from += n;
      progress?.(from, all);
      if (!n) break;
    }
    this.rev = Number.isFinite(rev) ? rev : 0;
    this.index = null;
    this.recount();
  }

  extend(tasks, from) {
    for (let i = 0; i < tasks.length; i++) this.tasks[from + i] = tasks[i];
    this.group();
  }

  // group joins neighbouring tasks of one role or, without roles, of one play.
  group() {
    this.groups = [];
    this.tasks.forEach((t, i) => {
      const role = / : /.test(t.name) ? t.name.slice(0, t.name.indexOf(' : ')) : '', name = role || t.play || '';
      const last = this.groups[this.groups.length - 1];
      if (last && last.name === name && last.play === t.play) last.n++;
      else this.groups.push({ name, play: t.play, from: i, n: 1 });
    });
  }

  recount() {
    this.col.fill(0);
    for (let h = 0; h < this.H; h++) {
      let worst = 0;
      for (let t = 0, o = h * this.stride; t < this.T; t++) {
        const v = this.cells[o + t];
        this.col[t * STATES + v]++;
        if (RANK[v] > RANK[worst]) worst = v;
      }
      this.worst[h] = worst;
    }
  }

  // apply takes a delta. It reports false if the matrix has to be read again.
  apply(d) {
    if (d.reload || d.since > this.rev && d.since > 0) return false;
    if (d.since === 0 && d.names_from === 0 && d.tasks_from === 0) this.reset();
    if (d.names_from > this.H || d.tasks_from > this.T) return false;
    const hosts = this.H, tasks = this.T;
    this.reserve(Math.max(d.hosts, this.H), Math.max(this.T, d.tasks_from + d.tasks.length));
    if (d.tasks.length) this.extend(d.tasks, d.tasks_from);
    for (let i = 0; i < d.names.length; i++) this.names[d.names_from + i] = d.names[i];
    if (d.names.length) this.index = null;
    for (let t = 0; t < this.T; t++) {
      this.col[t * STATES] += t < tasks ? this.H - hosts : this.H; // new cells are empty
    }
    const n = d.hosts, rows = new Set();
    if (n) {
      runs(decode(d.cells), (cell, a, b) => {
        if (cell !== SAME) for (let i = a; i < b; i++) this.put(i % n, Math.floor(i / n), cell, rows);
      });
    }
    for (const h of rows) this.judge(h);
    this.rev = Math.max(this.rev, d.rev);
    return true;
  }

  put(h, t, v, rows) {
    const i = h * this.stride + t, old = this.cells[i];
    if (old === v) return;
    this.cells[i] = v;
    this.col[t * STATES + old]--;
    this.col[t * STATES + v]++;
    rows.add(h);
  }

  judge(h) {
    let worst = 0;
    for (let t = 0, o = h * this.stride; t < this.T; t++) if (RANK[this.cells[o + t]] > RANK[worst]) worst = this.cells[o + t];
    if (worst !== this.worst[h]) { this.worst[h] = worst; this.touched.add(h); }
  }

  cell(h, t) { return this.cells[h * this.stride + t]; }
  row(h) { return this.cells.subarray(h * this.stride, h * this.stride + this.T); }

  host(name) {
    this.index ??= new Map(this.names.map((n, i) => [n, i]));
    return this.index.get(name) ?? -1;
  }

  // last returns the column of the cell at which a row stops, -1 for an empty row.
  last(h) {
    for (let t = this.T - 1, o = h * this.stride; t >= 0; t--) if (this.cells[o + t]) return t;
    return -1;
  }

  note(host, message) {
    if (message && (this.messages.size < MESSAGES || this.messages.has(host))) this.messages.set(host, message.split('\n')[0].slice(0, 300));
  }

  message(h) { return this.messages.get(this.names[h]) || ''; }

  // explain reads why hosts failed: the groups name the first twenty hosts of each cause, the events the others.
  async explain(events) {
    const r = await fetch(`${this.url}/failures`);
    if (!r.ok) return;
    let open = 0;
    for (const g of (await r.json()).groups) {
      for (const h of g.hosts) if (!this.messages.has(h)) this.note(h, g.message);
      open += g.count - g.hosts.length;
    }
    if (open <= 0 || events > EVENTS) return;
    for (let after = 0, end = false; !end;) {
      const page = await (await fetch(`${this.url}/events?limit=5000&after=${after}`)).json();
      for (const e of page.events) this.heed(e);
      end = page.end || !page.count;
      after = page.next_after;
    }
  }

  heed(e) { if (e.type === 'host_failed' || e.type === 'host_unreachable') this.note(e.host, e.message || e.stderr); }

  // durations reads how long each host took.
  async durations() {
    const r = await fetch(`${this.url}/hosts`);
    const out = new Float64Array(this.H);
    for (const x of r.ok ? (await r.json()).hosts : []) { const h = this.host(x.host); if (h >= 0) out[h] = x.duration_ms; }
    return out;
  }
}
