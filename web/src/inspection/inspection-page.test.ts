// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MEAN, attentionMap, linkedWords } from './attention-weights';
import { formatNumber, formatPercent, wordName } from './format';
import { startInspectionPage } from './inspection-page';
import type { InspectedTranslation, TreeRow } from './payload';
import { layOutTree, neighbour, pathTokens, stepProbability, treeNodes } from './search-tree-layout';
import { InspectionState } from './state';

/** Two layers with one head each; the weights of the second layer are half of the first. */
const TRANSLATION: InspectedTranslation = {
  source: 'a',
  translation: 'xy',
  sourceWords: ['a'],
  targetWords: ['xy'],
  sourceDirection: 'ltr',
  targetDirection: 'ltr',
  tokens: ['x', 'y'],
  tokenWords: [0, 0],
  candidates: [[['x', 0.7, false, true]], [['y', 0.6, false, true]], [['', 0.9, true, true]]],
  layers: 2,
  heads: 1,
  defaultLayer: 0,
  predicted: [800, 200, 100, 900, 400, 100, 50, 450],
  given: [800, 200, 400, 100],
  steps: [900, 100, 700, 300, 100, 900, 450, 50, 350, 150, 50, 450],
  score: -0.5,
  tree: [
    [-1, 'x', 0, 0, Math.log(0.5), false, true],
    [-1, 'z', 0, 1, Math.log(0.25), false, false],
    [0, '', 1, -1, Math.log(0.4), true, true],
    [1, 'q', 1, 0, Math.log(0.1), false, false],
  ],
  counterfactuals: [
    { word: 0, forced: 'z', probability: 0.2, score: null, before: [['xy', true]], after: [['z', true]] },
  ],
  flags: ['numbers'],
  model: 'm',
};
const END = '⟨end⟩';

describe('attention maps', () => {
  const rows = (map: Float64Array[]) => map.map(row => [...row].map(weight => Number(weight.toFixed(3))));

  it('selects a layer and a head', () => {
    expect(rows(attentionMap(TRANSLATION, 1, 0, 'predicted'))).toEqual([[0.4, 0.1], [0.05, 0.45]]); // prettier-ignore
    expect(rows(attentionMap(TRANSLATION, 0, 0, 'given'))).toEqual([[0.8, 0.2]]);
    expect(attentionMap(TRANSLATION, 0, 0, 'steps')).toHaveLength(3);
  });

  it('averages over layers', () => {
    expect(rows(attentionMap(TRANSLATION, MEAN, 0, 'given'))).toEqual([[0.6, 0.15]]);
  });

  it('lists linked words by weight', () => {
    const weights = attentionMap(TRANSLATION, 0, 0, 'predicted');
    expect(linkedWords(weights, 'target', 1).map(link => link.word)).toEqual([1, 0]);
    expect(linkedWords(weights, 'source', 0).map(link => link.weight)).toEqual([0.8, 0.1]);
    expect(linkedWords(weights, 'target', 9)).toEqual([]);
  });
});

describe('search tree', () => {
  const nodes = treeNodes(TRANSLATION.tree, END);

  it('marks nodes that lead to a finished hypothesis', () => {
    expect(nodes.map(node => [node.text, node.isKept])).toEqual([['x', true], ['z', false], [END, true], ['q', false]]); // prettier-ignore
  });

  it('computes probabilities of single tokens and paths', () => {
    expect(stepProbability(nodes[2]!, nodes)).toBeCloseTo(0.8);
    expect(stepProbability(nodes[1]!, nodes)).toBeCloseTo(0.25);
    expect(pathTokens(nodes[3]!, nodes)).toEqual(['z', 'q']);
  });

  it('places the best finished hypothesis first in its column', () => {
    const layout = layOutTree(nodes);
    expect(layout.places.get(nodes[2]!)?.row).toBe(0);
    expect(layout.places.get(nodes[3]!)?.row).toBe(1);
  });

  it('moves by arrow keys', () => {
    const layout = layOutTree(nodes);
    const moves = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'].map(key =>
      neighbour(key, nodes[0]!, nodes, layout),
    );
    expect(moves).toEqual([undefined, nodes[2], undefined, nodes[1]]);
  });

  it('orders finished hypotheses without a rank after the beam', () => {
    const tree: TreeRow[] = [[-1, '', 0, -1, -3, true, false], [-1, 'a', 0, 0, -1, false, true]]; // prettier-ignore
    const [finished, best] = treeNodes(tree, END);
    const layout = layOutTree([finished!, best!]);
    expect([layout.places.get(best!)?.row, layout.places.get(finished!)?.row]).toEqual([0, 1]);
  });
});

it('formats numbers and words', () => {
  expect([0, 0.0001, 0.034, 0.5].map(formatPercent)).toEqual([
    '0.0\u00a0%',
    '<\u00a00.1\u00a0%',
    '3.4\u00a0%',
    '50\u00a0%',
  ]);
  expect([formatNumber(-1.234), formatNumber(null), formatNumber(2, 3)]).toEqual(['−1.23', '–', '2.000']);
  expect([wordName(' '), wordName('x')]).toEqual(['a space', 'x']);
});

describe('state', () => {
  it('goes to the step of a pinned word, and highlights the word of a step', () => {
    const state = new InspectionState(TRANSLATION, END);
    const onStep = vi.fn();
    state.subscribe({ step: onStep });
    state.pin({ side: 'target', word: 1 });
    expect([state.step, onStep.mock.calls.length]).toEqual([2, 1]);
    state.goToStep(1);
    expect(state.pinned).toEqual({ side: 'target', word: 0 });
    state.goToStep(99);
    expect([state.step, state.pinned?.word]).toEqual([2, 1]);
  });

  it('reports a change of the hovered word once', () => {
    const state = new InspectionState(TRANSLATION, END);
    const onHighlight = vi.fn();
    state.subscribe({ highlight: onHighlight });
    for (let i = 0; i < 3; i++) state.hover({ side: 'source', word: 0 });
    expect(onHighlight).toHaveBeenCalledTimes(1);
  });
});

describe('page', () => {
  beforeEach(() => {
    document.body.innerHTML =
      '<div id="static">static</div><div id="live"></div><script type="application/json" id="values"></script>';
    document.getElementById('values')!.textContent = JSON.stringify({
      end: END,
      translations: [TRANSLATION, { ...TRANSLATION, source: '<b>b</b>', layers: 0, heads: 0, tree: [] }],
    });
  });

  it('shows the cards of the selected translation', () => {
    startInspectionPage();
    const headings = () => [...document.querySelectorAll('#open h2')].map(heading => heading.textContent);
    expect(headings()).toEqual([
      'm · mean log-probability −0.500',
      'Attention',
      'Step by step',
      'What if',
      'Beam search',
    ]);
    document.querySelector<HTMLElement>('.sample .target .word')?.click();
    expect(document.querySelector('.sample .says')?.textContent).toBe(
      'xy attends to a 80\u00a0%, ⟨end⟩ 20\u00a0%; entropy 0.72 bits',
    );
    document.querySelectorAll<HTMLElement>('.translations button')[1]?.click();
    expect(headings()).toEqual(['m · mean log-probability −0.500', 'Step by step', 'What if']);
    expect(document.querySelector('.translations b')).toBeNull();
  });
});
