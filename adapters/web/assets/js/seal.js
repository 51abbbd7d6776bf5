// The badge of a run. What it says at first is the server's claim. A click reads the receipt and verifies it in this
// browser, with the code of the page /verify, against the keys that were pinned here before.
import { $, make, say, count } from './dom.js';

const STORE = 'writ.pins';
const CHECKS = {
  format: 'Format', trust: 'Trust', signature: 'Signature', checkpoint: 'Checkpoint', entries: 'Entries', heads: 'Heads',
  inclusion: 'Inclusion', consistency: 'Consistency', from: 'Earlier head', anchors: 'Anchors',
  subject: 'Document of the run', completeness: 'Completeness', times: 'Times', disclosures: 'Private values',
  manifest: 'Manifest',
};
const RESULTS = { passed: ['done', '✓', 'passed'], warned: ['chg', '!', 'passed with a warning'], failed: ['fail', '✗', 'failed'] };
const STATES = {
  none: ['idle', 'Not checked yet'], verified: ['done', 'Verified'], intact: ['chg', 'Intact, key not pinned'],
  broken: ['fail', 'Broken'],
};
// Characters that are invisible or change the direction of text are shown as their numbers.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;
const visible = text => String(text).slice(0, 2000)
  .replace(HIDDEN, c => `⟦U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟧`);

// pins are the keys of this browser: { key, date }.
const pins = () => {
  try { return JSON.parse(localStorage.getItem(STORE) || '[]').filter(p => p && typeof p.key === 'string'); } catch { return []; }
};
const pin = key => {
  const list = pins().filter(p => p.key !== key).concat({ key, date: new Date().toISOString().slice(0, 10) });
  try { localStorage.setItem(STORE, JSON.stringify(list)); return true; } catch { return false; }
};

// keyOf returns the verifier key that the receipt lists for heads, which can be pinned.
const keyOf = raw => {
  try {
    const envelope = JSON.parse(new TextDecoder().decode(raw));
    const payload = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(envelope.payload), c => c.charCodeAt(0))));
    const keys = payload.predicate?.keys || payload.keys || [];
    return keys.find(k => k.use === 'checkpoint' && k.status === 'active')?.vkey || '';
  } catch { return ''; }
};

const origin = key => key.split('+')[0];

// verify returns the verdict. Pins of other installs say nothing about this one.
export const verify = async path => {
  const answer = await fetch(path, { cache: 'no-store' });
  if (!answer.ok) throw new Error(`The server gave no receipt (${answer.status}).`);
  const raw = new Uint8Array(await answer.arrayBuffer());
  const engine = (await import('/verify/engine.js')).default;
  const key = keyOf(raw);
  const mine = pins().filter(p => origin(p.key) === origin(key));
  const verdict = await engine.verifyBytes(raw, { keys: mine.map(p => p.key) });
  return { verdict, key, pins: mine, raw, engines: await engine.signatureEngines() };
};

const stateOf = v => (!v.ok ? 'broken' : v.pinned ? 'verified' : 'intact');

const badge = (el, state, text) => {
  const [hue, word] = STATES[state];
  el.classList.remove('now', 'idle', 'done', 'chg', 'fail');
  el.classList.add(hue);
  el.dataset.state = state;
  $('b', el).textContent = word;
  $('[data-entry]', el).textContent = text || '';
};

const sentence = ({ verdict: v, pins: list }) => {
  const entries = `${count(v.count)} ${v.count === 1 ? 'entry' : 'entries'} of a chain of ${count(v.size)}`;
  if (!v.ok) {
    const where = v.broke_seq ? ` at entry ${count(v.broke_seq)}, number ${count(v.broke_at)} of the file` : '';
    return `Broken${where}: ${v.reason.replaceAll('_', ' ')}. Nothing after it can be trusted.`;
  }
  if (v.pinned) return `Verified. ${entries}, unchanged since they were signed by a key that was pinned here on ${list.at(-1)?.date}.`;
  return `Intact, but the key is not pinned. ${entries} agree with each other. Nobody has confirmed in this browser whose key signed them.`;
};

const checkRow = c => {
  const [hue, mark, word] = RESULTS[c.result] || RESULTS.failed;
  return make('li', { class: hue }, make('span', { class: 'st', 'aria-hidden': 'true' }, mark),
    make('span', {}, make('b', {}, CHECKS[c.id] || c.id), make('span', { class: 'vh' }, ` ${word}:`), ` ${visible(c.detail)}`));
};

const body = (el, got, again) => {
  const v = got.verdict;
  const id = el.dataset.run;
  const pinButton = v.ok && !v.pinned && got.key
    && make('button', { class: 'btn first', type: 'button', 'data-pin': true }, 'Pin this key in this browser');
  const parts = [make('p', { class: 'b' }, sentence(got)),
    make('p', { class: 'q2 sm' }, `Checked here, in this browser, at ${new Date().toLocaleTimeString()}. `
      + (got.engines === 2 ? 'Each signature was verified twice, by the page and by the browser.' : 'This browser has no Ed25519; the page verified the signatures.')),
    make('ul', { class: 'checks sm', 'aria-label': 'Checks' }, ...v.checks.map(checkRow)),
    make('h3', {}, 'Not checked'),
    make('ul', { class: 'sm unchecked' }, ...v.not_checked.map(t => make('li', {}, visible(t)))),
    make('p', { class: 'q2 sm' }, 'A page from the server that is to be checked proves little. The same on another machine:'),
    make('pre', { tabindex: '0', 'aria-label': 'Command' },
      `writ audit verify${got.key ? ` --key '${visible(got.key)}'` : ''} ${id}.receipt.json`)];
  if (pinButton) {
    parts.push(make('p', { class: 'sm' }, 'Compare the key with the one that the operator of this install has published, then pin it: ',
      make('code', {}, visible(got.key))));
  }
  const file = make('a', { class: 'btn', href: el.dataset.receipt, download: `${id}.receipt.json` }, 'Download the receipt');
  parts.push(make('div', { class: 'btns' }, pinButton || null, file,
    make('button', { class: 'btn', type: 'button', 'data-close': true }, 'Close')));
  pinButton && pinButton.addEventListener('click', () => { if (pin(got.key)) again(); });
  return parts;
};

const open = async el => {
  const box = make('div', { class: 'body' }, make('p', { role: 'status' }, 'Checking…'));
  const heading = make('h2', { id: 'seal-title' }, 'Proof of this run');
  const d = make('dialog', { class: 'sheet', 'aria-labelledby': 'seal-title' }, make('header', {}, heading), box);
  document.body.append(d);
  d.addEventListener('close', () => { d.remove(); el.focus(); });
  d.showModal();
  const check = async () => {
    try {
      const got = await verify(el.dataset.receipt);
      const state = stateOf(got.verdict);
      badge(el, state, state === 'broken' && got.verdict.broke_seq ? ` entry ${count(got.verdict.broke_seq)}` : '');
      heading.textContent = STATES[state][1];
      say(STATES[state][1]);
      box.replaceChildren(...body(el, got, check));
    } catch (err) {
      box.replaceChildren(make('p', { class: 'b' }, 'Nothing was checked.'), make('p', {}, visible(err.message)),
        make('div', { class: 'btns' }, make('a', { class: 'btn', href: el.href }, 'Evidence'),
          make('button', { class: 'btn', type: 'button', 'data-close': true }, 'Close')));
    }
  };
  await check();
};

const click = e => {
  if (e.ctrlKey || e.metaKey || e.shiftKey) return;
  e.preventDefault();
  open(e.currentTarget);
};
const press = e => { if (e.key === ' ') { e.preventDefault(); open(e.currentTarget); } };

export const mount = el => { el.addEventListener('click', click); el.addEventListener('keydown', press); };
export const unmount = el => { el.removeEventListener('click', click); el.removeEventListener('keydown', press); };
