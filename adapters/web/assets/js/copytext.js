// A text with a button that puts it into the clipboard.
import { $, make } from './dom.js';
import { notice } from './notices.js';

export const mount = el => {
  const text = $('pre', el);
  const b = make('button', { class: 'btn', type: 'button' }, 'Copy');
  b.addEventListener('click', async () => {
    try { await navigator.clipboard.writeText(text.textContent); notice('Copied.'); } catch {
      getSelection().selectAllChildren(text); notice('Press Ctrl C to copy the selected text.', 'chg');
    }
  });
  el.append(b);
};
