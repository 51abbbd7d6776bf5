// The form of a run shows only the fields that the chosen tool uses: data-for names a kind of tools, or tools. Hidden
// fields are not sent.
import { $, $$ } from './dom.js';

export const mount = box => {
  const tool = $('select[name=tool]', box);
  if (!tool) return;
  const show = () => {
    const kind = tool.value === 'ansible' ? 'play' : 'script';
    for (const el of $$('[data-for]', box)) {
      el.hidden = el.dataset.for !== kind && !el.dataset.for.split(' ').includes(tool.value);
      for (const field of $$('input, textarea, select', el)) field.disabled = el.hidden;
    }
  };
  tool.addEventListener('change', show);
  show();
};
