// The filter of the grants is applied when a choice changes.
export const mount = form => {
  form.addEventListener('change', () => form.requestSubmit());
};
