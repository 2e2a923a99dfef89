// The tree of the beam: a column for each step, in it what the beam kept, the best above. The way to the translation is
// marked; what led nowhere is faint, and can be left out.

const NODE = { height: 34, space: 44, gap: 26, widest: 120 };
const MANY = 1500;  // nodes; above it the tree opens without what was dropped

function treeNodes(one) {
  const nodes = one.tree.map(([parent, text, step, rank, logProb, isEnd, isBest], number) => (
    { number, parent, text: isEnd ? END : named(text), step, rank, logProb, isEnd, isBest, lives: isEnd || isBest }));
  for (const node of [...nodes].reverse()) {
    if (node.lives && node.parent >= 0) nodes[node.parent].lives = true;
  }
  return nodes;
}

// What ended has left the beam, and has no place in it (rank -1): the translation stands above, other ends below.
const orderOf = node => (node.rank >= 0 ? node.rank : node.isBest ? -1 : Infinity);
function inBeam(a, b) {
  if (orderOf(a) !== orderOf(b)) return orderOf(a) - orderOf(b);
  return b.logProb - a.logProb || a.number - b.number;
}

// Columns by step, rows by the place in the beam.
function placeNodes(nodes) {
  const columns = [];
  for (const node of nodes) (columns[node.step] ??= []).push(node);
  let x = 4;
  for (const column of columns) {
    if (!column) continue;
    column.sort(inBeam);
    const width = Math.max(...column.map(node => Math.min(NODE.widest, Math.max(44, widthOf(node.text) + 16))));
    column.forEach((node, row) => Object.assign(node, { x, y: 4 + row * NODE.space, width, column, row }));
    x += width + NODE.gap;
  }
  const rows = Math.max(0, ...columns.map(column => column?.length ?? 0));
  return { width: x, height: rows * NODE.space + 4 };
}

const stepProb = (node, nodes) => Math.exp(node.logProb - (node.parent >= 0 ? nodes[node.parent].logProb : 0));

function treeEdge(node, nodes) {
  const from = nodes[node.parent];
  if (!from || from.x === undefined) return [];
  const [x1, y1, x2, y2] = [from.x + from.width, from.y + NODE.height / 2, node.x, node.y + NODE.height / 2];
  const middle = (x1 + x2) / 2;
  return [draw('path', { class: `edge${kindOf(node)}`, d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` })];
}

const kindOf = node => `${node.isBest ? ' best' : ''}${node.lives ? '' : ' dropped'}`;

function treeNode(node, nodes, direction) {
  const middle = node.x + node.width / 2;
  return draw('g', { class: `node${kindOf(node)}`, 'data-node': node.number, tabindex: -1, role: 'img',
    'aria-label': node.text + nodeSaying(node, nodes) },
  draw('rect', { x: node.x, y: node.y, width: node.width, height: NODE.height, rx: 5 }),
  draw('rect', { class: 'share', x: node.x, y: node.y + NODE.height - 3, height: 3,
    width: (node.width * Math.min(1, stepProb(node, nodes) || 0)).toFixed(1) }),
  draw('text', { x: middle, y: node.y + 14, ...anchored('middle', direction) }, cut(node.text, node.width - 8)),
  draw('text', { class: 'figure', x: middle, y: node.y + 27, 'text-anchor': 'middle' }, decimal(node.logProb)));
}

function nodeSaying(node, nodes) {
  const place = `step ${node.step + 1}${node.rank < 0 ? '' : `, place ${node.rank + 1} in the beam`}`;
  const other = node.lives ? 'on the way to another end' : 'dropped later';
  const fate = node.isBest ? 'on the way to the translation' : other;
  const alone = node.logProb === null ? '' : `, ${percent(stepProb(node, nodes))} after what stands before it`;
  return `: ${place}; log-probability ${decimal(node.logProb, 3)} up to it${alone}; ${fate}`;
}

function textUpTo(node, nodes) {
  const pieces = [];
  for (let at = node; at; at = nodes[at.parent]) pieces.unshift(at.text);
  return pieces;
}

// Left to the node before, right to the best after it, up and down in the beam.
function neighbour(key, node, nodes) {
  const after = nodes.filter(other => other.parent === node.number && other.x !== undefined);
  return {
    ArrowLeft: () => nodes[node.parent], ArrowRight: () => after.find(other => other.isBest) ?? after[0],
    ArrowUp: () => node.column[node.row - 1], ArrowDown: () => node.column[node.row + 1],
  }[key]?.();
}

function treePicture(nodes, direction, isPruned) {
  for (const node of nodes) delete node.x;
  const kept = isPruned ? nodes.filter(node => node.lives) : nodes;
  const size = placeNodes(kept);
  const best = node => (node.isBest ? 1 : 0);
  const edges = [...kept].sort((a, b) => best(a) - best(b)).flatMap(node => treeEdge(node, nodes));
  const svg = draw('svg', { class: 'tree', width: Math.ceil(size.width), height: size.height,
    viewBox: `0 0 ${Math.ceil(size.width)} ${size.height}`, role: 'group', 'aria-label': 'The tree of the beam' },
  ...edges, ...kept.map(node => treeNode(node, nodes, direction)));
  svg.querySelector('.node')?.setAttribute('tabindex', 0);
  return svg;
}

function treeCard(one) {
  const nodes = treeNodes(one);
  const box = make('div', { class: 'scroll tall' });
  const says = make('p', { class: 'says' });
  const path = make('p', { class: 'pieces path', dir: one.targetDirection });
  const prune = make('input', { type: 'checkbox', checked: nodes.length > MANY });
  const redraw = () => box.replaceChildren(treePicture(nodes, one.targetDirection, prune.checked));
  const show = node => {
    says.replaceChildren(apart(node.text), nodeSaying(node, nodes));
    path.replaceChildren(...textUpTo(node, nodes).map(text => make('bdi', { class: 'piece' }, text)));
  };
  const nodeAt = target => nodes[target.closest?.('.node')?.dataset.node];
  for (const kind of ['pointerover', 'focusin', 'click']) {
    box.addEventListener(kind, event => { if (nodeAt(event.target)) show(nodeAt(event.target)); });
  }
  box.addEventListener('keydown', event => {
    const from = nodeAt(event.target);
    const next = from && neighbour(event.key, from, nodes);
    if (!from || !event.key.startsWith('Arrow')) return;
    event.preventDefault();
    if (!next) return;
    event.target.setAttribute('tabindex', -1);
    const group = box.querySelector(`[data-node="${next.number}"]`);
    group.setAttribute('tabindex', 0);
    group.focus();
  });
  prune.addEventListener('change', redraw);
  redraw();
  show(nodes.findLast(node => node.isBest) ?? nodes[0]);
  return make('section', { class: 'card', 'aria-labelledby': 'tree' }, make('h2', { id: 'tree' }, 'The beam'),
    make('p', { class: 'remark' }, 'A column for each step, the best above, with the log-probability of all up to the ',
      'piece; the bar below is the probability of the piece alone. Faint ones were dropped.'),
    make('label', { class: 'chooser' }, prune, ' Hide what was dropped'), box, says, path);
}
