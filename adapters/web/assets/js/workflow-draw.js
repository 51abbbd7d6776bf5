// The drawing of a workflow: columns by depth from left to right, as the server draws the steps of a run.
import { draw } from './dom.js';
import { links } from './workflow-model.js';

const W = 168, H = 56, GX = 44, GY = 28, M = 16;

// place returns the column, the row and the position of each step.
export const place = steps => {
  const after = links(steps).map(list => list.map(d => steps.findIndex(s => s.name === d)).filter(d => d >= 0));
  const out = after.map(list => ({ after: list, depth: 0, row: 0 })), waits = after.map(list => list.length), order = [];
  waits.forEach((n, i) => { if (!n) order.push(i); });
  for (const i of order) {
    after.forEach((list, k) => { if (list.includes(i) && !--waits[k]) order.push(k); });
    for (const d of after[i]) out[i].depth = Math.max(out[i].depth, out[d].depth + 1);
  }
  const columns = [];
  out.forEach((v, i) => { (columns[v.depth] ??= []).push(i); });
  const middle = i => (after[i].length ? after[i].reduce((sum, d) => sum + out[d].row, 0) / after[i].length : i / steps.length);
  for (let pass = 0; pass < 3; pass++) {
    for (const column of columns) column?.sort((a, b) => middle(a) - middle(b)).forEach((i, row) => { out[i].row = row; });
  }
  const most = Math.max(1, ...columns.map(c => c?.length ?? 0));
  for (const v of out) {
    v.x = M + v.depth * (W + GX);
    v.y = M + (most - columns[v.depth].length) * (H + GY) / 2 + v.row * (H + GY);
  }
  return { nodes: out, columns, width: 2 * M + Math.max(1, columns.length) * (W + GX) - GX, height: 2 * M + most * (H + GY) };
};

// next returns the place of the step that an arrow key leads to: left and right follow the links, up and down go through
// the column.
export const next = ({ nodes, columns }, i, key) => {
  const near = list => [...list].sort((a, b) => Math.abs(nodes[a].y - nodes[i].y) - Math.abs(nodes[b].y - nodes[i].y))[0];
  const column = columns[nodes[i]?.depth] ?? [];
  return {
    ArrowLeft: () => near(nodes[i].after),
    ArrowRight: () => near([...nodes.keys()].filter(k => nodes[k].after.includes(i))),
    ArrowDown: () => column[nodes[i].row + 1],
    ArrowUp: () => column[nodes[i].row - 1],
    Home: () => 0,
    End: () => nodes.length - 1,
  }[key]();
};

const curve = (from, to, nodes, height) => {
  const x1 = from.x + W, y1 = from.y + H / 2, x2 = to.x, y2 = to.y + H / 2;
  const lo = Math.min(from.y, to.y), hi = Math.max(from.y, to.y) + H, low = height - M;
  if (!nodes.some(n => n.depth > from.depth && n.depth < to.depth && n.y < hi && n.y + H > lo)) {
    return `M${x1} ${y1}C${x1 + GX / 2} ${y1} ${x2 - GX / 2} ${y2} ${x2} ${y2}`;
  }
  return `M${x1} ${y1}C${x1 + GX / 2} ${y1} ${x1 + GX / 4} ${low} ${x1 + GX} ${low}L${x2 - GX} ${low}` +
    `C${x2 - GX / 4} ${low} ${x2 - GX / 2} ${y2} ${x2} ${y2}`;
};

const cut = (text, most) => { const all = [...text]; return all.length > most ? `${all.slice(0, most - 1).join('')}…` : text; };

// what says what a step executes.
export const what = s => {
  if (s.template_id) return 'a template';
  return `${s.tool || 'ansible'} ${String(s.playbook || s.command || '').trim().split('\n')[0]}`.trim();
};

// picture returns the graph. Labels say to assistive tools what is not written; marks has a word for each step at
// fault.
export const picture = (steps, plan, { cur, from, labels, marks }) => {
  const { nodes, width, height } = plan, edges = [];
  nodes.forEach((to, i) => to.after.forEach(d => {
    const path = curve(nodes[d], to, nodes, height), on = steps[d].name === from && steps[i].name === cur;
    edges.push(draw('path', { class: on ? 'edge crit' : 'edge', d: path }),
      draw('path', { class: 'edge hit', d: path, 'data-from': d, 'data-to': i }));
  }));
  return draw('svg', { role: 'group', width, height, viewBox: `0 0 ${width} ${height}` }, ...edges, ...steps.map((s, i) => {
    const { x, y, depth } = nodes[i], chosen = s.name === cur;
    return draw('g', { role: 'treeitem', id: `flow-${i}`, 'data-i': i, 'data-name': s.name, 'aria-description': labels[i], 'aria-level': depth + 1,
      'aria-selected': String(chosen), transform: `translate(${x} ${y})`,
      class: `node${chosen ? ' on' : ''}${s.name === from ? ' from' : ''}${marks[i] ? ' fail' : ''}` },
    draw('rect', { class: 'box', width: W, height: H, rx: 9 }),
    draw('text', { x: 14, y: 25 }, cut(s.name, 21)), ' ',
    draw('text', { class: 's', x: 14, y: 43 }, cut(marks[i] ? `! ${marks[i]}` : what(s), 24)));
  }));
};
