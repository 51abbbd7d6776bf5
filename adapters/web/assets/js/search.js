// The search of runs: it completes keys and values, says in words what is searched, and keeps the list while the search is
// wrong. The server decides all of it.
import { $, make } from './dom.js';

export const mount = form => {
  const input = $('input[name=q]', form), echo = $('.echo', form), field = input.closest('.field');
  const list = make('ul', { class: 'offers', id: 'runs-offers', role: 'listbox', 'aria-label': 'Completions', hidden: true });
  field.append(list);
  for (const [k, v] of Object.entries({ role: 'combobox', 'aria-autocomplete': 'list', 'aria-controls': list.id, 'aria-expanded': 'false' })) {
    input.setAttribute(k, v);
  }
  let offers = [], at = -1, timer = 0, asked = 0, problem = '';

  const close = () => { offers = []; at = -1; draw(); };
  const draw = () => {
    list.replaceChildren(...offers.map((o, i) => make('li', { role: 'option', id: `offer-${i}`, 'aria-selected': String(i === at) },
      make('span', { class: 'mono cut' }, o.text), make('span', { class: 'q sm' }, o.hint || ''))));
    list.hidden = !offers.length;
    input.setAttribute('aria-expanded', String(!!offers.length));
    if (at >= 0) input.setAttribute('aria-activedescendant', `offer-${at}`); else input.removeAttribute('aria-activedescendant');
  };

  const ask = async () => {
    const n = ++asked;
    const q = new URLSearchParams({ q: input.value, typed: input.value.slice(0, input.selectionStart) });
    const since = form.elements.since?.value;
    if (since) q.set('since', since);
    const answer = await fetch(`/ui/runs/complete?${q}`);
    if (!answer.ok || n !== asked) return;
    const found = await answer.json();
    problem = found.problem || '';
    field.classList.toggle('bad', !!problem);
    if (problem) input.setAttribute('aria-invalid', 'true'); else input.removeAttribute('aria-invalid');
    echo.textContent = problem || found.echo || '';
    offers = document.activeElement === input ? found.offers : [];
    at = -1;
    draw();
  };

  // take replaces the last word before the cursor.
  const take = o => {
    const end = input.selectionStart, head = input.value.slice(0, end);
    let from = 0, quoted = false;
    [...head].forEach((c, i) => { if (c === '"') quoted = !quoted; else if (c === ' ' && !quoted) from = i + 1; });
    const text = o.text + (o.text.endsWith(':') ? '' : ' ');
    input.setRangeText(text, from, end, 'end');
    close();
    ask();
  };

  input.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(ask, 150); });
  input.addEventListener('blur', () => setTimeout(close, 150));
  input.addEventListener('keydown', e => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step && offers.length) { e.preventDefault(); at = (at + step + offers.length) % offers.length; draw(); }
    else if ((e.key === 'Enter' || e.key === 'Tab') && at >= 0) { e.preventDefault(); take(offers[at]); }
    else if (e.key === 'Escape' && offers.length) { e.preventDefault(); close(); }
  });
  list.addEventListener('pointerdown', e => {
    const li = e.target.closest('li');
    if (li) { e.preventDefault(); take(offers[[...list.children].indexOf(li)]); }
  });
  // A search that is known to be wrong is not sent, so that the list stays.
  form.addEventListener('submit', e => { if (problem) { e.preventDefault(); input.focus(); } });
};
