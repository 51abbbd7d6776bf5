// The sliders of a time: the label follows the handle, Page keys move by a day, and a chosen instant is opened. Without
// script the buttons of the form do that.
import { $, $$ } from './dom.js';

const stops = new WeakMap();

export const mount = form => {
  const stop = new AbortController();
  stops.set(form, stop);
  const on = (el, name, f) => el.addEventListener(name, f, { signal: stop.signal });
  const day = Number(form.dataset.day) || 1;
  const labels = new Map($$('datalist option', form).map(o => [o.value, o.label]));
  const show = range => { $(`output[for="${range.id}"]`, form).textContent = labels.get(range.value) || ''; };
  for (const range of $$('input[type=range]', form)) {
    on(range, 'input', () => {
      show(range);
      range.setAttribute('aria-valuetext', labels.get(range.value) || '');
    });
    on(range, 'keydown', e => {
      const by = { PageUp: day, PageDown: -day }[e.key];
      if (!by) return;
      e.preventDefault();
      const value = Math.max(0, Math.min(Number(range.max), Number(range.value) + by));
      if (value === Number(range.value)) return;
      range.value = value;
      range.dispatchEvent(new Event('input', { bubbles: true }));
      later();
    });
    on(range, 'change', () => later());
    range.setAttribute('aria-valuetext', labels.get(range.value) || '');
  }
  // A key that is held down moves the handle many times; the page is asked for once the handle rests.
  let timer = 0, pressed = '';
  on(form, 'change', e => { pressed = e.target.name; });
  on(form, 'keydown', e => { pressed = e.target.name; });
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const wanted = pressed === 'j' ? 'compare' : form.dataset.do;
      form.requestSubmit($(`button[value="${wanted}"]`, form));
    }, 600);
  };
  stop.signal.addEventListener('abort', () => clearTimeout(timer));
};

export const unmount = form => { stops.get(form)?.abort(); stops.delete(form); };
