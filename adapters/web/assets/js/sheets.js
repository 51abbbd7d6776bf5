// A link or a button with data-sheet opens the dialog of that name. The dialog returns the focus to where it was.
import { $ } from './dom.js';

export const open = (name, opener) => {
  const d = $(`#sheet-${CSS.escape(name)}`);
  if (!d || d.open && d.matches(':modal')) return;
  if (d.open) d.close();
  d.showModal();
  const first = $('[autofocus], textarea, input:not([type=hidden]), select, button.first', d);
  first?.focus();
  d.addEventListener('close', () => opener?.focus?.(), { once: true });
};

export const start = () => {
  document.addEventListener('click', e => {
    const opener = e.target.closest('[data-sheet]');
    if (opener && !e.ctrlKey && !e.metaKey) { e.preventDefault(); open(opener.dataset.sheet, opener); return; }
    const close = e.target.closest('[data-close]');
    if (close) { e.preventDefault(); close.closest('dialog')?.close(); return; }
    if (e.target.nodeName === 'DIALOG' && e.target.matches('.sheet')) e.target.close();
  });
  // A dialog that the server sent open becomes a modal one.
  for (const d of document.querySelectorAll('dialog.sheet[open]')) open(d.id.slice('sheet-'.length));
  $('[data-focus]')?.focus();
};
