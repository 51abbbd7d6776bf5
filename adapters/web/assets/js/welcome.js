// The first minute shows only the fields of the chosen way to sign in on hosts.
import { $$ } from './dom.js';

export const mount = box => {
  const show = () => {
    const way = $$('input[name=way]', box).find(x => x.checked)?.value;
    for (const el of $$('[data-way]', box)) el.hidden = el.dataset.way !== way;
  };
  box.addEventListener('change', show);
  show();
};
