// The keys of a graph of steps: left and right follow the dependencies, up and down go through a column. Without script
// the steps are links that Tab reaches.
import { $$ } from './dom.js';

const at = el => { const b = el.getBoundingClientRect(); return [b.x, b.y]; };
const waits = el => el.dataset.after.split(' ');

const target = (all, el, key) => {
  const [x, y] = at(el);
  const near = list => list.sort((a, b) => Math.abs(at(a)[1] - y) - Math.abs(at(b)[1] - y))[0];
  if (key === 'ArrowLeft') return near(all.filter(o => waits(el).includes(o.dataset.at)));
  if (key === 'ArrowRight') return near(all.filter(o => waits(o).includes(el.dataset.at)));
  const column = all.filter(o => o !== el && Math.abs(at(o)[0] - x) < 2);
  if (key === 'ArrowDown') return near(column.filter(o => at(o)[1] > y));
  if (key === 'ArrowUp') return near(column.filter(o => at(o)[1] < y));
  return null;
};

export const mount = box => {
  const all = $$('a.node', box);
  box.addEventListener('keydown', e => {
    if (!e.key.startsWith('Arrow') || e.ctrlKey || e.metaKey || e.altKey) return;
    const el = document.activeElement.closest?.('a.node');
    const next = el ? target(all, el, e.key) : all[0];
    if (!next) return;
    e.preventDefault();
    next.focus();
    next.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });
  // A step that begins or ends changes the page; it is read again when nothing in it has the focus.
  box.changed = e => {
    if (!all.some(a => a.dataset.runs.split(' ').includes(e.detail?.id)) || box.contains(document.activeElement)) return;
    location.reload();
  };
  document.addEventListener('writ:run', box.changed);
};

export const unmount = box => document.removeEventListener('writ:run', box.changed);
