// A button copies the text of the element that data-of names.
import { $ } from './dom.js';
import { notice } from './notices.js';

export const mount = button => {
  button.hidden = false;
  button.addEventListener('click', async () => {
    const text = $(`#${CSS.escape(button.dataset.of)}`);
    try { await navigator.clipboard.writeText(text.textContent); notice('Copied.'); } catch {
      getSelection().selectAllChildren(text);
    }
  });
};
