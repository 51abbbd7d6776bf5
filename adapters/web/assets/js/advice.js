// Advice of a language model: a button asks the operation that its box names, and the answer arrives piece by piece. It is
// text and never markup. A draft goes into the field that the box names while that is empty, and else beside it.
import { $, say } from './dom.js';

// events gives the events of a stream as [name, data].
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = '', at; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    while ((at = rest.indexOf('\n\n')) >= 0) {
      const found = /^event: (\w+)\ndata: (.*)$/.exec(rest.slice(0, at));
      rest = rest.slice(at + 2);
      if (found) yield [found[1], JSON.parse(found[2])];
    }
  }
}

const put = (el, text) => { if (el) { el.textContent = text; el.hidden = !text; } };

// fail says why there is no answer. What arrived before that stays.
const fail = (box, text, wait) => {
  put($('[data-why]', box), `${text.replace(/\.$/, '')}.`);
  put($('[data-wait]', box), wait ? `Try again in ${wait} ${wait === '1' ? 'second' : 'seconds'}.` : '');
  $('[data-problem]', box).hidden = false;
  if (!$('[data-text]', box).textContent.trim()) $('[data-answer]', box).hidden = true;
};

// place puts a draft into an empty field; else it stays beside what was typed.
const place = (box, text) => {
  const field = box.dataset.into && document.getElementById(box.dataset.into);
  if (!field) return;
  const beside = field.value.trim() !== '';
  if (!beside) field.value = text;
  keep(box, beside ? text : '');
};

// keep shows what is beside the field, and sends it with the form.
const keep = (box, text) => {
  put($('[data-text]', box), text);
  $('[data-kept]', box).value = text;
  for (const name of ['swap', 'drop']) $(`[data-${name}]`, box).hidden = !text;
};

const swap = box => {
  const field = document.getElementById(box.dataset.into), typed = field.value;
  field.value = $('[data-kept]', box).value;
  keep(box, typed);
  field.focus();
};

const drop = box => { keep(box, ''); document.getElementById(box.dataset.into).focus(); };

// answered shows the whole answer, and who gave it.
const answered = (box, a) => {
  const by = `${a.model} of ${a.provider}`;
  put($('[data-text]', box), a.text);
  put($('[data-by]', box), `From ${by}.`);
  $('[data-cut]', box).hidden = !a.cut;
  if ($('[data-keptby]', box)) $('[data-keptby]', box).value = by;
  $('[data-answer]', box).hidden = false;
  place(box, a.text);
  say(box.dataset.into ? 'The draft is there. Nobody has run it.' : 'The answer is there.');
};

const bodyOf = box => {
  const names = (box.dataset.fields || '').split(' ').filter(Boolean), form = box.closest('form');
  return names.length ? JSON.stringify(Object.fromEntries(names.map(n => [n.replace(/^_/, ''), form.elements[n].value]))) : undefined;
};

const ask = async (box, call) => {
  const answer = await fetch(box.dataset.api, { method: 'POST', signal: call.signal, body: bodyOf(box),
    headers: { Accept: 'text/event-stream', 'Content-Type': 'application/json' } });
  if (!answer.ok || !/^text\/event-stream/.test(answer.headers.get('Content-Type'))) {
    const problem = await answer.json();
    return fail(box, problem.error || 'The answer cannot be read', answer.headers.get('Retry-After'));
  }
  const text = $('[data-text]', box);
  for await (const [name, data] of events(answer.body)) {
    if (name === 'error') return fail(box, data.error, '');
    if (name === 'answer') return answered(box, data);
    $('[data-answer]', box).hidden = text.hidden = false;
    text.append(data.text);
  }
  fail(box, 'The answer broke off', '');
};

const stops = new WeakMap();

// stop ends a call. What arrived stays, with a sentence that its end is missing.
const stop = box => {
  stops.get(box)?.abort();
  $('[data-answer]', box).hidden = $('[data-stopped]', box).hidden = !$('[data-text]', box).textContent.trim();
  $('[data-ask]', box).focus();
  say('Stopped.');
};

const click = async (box, button) => {
  if (stops.has(box)) return;
  if ($('[data-kept]', box)?.value) { fail(box, box.dataset.full, ''); return; }
  const call = new AbortController(), busy = $('[data-busy]', box);
  stops.set(box, call);
  for (const name of ['problem', 'answer', 'cut', 'stopped']) $(`[data-${name}]`, box).hidden = true;
  put($('[data-text]', box), '');
  put($('[data-by]', box), '');
  busy.hidden = false;
  button.setAttribute('aria-disabled', 'true');
  say($('p', busy).textContent);
  try { await ask(box, call); } catch (err) { if (!call.signal.aborted) fail(box, 'The server does not answer', ''); }
  stops.delete(box);
  busy.hidden = true;
  button.removeAttribute('aria-disabled');
};

export const mount = box => {
  box.dataset.ready = '';
  box.addEventListener('click', e => {
    const button = e.target.closest('[data-ask], [data-stop], [data-swap], [data-drop]');
    if (!button) return;
    e.preventDefault();
    if ('ask' in button.dataset) click(box, button);
    else if ('stop' in button.dataset) stop(box);
    else { $('[data-problem]', box).hidden = true; if ('swap' in button.dataset) swap(box); else drop(box); }
  });
};

export const unmount = box => stops.get(box)?.abort();
