// Nodes of the search tree and their positions: one column per step, ordered by rank in the beam.
import { textWidth } from '../attention-map/text-width';
import { wordName } from './format';
import type { TreeRow } from './payload';

export const NODE_HEIGHT = 34;
const ROW_HEIGHT = 44;
const COLUMN_GAP = 26;
const MIN_NODE_WIDTH = 44;
const MAX_NODE_WIDTH = 120;
const MARGIN = 4;

export interface TreeNode {
  index: number;
  parent: number;
  text: string;
  step: number;
  /** Rank in the beam; -1 for a finished hypothesis. */
  rank: number;
  logProb: number | null;
  isBest: boolean;
  /** Whether the node leads to a finished hypothesis. */
  isKept: boolean;
}

export interface NodePlace {
  x: number;
  y: number;
  width: number;
  column: TreeNode[];
  row: number;
}

export interface TreeLayout {
  places: Map<TreeNode, NodePlace>;
  width: number;
  height: number;
}

export function treeNodes(tree: readonly TreeRow[], end: string): TreeNode[] {
  const nodes = tree.map(([parent, text, step, rank, logProb, isEnd, isBest], index) => ({
    index,
    parent,
    text: isEnd ? end : wordName(text),
    step,
    rank,
    logProb,
    isBest,
    isKept: isEnd || isBest,
  }));
  // Parents come before their children.
  for (const node of [...nodes].reverse()) {
    const parent = nodes[node.parent];
    if (node.isKept && parent) parent.isKept = true;
  }
  return nodes;
}

export function layOutTree(nodes: readonly TreeNode[]): TreeLayout {
  const columns = new Map<number, TreeNode[]>();
  for (const node of nodes) {
    const column = columns.get(node.step);
    if (column) column.push(node);
    else columns.set(node.step, [node]);
  }
  const places = new Map<TreeNode, NodePlace>();
  let x = MARGIN;
  for (const [, column] of [...columns].sort(([a], [b]) => a - b)) {
    column.sort(compareNodes);
    const width = Math.max(...column.map(nodeWidth));
    column.forEach((node, row) => places.set(node, { x, y: MARGIN + row * ROW_HEIGHT, width, column, row }));
    x += width + COLUMN_GAP;
  }
  const rows = Math.max(0, ...[...columns.values()].map(column => column.length));
  return { places, width: Math.ceil(x), height: rows * ROW_HEIGHT + MARGIN };
}

function nodeWidth({ text }: TreeNode): number {
  return Math.min(MAX_NODE_WIDTH, Math.max(MIN_NODE_WIDTH, textWidth(text) + 16));
}

/** By rank; finished hypotheses have none: the best one comes first, the others last. */
function compareNodes(a: TreeNode, b: TreeNode): number {
  const order = (node: TreeNode) => (node.rank >= 0 ? node.rank : node.isBest ? -1 : Number.MAX_SAFE_INTEGER);
  return order(a) - order(b) || (b.logProb ?? 0) - (a.logProb ?? 0) || a.index - b.index;
}

/** The probability of a token given the tokens before it. */
export function stepProbability(node: TreeNode, nodes: readonly TreeNode[]): number {
  return Math.exp((node.logProb ?? 0) - (nodes[node.parent]?.logProb ?? 0));
}

/** The tokens from the root to a node. */
export function pathTokens(node: TreeNode, nodes: readonly TreeNode[]): string[] {
  const tokens: string[] = [];
  for (let at: TreeNode | undefined = node; at; at = nodes[at.parent]) tokens.unshift(at.text);
  return tokens;
}

/** The node that an arrow key leads to: left to the parent, right to the best child, up and down within the column. */
export function neighbour(
  key: string,
  node: TreeNode,
  nodes: readonly TreeNode[],
  { places }: TreeLayout,
): TreeNode | undefined {
  const place = places.get(node);
  if (key === 'ArrowLeft') return nodes[node.parent];
  if (key === 'ArrowUp') return place?.column[place.row - 1];
  if (key === 'ArrowDown') return place?.column[place.row + 1];
  const children = nodes.filter(other => other.parent === node.index && places.has(other));
  return children.find(child => child.isBest) ?? children[0];
}
