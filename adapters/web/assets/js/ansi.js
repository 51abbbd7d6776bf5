// Lines of output as pieces of text with classes. Colours become the palette of the page, which keeps its contrast in
// both themes. Whatever else a terminal would do is dropped, and control characters become visible marks.

const HUES = ['k', 'r', 'g', 'y', 'b', 'm', 'c', 'w'];

// near returns the hue of the palette that is nearest to a colour.
const near = (r, g, b) => {
  const max = Math.max(r, g, b), min = Math.min(r, g, b), d = max - min;
  if (d < 40) return max < 70 ? 'k' : max > 190 ? 'w' : 'd';
  const hue = max === r ? ((g - b) / d + 6) % 6 : max === g ? (b - r) / d + 2 : (r - g) / d + 4;
  const end = [[.5, 'r'], [1.2, 'y'], [2.75, 'g'], [3.35, 'c'], [4.35, 'b'], [5.5, 'm'], [6.1, 'r']];
  return end.find(([to]) => hue < to)[1];
};

const STEPS = [0, 95, 135, 175, 215, 255];

// indexed returns the hue of one of 256 colours.
const indexed = n => {
  if (n < 8) return HUES[n];
  if (n < 16) return n === 8 ? 'd' : HUES[n - 8];
  if (n >= 232) { const v = 8 + (n - 232) * 10; return near(v, v, v); }
  n -= 16;
  return near(STEPS[Math.floor(n / 36)], STEPS[Math.floor(n / 6) % 6], STEPS[n % 6]);
};

// colour applies the codes of one sequence to a state.
const apply = (s, codes) => {
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i];
    if (c === 0) { s.fg = s.bg = ''; s.bold = s.under = s.flip = false; }
    else if (c === 1) s.bold = true;
    else if (c === 2) s.fg = 'd';
    else if (c === 4) s.under = true;
    else if (c === 7) s.flip = true;
    else if (c === 22) { s.bold = false; if (s.fg === 'd') s.fg = ''; }
    else if (c === 24) s.under = false;
    else if (c === 27) s.flip = false;
    else if (c === 39) s.fg = '';
    else if (c === 49) s.bg = '';
    else if (c >= 30 && c < 38) s.fg = HUES[c - 30];
    else if (c >= 40 && c < 48) s.bg = HUES[c - 40];
    else if (c >= 90 && c < 98) s.fg = c === 90 ? 'd' : HUES[c - 90];
    else if (c >= 100 && c < 108) s.bg = HUES[c - 100];
    else if (c === 38 || c === 48) {
      let hue = '';
      if (codes[i + 1] === 5) { hue = indexed(codes[i + 2] & 255); i += 2; }
      else if (codes[i + 1] === 2) { hue = near(codes[i + 2] & 255, codes[i + 3] & 255, codes[i + 4] & 255); i += 4; }
      if (c === 38) s.fg = hue; else s.bg = hue;
    }
  }
};

const classes = s => {
  const out = [];
  if (s.bold) out.push('a-B');
  if (s.under) out.push('a-U');
  // Text on a coloured ground has the ground's own text colour, so that every pair of the palette is readable.
  const ground = s.flip ? s.fg || 'w' : s.bg;
  if (ground) out.push(`g-${ground}`); else if (s.fg) out.push(`a-${s.fg}`);
  return out.join(' ');
};

// A sequence of a terminal: CSI, then strings (OSC, DCS, SOS, PM, APC) with their end, then two characters.
const SEQUENCE = /(?:\u001b\[|\u009b)([0-?]*)([ -/]*)([@-~])|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c|$)|\u001b[ -/]*[0-~]/g;

// What must be seen: controls but the tab, marks of direction, and characters that have no width.
const HIDDEN = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/;
const HIDDEN_ALL = new RegExp(HIDDEN, 'g');

const name = c => {
  const n = c.charCodeAt(0);
  if (n < 32) return String.fromCharCode(0x2400 + n);
  if (n === 127) return '\u2421';
  return `U+${n.toString(16).toUpperCase().padStart(4, '0')}`;
};

// last returns the last state of a line that carriage returns have overwritten.
const last = line => {
  if (!line.includes('\r')) return line;
  const states = line.split('\r').filter(x => x !== '');
  return states.length ? states[states.length - 1] : '';
};

// pieces returns a line as [{text, cls, mark}]. A piece with mark stands for a character that cannot be seen.
export const pieces = line => {
  line = last(line);
  const out = [];
  const state = { fg: '', bg: '', bold: false, under: false, flip: false };
  let cls = '';
  const put = text => {
    let from = 0;
    if (HIDDEN.test(text)) {
      for (const m of text.matchAll(HIDDEN_ALL)) {
        if (m.index > from) out.push({ text: text.slice(from, m.index), cls });
        out.push({ text: name(m[0]), cls, mark: true });
        from = m.index + 1;
      }
    }
    if (from < text.length) out.push({ text: text.slice(from), cls });
  };
  let at = 0;
  for (const m of line.matchAll(SEQUENCE)) {
    if (m.index > at) put(line.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[3] === 'm' && !m[2] && !/[<-?]/.test(m[1])) {
      apply(state, m[1].split(/[;:]/).map(x => Number(x) || 0));
      cls = classes(state);
    }
  }
  if (at < line.length) put(line.slice(at));
  return out;
};

// plain returns the text of a line as it is shown.
export const plain = line => pieces(line).map(p => p.text).join('');
