// The form of the chosen step of a workflow. Its fields are not sent: each change goes into the steps.
import { $, $$, glyph, make } from './dom.js';

const input = row => $('input:not([type=hidden]), select, textarea', row);
const named = row => /^_step\.([a-z_]+)(?::(\w+))?$/.exec(row.dataset.member).slice(1);

// read returns the value of a field, undefined if the step shall not have the member.
const read = (el, kind) => {
  if (el.type === 'checkbox') return el.checked || undefined;
  if (!el.value.trim()) return undefined;
  if (kind === 'int') return Number(el.value);
  return el.value;
};

const show = (el, v) => {
  if (el.type === 'checkbox') { el.checked = v === true; return; }
  const text = v == null ? '' : String(v);
  if (el.tagName === 'SELECT' && ![...el.options].some(o => o.value === text)) el.append(make('option', { value: text }, text));
  el.value = text;
};

// hidden reports whether a member says nothing in a step: those of a template are the template's, and a tool has either a
// playbook or a command.
const hidden = (step, member) => {
  if (step[member] !== undefined) return false;
  if (step.template_id) return ['tool', 'playbook', 'command', 'inventory_id', 'limit', 'timeout'].includes(member);
  const play = (step.tool || 'ansible') === 'ansible';
  return member === (play ? 'command' : 'playbook');
};

// stepForm shows steps in a form. Calls are change(member, value), unlink(name), refuse(text) and leave().
export const stepForm = (box, calls) => {
  const rows = $$('[data-member]', box), list = $('[data-after]', box);
  for (const row of rows) {
    const [member, kind] = named(row), el = input(row);
    el.addEventListener('change', () => {
      const v = read(el, kind);
      if (kind === 'int' && v !== undefined && !(Number.isInteger(v) && v >= 0)) { calls.refuse(`${member} is not a whole number.`); return; }
      calls.change(member, v);
    });
    el.addEventListener('keydown', e => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
      if (e.key === 'Escape' || e.key === 'Enter' && el.tagName === 'INPUT') { e.preventDefault(); calls.leave(); }
    });
  }
  list.addEventListener('click', e => { const b = e.target.closest('button'); if (b) calls.unlink(b.dataset.from); });
  list.addEventListener('keydown', e => {
    const b = e.target.closest('button');
    if (b && e.key === 'Delete') { e.preventDefault(); e.stopPropagation(); calls.unlink(b.dataset.from); }
  });
  return {
    focus: member => { const row = rows.find(r => named(r)[0] === member), el = row && input(row); el?.focus(); el?.select?.(); },
    show: (step, after, problems) => {
      box.hidden = !step;
      if (!step) return;
      $('[data-title]', box).textContent = step.name;
      list.replaceChildren(...after.map(d => make('li', {}, make('button', { type: 'button', class: 'btn', 'data-from': d,
        'aria-label': `Remove the link from ${d}` }, `${d} ×`))));
      if (!after.length) list.append(make('li', { class: 'q2 sm' }, 'nothing, it starts at once'));
      for (const row of rows) {
        const [member] = named(row), el = input(row);
        row.hidden = hidden(step, member);
        show(el, step[member]);
        $$('[data-wrong]', row).forEach(x => x.remove());
        const wrong = problems.filter(p => p.member === member);
        if (wrong.length) el.setAttribute('aria-invalid', 'true'); else el.removeAttribute('aria-invalid');
        row.append(...wrong.map(p => make('p', { class: 'sm st fail wrap', 'data-wrong': true }, glyph('fail'), p.message)));
      }
    },
  };
};
