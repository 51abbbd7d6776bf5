// The bytes of a log, read in blocks around the reader. Lines are counted from 0 here. The count of line breaks before
// a block is exact as far as the blocks are read from an end that is known, and estimated elsewhere.

export const SIZE = 65536;
const KEPT = 96; // blocks in memory
const LONGEST = 16384; // bytes of a line that are shown
const TYPICAL = 80; // bytes of a line before any was read
const text = new TextDecoder();

const parse = header => {
  const m = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+)$/.exec(header || '');
  return m ? { from: m[1] === undefined ? -1 : Number(m[1]), to: Number(m[2]) + 1, total: Number(m[3]) } : null;
};

class Block {
  constructor(k) {
    this.k = k; this.start = k * SIZE; this.next = this.start;
    this.buf = new Uint8Array(1024); this.len = 0;
    this.breaks = []; // where in buf line breaks are
    this.gaps = []; // {at, hole}: bytes that are missing before this place in buf
    this.before = 10; // the byte before the block
  }

  grow(n) {
    if (n <= this.buf.length) return;
    const more = new Uint8Array(Math.min(SIZE + 64, Math.max(n, this.buf.length * 2)));
    more.set(this.buf.subarray(0, this.len));
    this.buf = more;
  }

  // put takes bytes that stand at an offset, and leaves out those that it has.
  put(offset, bytes) {
    bytes = bytes.subarray(Math.max(0, this.next - offset));
    this.grow(this.len + bytes.length);
    this.buf.set(bytes, this.len);
    for (let i = bytes.indexOf(10); i >= 0; i = bytes.indexOf(10, i + 1)) this.breaks.push(this.len + i);
    this.len += bytes.length;
    this.next += bytes.length;
  }

  // skip passes over a hole, which ends the line before it.
  skip(hole) {
    const last = this.len ? this.buf[this.len - 1] : this.before;
    if (hole.from >= this.start && last !== 10) {
      this.grow(this.len + 1);
      this.buf[this.len] = 10;
      this.breaks.push(this.len++);
    }
    if (!this.gaps.some(g => g.hole === hole)) this.gaps.push({ at: this.len, hole });
    this.next = Math.min(hole.to, this.start + SIZE);
  }
}

export class Blocks {
  constructor(id, changed) {
    this.url = `/v1/runs/${id}/logs`; this.changed = changed; this.total = 0;
    this.blocks = new Map(); this.pending = new Map(); this.counts = []; this.anchors = new Map([[0, 0]]);
    this.holes = []; this.dirty = true; this.before = [0]; this.exact = [true];
  }

  // grow sets the size of the log.
  grow(total) { if (total > this.total) { this.total = total; this.dirty = true; } }

  end(k) { return Math.min(this.total, (k + 1) * SIZE); }
  loaded(k) { const b = this.blocks.get(k); return !!b && b.next >= this.end(k); }

  async ask(from, to) {
    const stop = new AbortController();
    const r = await fetch(this.url, { headers: { Range: `bytes=${from}-${to - 1}` }, cache: 'no-store', signal: stop.signal });
    const at = parse(r.headers.get('Content-Range'));
    if (!at || r.status !== 206 && r.status !== 416) { stop.abort(); throw new Error(`the log answered ${r.status}`); }
    this.grow(at.total);
    return { at, stop, body: r };
  }

  // measure finds the end of a hole.
  async measure(from, least) {
    let to = least;
    for (let step = SIZE; to < this.total; step *= 4) {
      const { at, stop } = await this.ask(to, Math.min(this.total, to + step));
      stop.abort();
      if (at.from >= 0) { to = at.from; break; }
      to = Math.min(this.total, to + step);
    }
    const hole = { from, to };
    this.holes.push(hole);
    return hole;
  }

  hole(offset) { return this.holes.find(h => h.from <= offset && offset < h.to); }

  load(k) {
    if (this.loaded(k)) { const b = this.blocks.get(k); this.blocks.delete(k); this.blocks.set(k, b); return Promise.resolve(b); }
    if (!this.pending.has(k)) {
      this.pending.set(k, this.read(k).finally(() => this.pending.delete(k)));
    }
    return this.pending.get(k);
  }

  async read(k) {
    const b = this.blocks.get(k) || new Block(k);
    let first = k > 0 && b.next === b.start;
    while (b.next < this.end(k)) {
      const known = this.hole(b.next);
      if (known && (!first || known.from < b.start)) { first = false; b.skip(known); continue; }
      const want = b.next - (first ? 1 : 0);
      const { at, body } = await this.ask(want, this.end(k));
      let data = new Uint8Array(at.from < 0 ? 0 : await body.arrayBuffer());
      let from = at.from < 0 ? this.end(k) : at.from;
      if (first && from === want) { b.before = data[0]; data = data.subarray(1); from++; }
      const start = first && from > b.next ? want : b.next;
      first = false;
      if (from > b.next) {
        const far = at.from < 0 ? await this.measure(start, from) : { from: start, to: from };
        if (at.from >= 0) this.holes.push(far);
        b.skip(far);
      }
      b.put(from, data);
    }
    this.keep(b);
    return b;
  }

  keep(b) {
    this.blocks.delete(b.k);
    this.blocks.set(b.k, b);
    this.counts[b.k] = b.breaks.length;
    this.dirty = true;
    for (const k of this.blocks.keys()) {
      if (this.blocks.size <= KEPT) break;
      if (this.loaded(k) && this.end(k) < this.total) this.blocks.delete(k);
    }
    this.changed();
  }

  // add appends what came live. It reports false if the log before it is not read, so that a reader asks for it.
  add(offset, bytes) {
    let b = this.blocks.get(Math.floor(Math.max(0, this.total - 1) / SIZE));
    if (this.total === 0) { b = new Block(0); this.blocks.set(0, b); }
    if (!b || b.next < this.total) { this.grow(offset + bytes.length); return false; }
    if (offset + bytes.length <= this.total) return true;
    if (offset > this.total) {
      const hole = { from: this.total, to: offset };
      this.holes.push(hole);
      b.skip(hole);
      this.counts[b.k] = b.breaks.length;
    }
    bytes = bytes.subarray(Math.max(0, this.total - offset));
    for (let at = Math.max(offset, this.total); bytes.length;) {
      const k = Math.floor(at / SIZE);
      if (k !== b.k) {
        const last = b.len ? b.buf[b.len - 1] : b.before;
        for (let i = b.k + 1; i < k; i++) this.counts[i] = 0; // inside of a hole
        b = new Block(k); b.before = last; b.next = at;
        const gap = this.hole(at - 1);
        if (gap) { b.gaps.push({ at: 0, hole: gap }); b.before = 10; }
      }
      const n = Math.min(bytes.length, (k + 1) * SIZE - at);
      b.put(at, bytes.subarray(0, n));
      at += n; bytes = bytes.subarray(n);
      this.total = at;
      this.keep(b);
    }
    return true;
  }

  // anchor says that a number of lines stands before the line that starts at an offset. Its block must be loaded.
  anchor(line, offset) {
    const k = Math.floor(offset / SIZE), b = this.blocks.get(k);
    if (!b || !this.loaded(k)) return;
    const at = this.place(b, offset);
    this.anchors.set(k, line - b.breaks.filter(x => x < at).length);
    this.dirty = true;
  }

  // close says how many lines the whole log has. Its end must be loaded.
  close(lines) {
    const k = Math.max(0, Math.ceil(this.total / SIZE) - 1), b = this.blocks.get(k);
    if (!b || !this.loaded(k)) return;
    this.anchors.set(k, lines - (b.len && b.buf[b.len - 1] === 10 ? 0 : 1) - b.breaks.length);
    this.dirty = true;
  }

  // place returns where in a block's buffer an offset is.
  place(b, offset) {
    let at = offset - b.start;
    for (const g of b.gaps) if (g.hole.to <= offset) at = g.at + offset - Math.max(g.hole.to, b.start);
    return at;
  }

  // number counts the line breaks before each block.
  number() {
    if (!this.dirty) return;
    this.dirty = false;
    const n = Math.ceil(this.total / SIZE), before = new Array(n + 1).fill(0), exact = new Array(n + 1).fill(false);
    const c = this.counts;
    for (let k = 0; k <= n; k++) {
      if (this.anchors.has(k)) { before[k] = this.anchors.get(k); exact[k] = true; }
      else if (k && exact[k - 1] && c[k - 1] !== undefined) { before[k] = before[k - 1] + c[k - 1]; exact[k] = true; }
    }
    for (let k = n - 1; k >= 0; k--) {
      if (!exact[k] && exact[k + 1] && c[k] !== undefined) { before[k] = before[k + 1] - c[k]; exact[k] = true; }
    }
    let breaks = 0, bytes = 0;
    for (let k = 0; k < n; k++) if (c[k] !== undefined) { breaks += c[k]; bytes += this.end(k) - k * SIZE; }
    const usual = breaks ? breaks / bytes : 1 / TYPICAL;
    for (let k = 0; k < n;) {
      if (exact[k + 1]) { k++; continue; }
      let j = k + 1, known = 0, open = 0;
      while (j <= n && !exact[j]) j++;
      for (let i = k; i < Math.min(j, n); i++) if (c[i] === undefined) open++; else known += c[i];
      const each = j <= n && open ? Math.max(0, (before[j] - before[k] - known) / open) : usual * SIZE;
      let sum = before[k];
      for (let i = k; i < Math.min(j, n); i++) { sum += c[i] ?? each; if (i + 1 < j) before[i + 1] = Math.round(sum); }
      k = j;
    }
    this.before = before; this.exact = exact;
  }

  // lines returns the number of lines, estimated where blocks are not read.
  lines() {
    this.number();
    const n = this.before.length - 1, b = this.blocks.get(n - 1);
    const open = this.total > 0 && !(b && b.len && b.buf[b.len - 1] === 10 && b.next >= this.total);
    return this.before[n] + (open ? 1 : 0);
  }

  known() { this.number(); return this.exact[this.exact.length - 1]; }

  // where returns the line break that a line starts after, as a block and an index in it; -1 is the start of the log.
  where(line) {
    this.number();
    if (line <= 0) return { k: 0, i: -1 };
    let a = 0, z = this.before.length - 2;
    while (a < z) { const m = (a + z + 1) >> 1; if (this.before[m] < line) a = m; else z = m - 1; }
    return { k: Math.max(0, a), i: line - 1 - this.before[Math.max(0, a)] };
  }

  lineOf({ k, i }) { this.number(); return (this.before[k] ?? 0) + i + 1; }

  // get returns a line: its number from 1, whether that is exact, its text, and a hole before it. Without text, the
  // blocks in need have to be read.
  get(line) {
    const { k, i } = this.where(line);
    const b = this.blocks.get(k);
    if (!b || !this.loaded(k)) return { no: line + 1, exact: false, need: [k] };
    let at = i < 0 ? 0 : b.breaks[i] + 1, from = b, need = [];
    if (!(at >= 0)) return { no: line + 1, exact: false, need: [] };
    let gap = b.gaps.find(g => g.at === at && g.hole.from >= b.start)?.hole;
    const parts = [];
    let size = 0, more = 0;
    for (let j = k; ; j++) {
      from = this.blocks.get(j);
      if (!from || !this.loaded(j)) { need = [j]; break; }
      if (j > k) at = 0;
      if (size === 0 && j > k) gap ??= from.gaps.find(g => g.at === 0)?.hole;
      const stop = j === k ? from.breaks[i + 1] : from.breaks[0];
      const to = stop ?? from.len;
      if (size < LONGEST) parts.push(from.buf.subarray(at, Math.min(to, at + LONGEST - size)));
      size += to - at;
      if (stop !== undefined || (j + 1) * SIZE >= this.total) break;
      if (size > LONGEST * 64) { more = 1; break; }
    }
    more = Math.max(more, size - LONGEST);
    const bytes = parts.length === 1 ? parts[0] : new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
    if (parts.length > 1) { let o = 0; for (const p of parts) { bytes.set(p, o); o += p.length; } }
    return { no: line + 1, exact: this.exact[k], text: text.decode(bytes), more, gap, need };
  }

  // offset returns where a line starts, if its block is loaded.
  offset(line) {
    const { k, i } = this.where(line), b = this.blocks.get(k);
    if (!b) return null;
    let at = b.start + (i < 0 ? 0 : b.breaks[i] + 1);
    for (const g of b.gaps) if (g.at <= (i < 0 ? 0 : b.breaks[i] + 1)) at += g.hole.to - Math.max(g.hole.from, b.start);
    return at;
  }

  // lineAt returns the line that starts at an offset, after its block was loaded.
  async lineAt(offset) {
    const k = Math.floor(Math.min(offset, Math.max(0, this.total - 1)) / SIZE), b = await this.load(k);
    const at = this.place(b, offset);
    return this.lineOf({ k, i: b.breaks.filter(x => x < at).length - 1 });
  }

  // seek returns the line with a number, reading blocks on from the nearest ones that are numbered.
  async seek(line, limit = 64) {
    for (let i = 0; i < limit; i++) {
      this.number();
      const { k } = this.where(line);
      await this.load(k);
      this.number();
      if (this.exact[k] && this.where(line).k === k) return line;
      let near = k;
      while (near > 0 && !this.exact[near]) near--;
      while (near < k && this.counts[near] !== undefined) near++;
      await this.load(near);
    }
    return line;
  }
}
