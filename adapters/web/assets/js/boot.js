// The first script of every page. It loads the modules that elements of the page name in data-mod, each when such an
// element is there, and unmounts them when it goes. Only htmx may write markup: it gets the one policy of trusted types.
import htmx from './htmx.js';
import { start as time } from './time.js';
import { start as sheets } from './sheets.js';
import { start as keys } from './keys.js';
import { start as notices } from './notices.js';
import { start as live } from './live.js';

htmx.registerExtension('writ-types', {
  init(api) {
    const pass = text => text;
    const policy = window.trustedTypes
      ? window.trustedTypes.createPolicy('htmx', { createHTML: pass })
      : { createHTML: pass };
    const refuse = function () { throw new Error('expressions in attributes are not used'); };
    api.initSecurity(policy, refuse, refuse);
  },
});

// modules holds what is mounted, by element.
const modules = new Map();

export const ready = async root => {
  const found = [...root.querySelectorAll('[data-mod]')];
  if (root.matches?.('[data-mod]')) found.push(root);
  for (const el of found) {
    if (modules.has(el)) continue;
    modules.set(el, null);
    try {
      const mod = await import(`./${el.dataset.mod}.js`);
      if (!el.isConnected) { modules.delete(el); continue; }
      modules.set(el, mod);
      mod.mount(el);
    } catch (err) {
      console.error(`The module ${el.dataset.mod} failed to start.`, err);
    }
  }
};

const clean = () => {
  for (const [el, mod] of modules) {
    if (el.isConnected) continue;
    modules.delete(el);
    mod?.unmount?.(el);
  }
};

for (const start of [time, sheets, keys, notices, live]) start();
ready(document);
// keep moves the focus from an element that went to what it was in, so that the next key goes on from there.
let held = null;
addEventListener('focusin', e => { held = e.target; });
const keep = list => {
  if (!held || held.isConnected || document.activeElement !== document.body) return;
  const gone = list.find(c => [...c.removedNodes].some(n => n.contains(held)));
  held = null;
  if (!gone?.target.isConnected) return;
  const box = gone.target === document.body ? document.getElementById('main') : gone.target;
  if (!box.hasAttribute('tabindex')) box.tabIndex = -1;
  box.focus({ preventScroll: true });
};

// A swap of htmx adds and removes elements anywhere; one observer sees them all.
new MutationObserver(list => {
  clean();
  keep(list);
  for (const change of list) for (const node of change.addedNodes) if (node.nodeType === 1) ready(node);
}).observe(document.body, { childList: true, subtree: true });
