// Paints a matrix: only the cells in view, one path for each state. Severity is size and shape first, colour second.
import { STATES, RANK, RUNNING, FAILED, UNREACHABLE, RESCUED, IGNORED, bad } from './matrix-data.js';
import { count, plural } from './dom.js';

const PAPER = /^(surface|bg|hover|pick|raised)$/;

// colours resolves the tokens of the page. In forced colours they are the reader's own two, and the shapes carry the
// state.
export const colours = () => {
  const probe = document.createElement('i'), forced = matchMedia('(forced-colors: active)').matches;
  document.body.append(probe);
  probe.style.forcedColorAdjust = 'none';
  const c = n => {
    probe.style.color = !forced ? `var(--${n})` : PAPER.test(n) ? 'Canvas' : n === 'focus' ? 'Highlight' : 'CanvasText';
    return getComputedStyle(probe).color;
  };
  const font = n => { probe.style.fontFamily = `var(--${n})`; return getComputedStyle(probe).fontFamily; };
  const marks = ['line-2', 'done-m', 'chg-m', 'idle-m', 'fail-m', 'lost-m', 'fail-m', 'fail-m', 'now-m'].map(c);
  const texts = ['idle-t', 'done-t', 'chg-t', 'idle-t', 'fail-t', 'lost-t', 'fail-t', 'fail-t', 'now-t'].map(c);
  const out = { bg: c('surface'), head: c('bg'), line: c('line'), line2: c('line-2'), ink: c('ink'), ink2: c('ink-2'),
    ink3: c('ink-3'), hover: c('hover'), focus: c('focus'), pick: c('pick'), marks, texts, sans: font('sans'), mono: font('mono') };
  probe.remove();
  return out;
};

// fit cuts a text to a width.
const fit = (g, s, max) => {
  if (max < 24) return '';
  if (s.length > 400) s = s.slice(0, 400);
  if (g.measureText(s).width <= max) return s;
  let a = 0, b = s.length;
  while (a < b) { const m = (a + b + 1) >> 1; if (g.measureText(`${s.slice(0, m)}…`).width <= max) a = m; else b = m - 1; }
  return `${s.slice(0, a)}…`;
};

// mark adds the shape of a state to the path.
const mark = (g, v, x, y, w, h) => {
  const cx = x + w / 2, cy = y + h / 2, m = Math.min(w, h, 16);
  if (v === 1) { const s = Math.max(3, Math.round(m * .38)); g.rect(Math.round(cx - s / 2), Math.round(cy - s / 2), s, s); }
  else if (v === 2) { const s = m * .38; g.moveTo(cx, cy - s); g.lineTo(cx + s, cy); g.lineTo(cx, cy + s); g.lineTo(cx - s, cy); g.closePath(); }
  else if (v === 3) g.rect(Math.round(cx - m * .26), Math.round(cy) - .75, Math.round(m * .52), 1.5);
  else if (v === RUNNING) { g.moveTo(cx + m * .3, cy); g.arc(cx, cy, m * .3, 0, 7); }
  else if (v === RESCUED || v === IGNORED) {
    g.rect(x + 1.5, y + 3, w - 3, h - 6);
    if (v === IGNORED) { g.moveTo(x + 3, cy); g.lineTo(x + w - 3, cy); }
  }
  else g.rect(x + .5, y + 2, w - 1, h - 4);
};

// sign writes the cross of a failure or the bar of an unreachable host on its block.
const sign = (g, v, x, y, w) => {
  const s = Math.min(w, 14) * .2;
  g.beginPath();
  if (v === FAILED) { g.moveTo(x - s, y - s); g.lineTo(x + s, y + s); g.moveTo(x + s, y - s); g.lineTo(x - s, y + s); }
  else { g.moveTo(x, y - 4); g.lineTo(x, y + 1.5); g.moveTo(x, y + 3.4); g.lineTo(x, y + 4.6); }
  g.stroke();
};

// view computes which rows and columns are in view.
const view = m => {
  const top = m.box.scrollTop, sx = m.box.scrollLeft;
  return {
    r0: Math.floor(top / m.rowH), r1: Math.min(m.rows.length, Math.ceil((top + m.h - m.headH) / m.rowH) + 1),
    c0: Math.floor(sx / m.cw), c1: Math.min(m.grid.T, Math.ceil((sx + m.w - m.left) / m.cw)),
    x: t => m.left + t * m.cw - sx, y: r => m.headH + r * m.rowH - top,
  };
};

const cells = (m, v) => {
  const { g, grid, c, rows, rowH, cw } = m;
  g.fillStyle = c.line;
  for (const p of grid.groups) g.fillRect(Math.round(v.x(p.from)) - .5, m.headH, 1, m.h);
  let seen = 0;
  for (let r = v.r0; r < v.r1; r++) for (let t = v.c0, o = rows[r].h * grid.stride; t < v.c1; t++) seen |= 1 << grid.cells[o + t];
  for (let s = 1; s < STATES; s++) {
    if (!(seen & 1 << s)) continue;
    g.beginPath();
    for (let r = v.r0; r < v.r1; r++) {
      const o = rows[r].h * grid.stride, y = v.y(r);
      for (let t = v.c0; t < v.c1; t++) if (grid.cells[o + t] === s) mark(g, s, v.x(t), y, cw, rowH);
    }
    if (s >= RESCUED) { g.strokeStyle = c.marks[s]; g.lineWidth = 1.6; g.stroke(); }
    else { g.fillStyle = c.marks[s]; g.fill(); }
  }
};

// reasons writes why a row stopped into the space that it left empty.
const reasons = (m, v) => {
  const { g, grid, c, rows, rowH, cw } = m;
  g.lineWidth = 1.5; g.font = `12px ${c.sans}`;
  for (let r = v.r0; r < v.r1; r++) {
    const h = rows[r].h;
    if (!bad(grid.worst[h])) continue;
    const y = v.y(r) + rowH / 2;
    g.strokeStyle = c.bg;
    for (let t = v.c0, o = h * grid.stride; t < v.c1; t++) if (bad(grid.cells[o + t])) sign(g, grid.cells[o + t], v.x(t) + cw / 2, y, cw);
    const last = grid.last(h), room = m.w - v.x(last + 1) - 16, text = room > 80 && grid.message(h);
    if (text) { g.fillStyle = c.texts[grid.cell(h, last)] || c.ink2; g.fillText(fit(g, text, room), v.x(last + 1) + 6, y + .5); }
  }
};

const names = (m, v) => {
  const { g, grid, c, rows, rowH, left } = m;
  for (let r = v.r0; r < v.r1; r++) {
    const row = rows[r], y = v.y(r) + rowH / 2 + .5, worst = grid.worst[row.h];
    g.fillStyle = bad(worst) ? c.texts[worst] : row.n > 1 ? c.ink : c.ink2;
    if (row.n > 1) {
      g.font = `600 12px ${c.sans}`;
      const n = count(row.n);
      g.fillText(n, 16, y);
      const w = g.measureText(n).width;
      g.font = `12px ${c.sans}`; g.fillStyle = c.ink3;
      g.fillText(fit(g, `alike, e.g. ${grid.names[row.h]}`, left - w - 30), 21 + w, y);
    } else { g.font = `12px ${c.mono}`; g.fillText(fit(g, grid.names[row.h], left - 26), 16, y); }
  }
};

const heads = (m, v, hot) => {
  const { g, grid, c, w, left, headH, cw } = m, H = Math.max(1, grid.H), tall = 18, base = headH - 5;
  g.fillStyle = c.bg; g.fillRect(0, 0, w, headH);
  if (hot && hot.t >= 0) { g.fillStyle = c.pick; g.fillRect(Math.max(left, v.x(hot.t)), 26, cw, headH - 26); }
  g.fillStyle = c.ink3; g.font = `12px ${c.sans}`;
  const rows = plural(m.rows.length, m.options.sort === 'alike' ? 'pattern' : 'host');
  g.fillText(fit(g, w < 560 ? rows : `${rows}, ${plural(grid.T, 'task')}`, left - 22), 16, 38);
  g.save(); g.beginPath(); g.rect(left, 0, w - left, headH); g.clip();
  for (const p of grid.groups) {
    const x = v.x(p.from), end = x + p.n * cw;
    if (end < left || x > w) continue;
    g.fillStyle = c.line; g.fillRect(Math.round(x) - .5, 6, 1, headH - 6);
    g.fillStyle = c.ink2; g.font = `500 12px ${c.sans}`;
    g.fillText(fit(g, p.name, end - Math.max(x, left) - 10), Math.max(x, left) + 6, 14);
  }
  for (let t = v.c0; t < v.c1; t++) {
    const n = s => grid.col[t * STATES + s], x = v.x(t) + 2, bw = cw - 4, ran = H - n(0) - n(RUNNING);
    g.fillStyle = c.line; g.fillRect(x, base - 1, bw, 1);
    if (ran > 0) { g.fillStyle = c.marks[1]; g.fillRect(x, base - 2, bw * Math.min(1, ran / H), 2); }
    const changed = Math.ceil(n(2) / H * tall);
    if (changed) { g.fillStyle = c.marks[2]; g.fillRect(x, base - 2 - changed, bw, changed); }
    let y = base - 3 - changed;
    if (n(FAILED)) { g.fillStyle = c.marks[FAILED]; g.fillRect(x, y - 6, bw, 6); y -= 7; }
    if (n(UNREACHABLE)) { g.fillStyle = c.marks[UNREACHABLE]; g.fillRect(x, y - 4, bw, 4); }
    if (n(RUNNING)) { g.fillStyle = c.marks[RUNNING]; g.fillRect(x, base - 2, bw, 2); }
  }
  g.restore();
  g.fillStyle = c.line2; g.fillRect(0, headH - 1, w, 1);
};

// paint draws the matrix m.
export const paint = m => {
  const { g, c, w, h, left, cw, rowH } = m;
  if (!w || !h) return;
  const v = view(m), hot = m.hover || m.cursor;
  g.textBaseline = 'middle';
  g.fillStyle = c.bg; g.fillRect(0, 0, w, h);
  if (hot) {
    g.fillStyle = c.hover;
    if (hot.r >= v.r0 && hot.r < v.r1) g.fillRect(0, v.y(hot.r), w, rowH);
    if (hot.t >= 0) g.fillRect(v.x(hot.t), 0, cw, h);
  }
  g.save(); g.beginPath(); g.rect(left, 0, w - left, h); g.clip();
  cells(m, v);
  reasons(m, v);
  if (m.cursor && m.cursor.t >= 0 && document.activeElement === m.box) {
    g.strokeStyle = c.focus; g.lineWidth = 2; g.strokeRect(v.x(m.cursor.t) - 1, v.y(m.cursor.r) + 1, cw + 2, rowH - 2);
  }
  g.restore();
  names(m, v);
  g.fillStyle = c.line; g.fillRect(left - 5, m.headH, 1, h);
  heads(m, v, hot);
};

// fleet draws the whole fleet: each row of pixels is a slice of the hosts, and failures are at least 3 px high.
const fleet = (m, g) => {
  const { c, sw, sh, rows, grid } = m, n = rows.length, from = 6, tall = sh - 12, wide = sw - 16, ticks = [];
  g.fillStyle = c.head; g.fillRect(0, 0, sw, sh);
  for (let y = 0; n && y < tall; y++) {
    const a = Math.floor(y / tall * n), b = Math.max(a + 1, Math.floor((y + 1) / tall * n));
    let changed = 0, ok = 0, worst = 0;
    for (let r = a; r < b && r < n; r++) {
      const s = grid.worst[rows[r].h];
      if (RANK[s] > RANK[worst]) worst = s;
      if (s === 2) changed++; else if (s === 1) ok++;
    }
    g.globalAlpha = .45;
    g.fillStyle = c.marks[1]; g.fillRect(8, from + y, wide * ok / (b - a), 1);
    g.fillStyle = c.marks[2]; g.fillRect(8 + wide * ok / (b - a), from + y, wide * changed / (b - a), 1);
    g.globalAlpha = 1;
    if (bad(worst)) ticks.push([y, worst]);
  }
  for (const [y, s] of ticks) {
    g.fillStyle = c.marks[s];
    g.fillRect(s === FAILED ? 5 : sw / 2, from + y - 1, sw - (s === FAILED ? 10 : sw / 2 + 5), 3);
  }
};

// paintStrip draws the fleet, which is drawn anew only if it changed, and the part of it that is in view.
export const paintStrip = m => {
  const { sg: g, c, sw, sh, strip } = m, n = m.rows.length;
  if (!sh || !sw) return;
  if (!m.fleet || m.fleet.width !== strip.width || m.fleet.height !== strip.height) {
    m.fleet = document.createElement('canvas');
    m.fleet.width = strip.width; m.fleet.height = strip.height;
    m.stale = true;
  }
  if (m.stale) {
    const f = m.fleet.getContext('2d', { alpha: false });
    f.setTransform(strip.width / sw, 0, 0, strip.height / sh, 0, 0);
    fleet(m, f);
    m.stale = false;
  }
  g.drawImage(m.fleet, 0, 0, sw, sh);
  const from = 6, tall = sh - 12, high = n ? Math.max(14, (m.h - m.headH) / (n * m.rowH) * tall) : tall;
  if (high < tall) {
    g.strokeStyle = c.ink; g.lineWidth = 1.5;
    g.strokeRect(2.5, Math.min(from + tall - high, from + m.box.scrollTop / (n * m.rowH) * tall), sw - 5, high);
  }
};
