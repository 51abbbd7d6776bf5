// The steps of a workflow as a graph. Steps are never changed in place: a change makes new ones. A change that is refused
// answers { refused: why }, any other one { steps, cur }, in which cur is the step that is chosen then.

const named = s => (Array.isArray(s.depends_on) ? s.depends_on.map(String) : []);
const at = (steps, name) => steps.findIndex(s => s.name === name);

// inOrder reports whether no step names another one: then they run one after the other.
export const inOrder = steps => !steps.some(s => named(s).length);

// links returns the names of the steps that each step runs after.
export const links = steps => (inOrder(steps)
  ? steps.map((s, i) => (i ? [steps[i - 1].name] : []))
  : steps.map(s => [...new Set(named(s))]));

const withLinks = (s, list) => {
  const { depends_on, ...rest } = s;
  return list.length ? { ...rest, depends_on: list } : depends_on ? rest : s;
};

// explicit names the dependencies of steps that run in order.
const explicit = steps => (inOrder(steps) ? steps.map((s, i) => (i ? withLinks(s, [steps[i - 1].name]) : s)) : steps);

// circle returns the names along the circle that a link would close, null if there is none.
export const circle = (steps, from, to) => {
  const list = links(steps), after = new Map(steps.map((s, i) => [s.name, list[i]])), seen = new Set();
  const walk = name => {
    if (name === to) return [name];
    if (seen.has(name)) return null;
    seen.add(name);
    for (const d of after.get(name) ?? []) { const path = walk(d); if (path) return [...path, name]; }
    return null;
  };
  const path = walk(from);
  return path && [...path, to];
};

const round = path => `would run in a circle: ${path.join(' → ')}`;

// problems lists what is wrong with the graph, by the place of the step.
export const problems = steps => {
  const out = [], list = links(steps);
  steps.forEach((s, i) => {
    const say = (member, message) => out.push({ step: i, name: s.name, member, message });
    if (!s.name.trim()) say('name', 'has no name');
    if (at(steps, s.name) < i) say('name', 'another step has this name too');
    if ('depends_on' in s && s.depends_on !== null && !Array.isArray(s.depends_on)) say('depends_on', 'is not a list of names');
    for (const d of list[i]) {
      if (at(steps, d) < 0) { say('depends_on', `no step is named ${d}`); continue; }
      const path = circle(steps, d, s.name);
      if (path && !out.some(p => p.circle)) { say('depends_on', round(path)); out.at(-1).circle = true; }
    }
  });
  return out;
};

const free = steps => {
  for (let n = steps.length + 1; ; n++) if (at(steps, `step ${n}`) < 0) return `step ${n}`;
};

// add makes a step that runs after the chosen one, or before it: then it takes over what that one ran after.
export const add = (steps, cur, before) => {
  const all = explicit(steps), i = at(all, cur), name = free(all);
  const made = all[i]?.tool ? { name, tool: all[i].tool } : { name };
  if (i < 0) return { steps: [...all, made], cur: name };
  const out = [...all];
  if (before) out.splice(i, 1, withLinks(made, named(all[i])), withLinks(all[i], [name]));
  else out.splice(i + 1, 0, withLinks(made, [cur]));
  return { steps: out, cur: name };
};

// link makes one step run after another one.
export const link = (steps, from, to) => {
  if (at(steps, from) < 0 || at(steps, to) < 0) return { refused: `Not linked: no step is named ${at(steps, from) < 0 ? from : to}.` };
  const all = explicit(steps), i = at(all, to), path = from === to ? [from, to] : circle(all, from, to);
  if (path) return { refused: `Not linked: it ${round(path)}.` };
  if (named(all[i]).includes(from)) return { refused: `${to} runs after ${from} already.` };
  return { steps: all.with(i, withLinks(all[i], [...named(all[i]), from])), cur: to };
};

// unlink takes a link away. The last one stays: steps without any run in their order, not at once.
export const unlink = (steps, from, to) => {
  const all = explicit(steps), i = at(all, to);
  if (i < 0 || !named(all[i]).includes(from)) return { refused: `${to} does not run after ${from}.` };
  const out = all.with(i, withLinks(all[i], named(all[i]).filter(d => d !== from)));
  if (inOrder(out)) return { refused: 'Not removed: one link has to stay. Steps without any link run one after the other.' };
  return { steps: out, cur: to };
};

// remove deletes a step. What ran after it runs after what was before it.
export const remove = (steps, name) => {
  const all = explicit(steps), i = at(all, name);
  if (i < 0) return { refused: 'No step is chosen.' };
  const before = named(all[i]);
  const out = all.filter((s, k) => k !== i).map(s => (named(s).includes(name)
    ? withLinks(s, [...new Set(named(s).flatMap(d => (d === name ? before : [d])))]) : s));
  const next = all.find(s => named(s).includes(name))?.name ?? before[0] ?? out[Math.min(i, out.length - 1)]?.name ?? '';
  const lost = out.length > 1 && inOrder(out) ? ' No step has a link now, so they run one after the other.' : '';
  return { steps: out, cur: next, note: `${name} is removed.${lost}` };
};

// rename gives a step another name, also where others run after it.
export const rename = (steps, name, to) => {
  const wanted = to.trim();
  if (!wanted) return { refused: 'Not renamed: a step has to have a name.' };
  if (wanted === name) return { steps, cur: name };
  if (at(steps, wanted) >= 0) return { refused: `Not renamed: another step is named ${wanted}.` };
  return { cur: wanted, steps: steps.map(s => {
    const x = named(s).includes(name) ? { ...s, depends_on: named(s).map(d => (d === name ? wanted : d)) } : s;
    return x.name === name ? { ...x, name: wanted } : x;
  }) };
};

// set changes a member of a step; undefined takes it away.
export const set = (steps, name, member, value) => {
  const i = at(steps, name), { [member]: old, ...rest } = steps[i];
  if (same(old, value)) return { steps, cur: name };
  return { steps: steps.with(i, value === undefined ? rest : { ...rest, [member]: value }), cur: name };
};

const sorted = (k, v) => (v && typeof v === 'object' && !Array.isArray(v)
  ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v);
const same = (a, b) => JSON.stringify(a, sorted) === JSON.stringify(b, sorted);

// diff lists in words which steps differ.
export const diff = (before, now) => {
  const out = [];
  for (const s of now) {
    const old = before.find(o => o.name === s.name);
    if (!old) { out.push(`Added: ${s.name}`); continue; }
    const members = [...new Set([...Object.keys(old), ...Object.keys(s)])].filter(m => !same(old[m], s[m]));
    if (members.length) out.push(`Changed: ${s.name} (${members.join(', ')})`);
  }
  for (const o of before) if (at(now, o.name) < 0) out.push(`Removed: ${o.name}`);
  if (!out.length && !before.every((o, i) => o.name === now[i].name)) out.push('Changed: the order of the steps');
  return out;
};
