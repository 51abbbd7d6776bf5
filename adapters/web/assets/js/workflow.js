// The editor of a workflow: its steps as a graph and as a list, the form of the chosen one, and the text beside them. The
// text is what the form of the record sends; it works alone without script.
import { $, $$, glyph, make } from './dom.js';
import * as model from './workflow-model.js';
import { next, picture, place, what } from './workflow-draw.js';
import { draftOf } from './workflow-draft.js';
import { parse, replace, Source } from './workflow-text.js';
import { stepForm } from './workflow-form.js';

const KEPT = 100; // steps of undo
const stops = new WeakMap();

class Editor {
  constructor(box) {
    Object.assign(this, { box, steps: [], lines: [], cur: '', from: '', past: [], asked: 0, broken: '', list: false });
    this.stored = parse(box.dataset.stored);
    this.source = new Source(box.dataset.order.split(' '));
    this.refused = new WeakMap(); // what the server refused, by step
    this.area = $('.flow-text textarea', box);
    this.area.value = this.area.defaultValue; // browsers fill in what was typed before a reload
    this.form = this.area.form;
    this.graph = $('[data-graph]', box);
    this.rows = $('[data-list]', box);
    this.seen = this.area.value; // the text that the steps are of
    this.draft = draftOf(box, this.form);
    this.step = stepForm($('[data-step]', box), {
      change: (member, v) => this.act(() => (member === 'name'
        ? model.rename(this.steps, this.cur, v ?? '') : model.set(this.steps, this.cur, member, v))),
      unlink: from => { this.act(() => model.unlink(this.steps, from, this.cur)); this.focus(); },
      refuse: text => this.note(text, true),
      leave: () => this.focus(),
    });
  }

  note(text, bad) {
    const p = $('[data-note]', this.box);
    p.className = `sm st wrap${bad ? ' fail' : ''}`;
    p.replaceChildren(...(bad ? [glyph('fail')] : []), text);
  }

  index() { return this.steps.findIndex(s => s.name === this.cur); }

  // read lets the server read the text. A text that cannot be read leaves the graph as it was.
  async read() {
    const n = ++this.asked, text = this.area.value;
    const answer = await fetch('/ui/objects/steps', { method: 'POST', body: new URLSearchParams({ text }) }).catch(() => null);
    const got = answer?.ok ? parse(await answer.text()) : { problem: 'the server does not answer' };
    if (n !== this.asked) return;
    this.broken = got.problem ?? '';
    if (this.broken) { this.note(`The text cannot be read: ${this.broken}. The graph shows what was read last.`, true); this.keep(); return; }
    if (text !== this.seen) this.remember();
    this.seen = text;
    this.source.take(text, got.steps, got.lines);
    Object.assign(this, { steps: got.steps, lines: got.lines });
    this.note('');
    this.show();
  }

  remember() {
    this.past = [...this.past, { steps: this.steps, cur: this.cur, text: this.seen, lines: this.lines, head: this.source.head }].slice(-KEPT);
  }

  // act makes a change of the steps, after the text is read if it was typed into.
  act(change) { this.acting = this.change(change); return this.acting; }

  async change(change) {
    if (this.area.value !== this.seen) await this.read();
    if (this.broken) { this.note(`Correct the text first: ${this.broken}.`, true); return; }
    this.apply(change());
  }

  apply(made) {
    if (made.refused) { this.note(made.refused, true); this.show(); return; }
    if (made.steps !== this.steps) {
      this.remember();
      this.steps = made.steps;
      this.asked++;
      const { text, lines } = this.source.write(made.steps);
      replace(this.area, text);
      Object.assign(this, { seen: text, lines });
    }
    this.cur = made.cur;
    this.note(made.note ?? '');
    this.show();
  }

  undo() {
    const last = this.past.pop();
    if (!last) { this.note('There is nothing to undo.'); return; }
    this.asked++;
    replace(this.area, last.text);
    this.source.head = last.head;
    Object.assign(this, { steps: last.steps, cur: last.cur, lines: last.lines, seen: last.text, broken: '' });
    this.note('Undone.');
    this.show();
  }

  // keep stores what is not saved, and lists it.
  keep() {
    const changes = this.broken ? [] : model.diff(this.stored, this.steps);
    if (this.broken) changes.push('The text, which cannot be read');
    this.draft.keep(changes.length ? this.area.value : null);
    $('[data-diff]', this.box).hidden = !changes.length;
    $('[data-changes]', this.box).replaceChildren(...changes.map(t => make('li', {}, t)));
  }

  faults() {
    const found = this.steps.flatMap((s, i) => (this.refused.get(s) ?? []).map(p => ({ ...p, step: i })));
    return [...found, ...model.problems(this.steps)];
  }

  show() {
    const { steps } = this;
    if (this.index() < 0) this.cur = steps[0]?.name ?? '';
    if (!steps.some(s => s.name === this.from)) this.from = '';
    const after = model.links(steps), faults = this.faults(), marks = steps.map((s, i) => faults.find(p => p.step === i)?.message);
    const labels = steps.map((s, i) => `${s.name.length > 21 ? `${s.name}, ` : ''}after ${after[i].join(' and ') || 'nothing'}` +
      (marks[i] ? `, wrong: ${marks[i]}` : ''));
    this.plan = place(steps);
    this.graph.replaceChildren(picture(steps, this.plan, { cur: this.cur, from: this.from, labels, marks }));
    this.graph.setAttribute('aria-activedescendant', `flow-${this.index()}`);
    this.view(this.list);
    this.showList(after, marks);
    this.step.show(steps[this.index()], after[this.index()] ?? [], faults.filter(p => p.step === this.index()));
    $('[data-problems-list]', this.box).replaceChildren(...faults.map(p => make('li', { class: 'st fail wrap' }, glyph('fail'),
      make('span', {}, `Step ${p.step + 1}, ${p.name}, line ${this.lines[p.step]}: ${p.message}`))));
    $('[data-do=link]', this.box).setAttribute('aria-pressed', String(!!this.from));
    $('[data-hint]', this.box).textContent = !steps.length ? 'There are no steps yet: add one.' : this.from
      ? `${this.from} runs before the step that you choose: Enter links, Del removes their link, Esc stops.`
      : 'Arrows choose a step, Enter opens it. a adds after it, i before it, c links it to another one, F2 renames, Del removes, ' +
        'u undoes, Ctrl Enter saves.';
    $(`#flow-${this.index()}`, this.graph)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    this.keep();
  }

  // showList makes the rows again only if they say something else, so that a button keeps the focus and its click.
  showList(after, marks) {
    const rows = this.steps.map((s, i) => [s.name, ` ${what(s)}, after ${after[i].join(' and ') || 'nothing, it starts at once'}`, marks[i]]);
    const sum = JSON.stringify(rows), held = this.rows.contains(document.activeElement);
    if (sum !== this.sum) {
      this.rows.replaceChildren(...rows.map(([name, text, wrong], i) => make('li', { class: wrong ? 'fail' : '' },
        wrong ? glyph('fail') : make('span'),
        make('div', { class: 'what' },
          make('button', { type: 'button', class: 'btn', 'data-i': i }, name), make('span', { class: 'q2 sm' }, text),
          wrong ? make('p', { class: 'sm st fail wrap' }, wrong) : null))));
    }
    this.sum = sum;
    for (const b of $$('[data-i]', this.rows)) {
      if (Number(b.dataset.i) === this.index()) b.setAttribute('aria-current', 'true'); else b.removeAttribute('aria-current');
    }
    if (held) this.focus();
  }

  focus() { (this.steps.length ? this.list ? $('[aria-current]', this.rows) : this.graph : $('[data-do=add]', this.box)).focus(); }

  // choose takes a step, or links to it if a link has begun.
  choose(i) {
    const s = this.steps[i];
    if (!s) return;
    this.cur = s.name;
    if (this.from) this.tie(); else this.show();
  }

  tie() {
    const { from, cur } = this;
    this.from = '';
    return this.act(() => ({ note: `${cur} runs after ${from} now.`, ...model.link(this.steps, from, cur) }));
  }

  remove() {
    const { from, cur } = this;
    this.from = '';
    return this.act(() => (from ? model.unlink(this.steps, from, cur) : model.remove(this.steps, cur)));
  }

  discard() {
    this.broken = '';
    this.apply({ steps: [...this.stored], cur: this.cur, note: 'The stored steps are here again. Undo brings yours back.' });
  }

  view(list) {
    this.list = list;
    this.graph.hidden = list || !this.steps.length;
    this.rows.hidden = !list || !this.steps.length;
    for (const b of $$('[data-view]', this.box)) b.setAttribute('aria-pressed', String((b.dataset.view === 'list') === list));
  }

  // do is what a button does. The focus goes to the graph or the list, so that the next key acts there.
  async do(name) {
    const does = {
      add: () => this.act(() => model.add(this.steps, this.cur, false)),
      before: () => this.act(() => model.add(this.steps, this.cur, true)),
      link: () => { this.from = this.from ? '' : this.cur; this.show(); },
      remove: () => this.remove(),
      undo: () => this.undo(),
      discard: () => this.discard(),
      rename: () => {},
    };
    await does[name]();
    if (name === 'rename') this.step.focus('name'); else this.focus();
  }

  // press is a key in the graph or in the list.
  press(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || !(this.graph.contains(e.target) || this.rows.contains(e.target))) return;
    const does = {
      Delete: () => this.do('remove'),
      F2: () => this.step.focus('name'),
      Escape: () => { if (!this.from) return false; this.from = ''; this.show(); return true; },
      Enter: () => { if (this.list) return false; if (this.from) this.tie(); else this.step.focus('name'); return true; }, // a row is clicked
    }[e.key];
    if (does && does() !== false) { e.preventDefault(); return; }
    if (!/^(Arrow|Home$|End$)/.test(e.key)) return;
    e.preventDefault();
    const i = this.index(), by = { ArrowDown: i + 1, ArrowUp: i - 1 };
    const to = this.list && e.key in by ? by[e.key] : next(this.plan, i, e.key);
    if (!this.steps[to]) return;
    this.cur = this.steps[to].name;
    this.show();
    if (this.list) this.focus();
  }

  async save() {
    const button = $('button.first', this.form);
    document.activeElement.blur(); // a field that was typed into takes its value
    await this.acting;
    if (button.disabled) { this.note('You cannot save here.', true); return; }
    this.form.requestSubmit(button);
  }

  // follow chooses the step that the cursor of the text is in.
  follow() {
    const line = this.area.value.slice(0, this.area.selectionStart).split('\n').length;
    const i = this.lines.findLastIndex(n => n <= line);
    if (this.area.value !== this.seen || i < 0 || this.steps[i].name === this.cur) return;
    this.cur = this.steps[i].name;
    this.show();
  }

  async start() {
    const { box, draft } = this, restored = draft.text !== null && draft.text !== this.area.value;
    if (restored) this.area.value = draft.text;
    $('[data-pane]', box).hidden = false;
    if (matchMedia('(max-width: 720px)').matches) this.view(true);
    if (restored) box.closest('details')?.setAttribute('open', '');
    await this.read();
    this.past = [];
    const refused = JSON.parse(box.dataset.problems);
    for (const p of refused) {
      const s = this.steps[p.step];
      if (s) this.refused.set(s, [...(this.refused.get(s) ?? []), p]);
    }
    if (refused.length) { this.cur = this.steps[refused[0].step]?.name ?? ''; this.show(); }
    if (restored) this.note(`Your unsaved changes are here again.${draft.stale ? ' The template was changed since.' : ''}`);
    box.dataset.started = '';
  }
}

export const mount = box => {
  const stop = new AbortController(), editor = new Editor(box);
  stops.set(box, stop);
  const on = (el, name, f) => el.addEventListener(name, f, { signal: stop.signal });
  let timer = 0;
  const soon = () => { clearTimeout(timer); timer = setTimeout(() => { if (editor.area.value !== editor.seen) editor.read(); }, 250); };
  on(editor.area, 'input', () => { editor.draft.keep(editor.area.value); soon(); });
  on(editor.area, 'keyup', () => editor.follow());
  on(editor.area, 'click', () => editor.follow());
  on(box, 'keydown', e => editor.press(e));
  on(box, 'click', e => {
    const b = e.target.closest('button'), hit = e.target.closest('.hit'), node = e.target.closest('[data-i]');
    if (b && !b.checkVisibility()) return; // its key was pressed while the group of fields is closed
    if (b?.dataset.do) editor.do(b.dataset.do);
    else if (b?.dataset.view) { editor.view(b.dataset.view === 'list'); editor.show(); }
    else if (hit) {
      Object.assign(editor, { from: editor.steps[hit.dataset.from].name, cur: editor.steps[hit.dataset.to].name });
      editor.show();
    } else if (node) editor.choose(Number(node.dataset.i));
  });
  on(editor.rows, 'focusin', e => {
    const s = editor.steps[e.target.dataset.i];
    if (s && s.name !== editor.cur) { editor.cur = s.name; editor.show(); }
  });
  on(document, 'keydown', e => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && !$('dialog[open]')) { e.preventDefault(); editor.save(); }
  });
  on(editor.form, 'submit', () => editor.draft.sent());
  editor.start();
};

export const unmount = box => { stops.get(box)?.abort(); stops.delete(box); };
