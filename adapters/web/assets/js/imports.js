// The page of imports keeps the chosen file, so that each step can send it again, and shows how much of it was sent.
import { $, $$ } from './dom.js';

let kept = null; // the list of files of the last step
let busy = false;

// show puts an answer into the page. A refused step leaves the report, and says why above its form.
const show = (form, xhr) => {
  const page = xhr.response;
  if (!page || new URL(xhr.responseURL).pathname !== new URL(form.action).pathname) { location.assign(xhr.responseURL || form.action); return; }
  const why = $('[role=alert][data-focus]', page);
  if (xhr.status >= 400 && why && form.querySelector('[data-kept]')) form.prepend(why);
  else {
    document.title = page.title;
    $('#main').replaceChildren(...$('#main', page).childNodes);
  }
  $('#main [data-focus]')?.focus();
};

const send = (form, button) => {
  const box = form.closest('#import'), state = $('[data-sending]', form), bar = $('progress', form);
  const xhr = new XMLHttpRequest();
  const end = () => {
    busy = false;
    state.hidden = true;
    box.removeAttribute('aria-busy');
  };
  busy = true;
  box.setAttribute('aria-busy', 'true');
  state.hidden = false;
  $('[data-step]', form).hidden = false;
  $('[data-next]', form).hidden = true;
  xhr.open('POST', form.action);
  xhr.responseType = 'document';
  xhr.upload.onprogress = e => { if (e.lengthComputable) { bar.max = e.total; bar.value = e.loaded; } };
  xhr.upload.onload = () => {
    bar.removeAttribute('value');
    $('[data-step]', form).hidden = true;
    $('[data-next]', form).hidden = false;
  };
  xhr.onload = () => { end(); show(form, xhr); };
  xhr.onerror = () => { end(); $('[data-lost]', form).hidden = false; };
  xhr.send(new FormData(form, button));
};

export const mount = box => {
  const again = $('[data-fresh]', box);
  if (kept) for (const input of $$('input[type=file]', box)) input.files = kept;
  if (kept && again) { again.hidden = true; $('[data-kept]', box).hidden = false; }
  box.addEventListener('submit', e => {
    const form = e.target, input = $('input[type=file]', form), file = input.files[0];
    const large = file && file.size > Number(box.dataset.max);
    $('[data-large]', form).hidden = !large;
    $('[data-lost]', form).hidden = true;
    for (const old of $$(':scope > .note', form)) old.remove();
    if (large || busy) { e.preventDefault(); return; }
    if (file) kept = input.files;
    if (e.submitter?.dataset.native !== undefined) return; // the browser saves the answer as a file
    e.preventDefault();
    send(form, e.submitter);
  });
  box.dataset.ready = '';
};
