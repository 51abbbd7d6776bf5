// "Copy as" asks the server for the request of the form as a command, and puts it into the clipboard.
import { $, make } from './dom.js';
import { notice } from './notices.js';

const copy = async (form, as) => {
  const data = new URLSearchParams(new FormData(form));
  data.set('_copy', as);
  const answer = await fetch(form.action, { method: 'POST', body: data });
  const text = answer.headers.get('X-Command');
  if (!text) return;
  const command = decodeURIComponent(text);
  try { await navigator.clipboard.writeText(command); notice('Copied.'); } catch {
    const d = make('dialog', { class: 'sheet', 'aria-label': 'Command' }, make('div', { class: 'body' }, make('pre', { tabindex: '0' }, command),
      make('button', { class: 'btn', 'data-close': true }, 'Close')));
    document.body.append(d); d.addEventListener('close', () => d.remove()); d.showModal(); $('pre', d).focus();
  }
};

export const mount = box => {
  const form = box.closest('form');
  box.addEventListener('click', e => {
    const b = e.target.closest('button[name=_copy]');
    if (!b) return;
    e.preventDefault();
    box.open = false;
    copy(form, b.value);
  });
};
