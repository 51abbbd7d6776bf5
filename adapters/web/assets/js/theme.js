// The switch of light and dark changes the page at once and stores the choice.
export const mount = form => {
  form.addEventListener('submit', e => {
    e.preventDefault();
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    form.elements.theme.value = root.dataset.theme;
    dispatchEvent(new Event('theme'));
    fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)), redirect: 'manual' });
  });
};
