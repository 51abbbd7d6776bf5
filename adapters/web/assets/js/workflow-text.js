// The steps of a workflow as YAML. The server reads the text; this writes it. A step that did not change keeps its lines
// with their comments.

// Exact is a number that a number of JavaScript does not hold exactly.
class Exact {
  constructor(source) { this.source = source; }
  toJSON() { return this.source; }
}

// parse reads JSON and keeps numbers as they are written.
export const parse = text => JSON.parse(text,
  (k, v, c) => (typeof v === 'number' && c?.source && String(v) !== c.source ? new Exact(c.source) : v));

const PLAIN = /^[A-Za-z/](?:[\w ./@+=-]*[\w./@+=-])?$/;
const WORD = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
const HIDDEN = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
const BLOCK = /^[^\s][^\r\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]*$/;

const quoted = text => JSON.stringify(text).replace(HIDDEN, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

const scalar = v => {
  if (v instanceof Exact) return v.source;
  if (typeof v !== 'string') return JSON.stringify(v);
  return PLAIN.test(v) && !WORD.test(v) ? v : quoted(v);
};

const flow = v => {
  if (Array.isArray(v)) return `[${v.map(flow).join(', ')}]`;
  if (v && typeof v === 'object' && !(v instanceof Exact)) {
    return `{${Object.entries(v).map(([k, x]) => `${quoted(k)}: ${flow(x)}`).join(', ')}}`;
  }
  return scalar(v);
};

// value writes what is behind the colon of a member.
const value = (v, pad) => {
  if (typeof v === 'string' && v.includes('\n') && BLOCK.test(v) && !v.endsWith('\n\n')) {
    const body = v.replace(/\n$/, '').split('\n').map(line => (line ? pad + line : line)).join('\n');
    return ` |${v.endsWith('\n') ? '' : '-'}\n${body}`;
  }
  if (v && typeof v === 'object' && !Array.isArray(v) && !(v instanceof Exact) && Object.keys(v).length) {
    return Object.entries(v).map(([k, x]) => `\n${pad}${scalar(k)}:${value(x, `${pad}  `)}`).join('');
  }
  return ` ${flow(v)}`;
};

const dump = (step, order) => {
  const names = [...order.filter(m => m in step), ...Object.keys(step).filter(m => !order.includes(m))];
  return `- ${names.map(m => `${scalar(m)}:${value(step[m], '    ')}`).join('\n  ')}\n`;
};

// Source holds the lines of steps as they were written.
export class Source {
  constructor(order) { this.order = order; this.of = new WeakMap(); this.head = ''; }

  // take remembers the lines of steps that the server read. Lines are those where they begin, from 1.
  take(text, steps, lines) {
    const all = text.split('\n'), begin = lines.map(n => n - 1);
    if (begin.some(n => !all[n]?.startsWith('- ')) || all.slice(begin[0] ?? 0).some(l => /^(---|\.\.\.)/.test(l))) {
      this.head = '';
      return;
    }
    this.head = steps.length ? all.slice(0, begin[0]).map(l => `${l}\n`).join('') : '';
    steps.forEach((s, i) => {
      const part = all.slice(begin[i], begin[i + 1] ?? all.length).join('\n');
      this.of.set(s, part.endsWith('\n') ? part : `${part}\n`);
    });
  }

  // write returns the text and the lines where the steps begin.
  write(steps) {
    let text = this.head, line = 1 + text.split('\n').length - 1;
    const lines = [];
    for (const s of steps) {
      if (!this.of.has(s)) this.of.set(s, dump(s, this.order));
      lines.push(line);
      const part = this.of.get(s);
      text += part;
      line += part.split('\n').length - 1;
    }
    return { text, lines };
  }
}

// replace sets the text of a field. The cursor stays at the same characters, and the place that is scrolled to stays.
export const replace = (area, text) => {
  const old = area.value, { selectionStart, selectionEnd, scrollTop } = area;
  if (old === text) return;
  let head = 0, tail = 0;
  while (head < old.length && old[head] === text[head]) head++;
  while (tail < Math.min(old.length, text.length) - head && old.at(-1 - tail) === text.at(-1 - tail)) tail++;
  const moved = n => (n <= head ? n : n >= old.length - tail ? n + text.length - old.length : Math.min(n, text.length - tail));
  area.value = text;
  area.setSelectionRange(moved(selectionStart), moved(selectionEnd));
  area.scrollTop = scrollTop;
};
