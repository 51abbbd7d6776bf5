// A tree of text: arrows move and fold, Home and End go to the ends, Enter opens the link of the line. The lines are in
// the page; a fold hides those below it.
import { $, $$ } from './dom.js';

const stops = new WeakMap();
const level = li => Number(li.dataset.level);

const below = li => {
  const out = [];
  for (let x = li.nextElementSibling; x && level(x) > level(li); x = x.nextElementSibling) out.push(x);
  return out;
};

const fold = (li, open) => {
  if (!li.hasAttribute('data-parent')) return;
  li.setAttribute('aria-expanded', String(open));
  let closed = Infinity;
  for (const x of below(li)) {
    x.hidden = !open || level(x) > closed;
    if (x.hidden) continue;
    closed = x.getAttribute('aria-expanded') === 'false' ? level(x) : Infinity;
  }
};

const parent = li => {
  for (let x = li.previousElementSibling; x; x = x.previousElementSibling) if (level(x) < level(li)) return x;
  return null;
};

export const mount = tree => {
  const stop = new AbortController();
  stops.set(tree, stop);
  const items = () => $$('[role=treeitem]', tree).filter(x => !x.hidden);
  for (const li of $$('[data-parent]', tree)) li.setAttribute('aria-expanded', 'true');
  const go = li => {
    if (!li) return;
    for (const x of $$('[tabindex="0"]', tree)) x.tabIndex = -1;
    li.tabIndex = 0;
    li.focus();
  };
  const keys = {
    ArrowDown: (list, i) => go(list[i + 1]),
    ArrowUp: (list, i) => go(list[i - 1]),
    Home: list => go(list[0]),
    End: list => go(list.at(-1)),
    ArrowRight: (list, i, li) => (li.getAttribute('aria-expanded') === 'false' ? fold(li, true) : go(below(li)[0])),
    ArrowLeft: (list, i, li) => (li.getAttribute('aria-expanded') === 'true' ? fold(li, false) : go(parent(li))),
    Enter: (list, i, li) => $('a', li)?.click(),
  };
  tree.addEventListener('keydown', e => {
    const li = e.target.closest('[role=treeitem]');
    if (!li || !keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === 'Enter' && e.target !== li) return;
    e.preventDefault();
    const list = items();
    keys[e.key](list, list.indexOf(li), li);
  }, { signal: stop.signal });
  tree.addEventListener('click', e => {
    const li = e.target.closest('[role=treeitem]');
    if (!li || e.target.closest('a')) return;
    go(li);
    fold(li, li.getAttribute('aria-expanded') === 'false');
  }, { signal: stop.signal });
};

export const unmount = tree => { stops.get(tree)?.abort(); stops.delete(tree); };
