// The card with the search tree of the beam. The path of the translation is marked; nodes that lead to no finished
// hypothesis are faint and can be hidden.
import { anchorAttributes, type Direction } from '../attention-map/direction';
import { html, svg } from '../attention-map/dom';
import { truncate } from '../attention-map/text-width';
import { formatNumber, formatPercent, isolatedWord } from './format';
import {
  NODE_HEIGHT,
  layOutTree,
  neighbour,
  pathTokens,
  stepProbability,
  treeNodes,
  type NodePlace,
  type TreeLayout,
  type TreeNode,
} from './search-tree-layout';
import type { InspectionState } from './state';

const MANY_NODES = 1500; // above, dropped nodes are hidden at first

export function searchTreeCard(state: InspectionState): HTMLElement {
  const { tree, targetDirection } = state.translation;
  const nodes = treeNodes(tree, state.end);
  const box = html('div', { class: 'scroll tall' });
  const description = html('p', { class: 'says' });
  const path = html('p', { class: 'tokens path', dir: targetDirection });
  const hideDropped = html('input', { type: 'checkbox', checked: nodes.length > MANY_NODES });
  let layout = layOutTree([]);
  const redraw = () => {
    const shown = hideDropped.checked ? nodes.filter(node => node.isKept) : nodes;
    layout = layOutTree(shown);
    box.replaceChildren(treeImage(shown, nodes, layout, targetDirection));
  };
  const show = (node: TreeNode | undefined) => {
    if (!node) return;
    description.replaceChildren(isolatedWord(node.text), describeNode(node, nodes));
    path.replaceChildren(...pathTokens(node, nodes).map(token => html('bdi', { class: 'token' }, token)));
  };
  for (const type of ['pointerover', 'focusin', 'click']) {
    box.addEventListener(type, event => show(nodeOf(event, nodes)));
  }
  box.addEventListener('keydown', event => moveFocus(event, nodes, layout, box));
  hideDropped.addEventListener('change', redraw);
  redraw();
  show(nodes.findLast(node => node.isBest) ?? nodes[0]);
  return html(
    'section',
    { class: 'card', 'aria-labelledby': 'tree' },
    html('h2', { id: 'tree' }, 'Beam search'),
    html(
      'p',
      { class: 'remark' },
      'One column per step, the best hypothesis on top. The number is the log-probability of the hypothesis up to that ',
      'token; the bar is the probability of the token alone. Faint tokens were dropped.',
    ),
    html('label', { class: 'chooser' }, hideDropped, ' Hide what was dropped'),
    box,
    description,
    path,
  );
}

function nodeOf(event: Event, nodes: readonly TreeNode[]): TreeNode | undefined {
  const element = event.target instanceof Element ? event.target.closest<SVGElement>('.node') : null;
  return element ? nodes[Number(element.dataset.node)] : undefined;
}

function moveFocus(event: KeyboardEvent, nodes: readonly TreeNode[], layout: TreeLayout, box: HTMLElement): void {
  const from = nodeOf(event, nodes);
  if (!from || !/^Arrow(Left|Right|Up|Down)$/.test(event.key)) return;
  event.preventDefault();
  const next = neighbour(event.key, from, nodes, layout);
  const element = next && box.querySelector<SVGElement>(`[data-node="${next.index}"]`);
  if (!element) return;
  (event.target as Element).setAttribute('tabindex', '-1');
  element.setAttribute('tabindex', '0');
  element.focus();
}

function describeNode(node: TreeNode, nodes: readonly TreeNode[]): string {
  const place = `step ${node.step + 1}${node.rank < 0 ? '' : `, place ${node.rank + 1} in the beam`}`;
  const probability = node.logProb === null ? '' : `, ${formatPercent(stepProbability(node, nodes))} for this token`;
  const other = node.isKept ? 'on the way to another translation' : 'dropped later';
  const outcome = node.isBest ? 'on the way to the translation' : other;
  return `: ${place}; log-probability ${formatNumber(node.logProb, 3)} up to it${probability}; ${outcome}`;
}

function treeImage(
  shown: readonly TreeNode[],
  nodes: readonly TreeNode[],
  layout: TreeLayout,
  direction: Direction,
): SVGSVGElement {
  const { width, height, places } = layout;
  // The best path is drawn last, above the other edges.
  const byBest = [...shown].sort((a, b) => Number(a.isBest) - Number(b.isBest));
  const edges = byBest.flatMap(node => {
    const [from, to] = [nodes[node.parent], node].map(each => each && places.get(each));
    return from && to ? [edge(node, from, to)] : [];
  });
  const drawn = shown.flatMap(node => {
    const place = places.get(node);
    return place ? [treeNode(node, place, nodes, direction)] : [];
  });
  drawn[0]?.setAttribute('tabindex', '0');
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  return svg('svg', { class: 'tree', ...size, role: 'group', 'aria-label': 'Search tree' }, ...edges, ...drawn);
}

function nodeClasses(node: TreeNode): string {
  return `${node.isBest ? ' best' : ''}${node.isKept ? '' : ' dropped'}`;
}

function edge(node: TreeNode, from: NodePlace, to: NodePlace): SVGPathElement {
  const [x1, y1, x2, y2] = [from.x + from.width, from.y + NODE_HEIGHT / 2, to.x, to.y + NODE_HEIGHT / 2];
  const middle = (x1 + x2) / 2;
  const d = `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
  return svg('path', { class: `edge${nodeClasses(node)}`, d });
}

function treeNode(
  node: TreeNode,
  { x, y, width }: NodePlace,
  nodes: readonly TreeNode[],
  direction: Direction,
): SVGGElement {
  const middle = x + width / 2;
  const share = node.logProb === null ? 0 : Math.min(1, stepProbability(node, nodes));
  const access = { tabindex: -1, role: 'img', 'aria-label': node.text + describeNode(node, nodes) };
  return svg(
    'g',
    { class: `node${nodeClasses(node)}`, 'data-node': node.index, ...access },
    svg('rect', { x, y, width, height: NODE_HEIGHT, rx: 5 }),
    svg('rect', { class: 'share', x, y: y + NODE_HEIGHT - 3, height: 3, width: (width * share).toFixed(1) }),
    svg('text', { x: middle, y: y + 14, ...anchorAttributes('middle', direction) }, truncate(node.text, width - 8)),
    svg('text', { class: 'figure', x: middle, y: y + 27, 'text-anchor': 'middle' }, formatNumber(node.logProb)),
  );
}
