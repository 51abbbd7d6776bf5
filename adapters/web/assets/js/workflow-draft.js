// Steps that were changed and not saved are kept in the browser, for the page of the template and the account. What was
// sent and then changed the record is forgotten.

const read = key => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
const write = (key, v) => { try { if (v) localStorage.setItem(key, JSON.stringify(v)); else localStorage.removeItem(key); } catch { /* it is not kept */ } };

// draftOf returns the kept text of an editor: text is null if there is none, stale if the record changed meanwhile.
export const draftOf = (box, form) => {
  const key = `writ-steps ${box.dataset.who} ${box.dataset.page}`, base = form.elements._etag?.value ?? '';
  let kept = 'refused' in box.dataset ? null : read(key);
  if (kept?.sent && (!base || kept.base !== base)) { kept = null; write(key, null); }
  const begun = kept?.base ?? base;
  return {
    text: kept?.text ?? null,
    stale: begun !== base,
    keep: text => write(key, text === null ? null : { text, base: begun }),
    sent: () => { const now = read(key); if (now) write(key, { ...now, base, sent: true }); },
  };
};
