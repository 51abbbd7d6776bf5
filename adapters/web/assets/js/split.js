// The divider between two panes: mouse, arrow keys, Home and End move it, a double click resets it, and the browser
// keeps the place. From 1,700 px on the panes stand beside each other, and the place of that layout is its own.
const wide = matchMedia('(min-width: 1700px)');
const KEY = 'writ-split', STEP = 4, LEAST = 15, MOST = 85;
const undo = new WeakMap();

const usual = () => (wide.matches ? 62 : 63);
const stored = () => { try { return JSON.parse(localStorage.getItem(KEY)) || {}; } catch { return {}; } };
const name = () => (wide.matches ? 'beside' : 'under');

export const mount = el => {
  const box = el.parentElement;
  let share = 0;
  const show = value => {
    share = Math.round(Math.min(MOST, Math.max(LEAST, value)));
    box.style.setProperty('--first', `${share}fr`);
    box.style.setProperty('--second', `${100 - share}fr`);
    el.setAttribute('aria-valuenow', share);
    el.setAttribute('aria-orientation', wide.matches ? 'vertical' : 'horizontal');
  };
  const keep = () => {
    const all = stored();
    if (share === usual()) delete all[name()]; else all[name()] = share;
    try { localStorage.setItem(KEY, JSON.stringify(all)); } catch { /* the place is not kept */ }
  };
  const read = () => show(stored()[name()] ?? usual());
  const move = e => {
    const r = box.getBoundingClientRect();
    show(wide.matches ? (e.clientX - r.left) / r.width * 100 : (e.clientY - r.top) / r.height * 100);
  };
  el.addEventListener('pointerdown', e => { e.preventDefault(); el.focus(); el.setPointerCapture(e.pointerId); });
  el.addEventListener('pointermove', e => { if (el.hasPointerCapture(e.pointerId)) move(e); });
  el.addEventListener('pointerup', keep);
  el.addEventListener('dblclick', () => { show(usual()); keep(); });
  el.addEventListener('keydown', e => {
    const to = { ArrowUp: share - STEP, ArrowLeft: share - STEP, ArrowDown: share + STEP, ArrowRight: share + STEP,
      Home: LEAST, End: MOST }[e.key];
    if (to === undefined) return;
    e.preventDefault(); show(to); keep();
  });
  wide.addEventListener('change', read);
  undo.set(el, () => wide.removeEventListener('change', read));
  read();
};
export const unmount = el => undo.get(el)?.();
