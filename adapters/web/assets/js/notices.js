// Notices confirm what was done. Each stays for six seconds, longer under the pointer or the focus; at most three show.
import { $, $$, make } from './dom.js';

const leave = el => {
  let timer = setTimeout(() => el.remove(), 6000);
  for (const name of ['pointerenter', 'focusin']) el.addEventListener(name, () => clearTimeout(timer));
  for (const name of ['pointerleave', 'focusout']) {
    el.addEventListener(name, () => { clearTimeout(timer); timer = setTimeout(() => el.remove(), 3000); });
  }
};

export const notice = (text, hue = 'done') => {
  const box = $('#toasts');
  const el = make('div', { class: `toast ${hue}` }, make('span', {}, text));
  box.append(el);
  while (box.children.length > 3) box.firstElementChild.remove();
  leave(el);
};

export const start = () => { for (const el of $$('[data-notice]')) leave(el); };
