// The order of the rows of a matrix: hosts, or one row for all hosts that are alike.
import { RANK } from './matrix-data.js';

const latin = new TextDecoder('latin1');

const pick = (grid, { text, only }) => {
  const out = [], word = text.toLowerCase();
  for (let h = 0; h < grid.H; h++) {
    if ((only === null || grid.worst[h] === only) && (!word || grid.names[h].toLowerCase().includes(word))) out.push(h);
  }
  return out;
};

// alike folds hosts with equal cells and an equal message.
const alike = (grid, hosts) => {
  const found = new Map();
  for (const h of hosts) {
    const key = latin.decode(grid.row(h)) + grid.message(h), row = found.get(key);
    if (row) row.n++; else found.set(key, { h, n: 1 });
  }
  return [...found.values()].sort((a, b) => RANK[grid.worst[b.h]] - RANK[grid.worst[a.h]] || b.n - a.n);
};

const compare = (grid, o) => ({
  worst: (a, b) => RANK[grid.worst[b]] - RANK[grid.worst[a]] || a - b,
  name: (a, b) => o.names.compare(grid.names[a], grid.names[b]),
  duration: (a, b) => (o.durations?.[b] || 0) - (o.durations?.[a] || 0) || a - b,
}[o.sort]);

const names = new Intl.Collator('en', { numeric: true });

// order returns the rows, each a host with the number of hosts that it stands for.
export const order = (grid, options) => {
  const hosts = pick(grid, options);
  if (options.sort === 'alike') return alike(grid, hosts);
  const by = compare(grid, { ...options, names });
  if (by) hosts.sort(by);
  return hosts.map(h => ({ h, n: 1 }));
};
