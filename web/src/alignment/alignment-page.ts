// Interactive maps for pages that hold one or more static maps: the alignment page and the comparison report.
//
// An element with data-attention-map='{"title", "sourceWords", "targetWords", "weights", "sourceDirection",
// "targetDirection"}' is replaced by an AttentionMap. Within a `.sample`, the words (`.word` with data-side and
// data-word) and the map highlight each other, and `.says` describes the highlighted word.
import { addArrowKeys } from '../attention-map/arrow-keys';
import { AttentionMap, NONE, type Side } from '../attention-map/attention-map';
import '../attention-map/attention-map.css';
import type { Direction } from '../attention-map/direction';
import { formatPercent, wordName } from '../inspection/format';

interface StaticMap {
  title: string;
  sourceWords: string[];
  targetWords: string[];
  weights: number[][];
  sourceDirection: Direction;
  targetDirection: Direction;
}

type Highlight = (side: Side | null, word: number) => void;

const MIN_LISTED = 0.05; // smallest weight that the description mentions
const MAX_LISTED = 5;

export function startAlignmentPage(): void {
  for (const sample of document.querySelectorAll<HTMLElement>('.sample')) startSample(sample);
  for (const container of document.querySelectorAll<HTMLElement>('[data-attention-map]')) {
    const highlight: Highlight = (side, word) => highlightMap(map, side, word);
    const map = replaceMap(container, readMap(container), highlight);
  }
}

function readMap(container: HTMLElement): StaticMap {
  return JSON.parse(container.dataset.attentionMap ?? '') as StaticMap;
}

function replaceMap(container: HTMLElement, data: StaticMap, highlight: Highlight): AttentionMap {
  const map = new AttentionMap({
    label: container.getAttribute('aria-label') ?? 'Attention map',
    onCell: row => highlight('target', row),
    onLabel: highlight,
    onLeave: () => highlight(null, NONE),
    formatWeight: formatPercent,
  });
  const render = () =>
    map.render({
      ...data,
      sourceLabels: data.sourceWords,
      targetLabels: data.targetWords,
      sourceWordCount: data.sourceWords.length,
      targetWordCount: data.targetWords.length,
      hasTotals: false,
    });
  container.replaceWith(map.element);
  render();
  addEventListener('resize', render);
  return map;
}

function highlightMap(map: AttentionMap | null, side: Side | null, word: number): void {
  map?.highlight(side === 'target' ? word : NONE, side === 'source' ? word : NONE);
}

function startSample(sample: HTMLElement): void {
  const container = sample.querySelector<HTMLElement>('[data-attention-map]');
  const weights = container ? readMap(container).weights : [];
  const words = (side: Side) => [...sample.querySelectorAll<HTMLElement>(`.word[data-side=${side}]`)];
  const sides = { source: words('source'), target: words('target') };
  const description = sample.querySelector('.says');
  let map: AttentionMap | null = null;

  const highlight: Highlight = (side, word) => {
    const other = side === 'target' ? 'source' : 'target';
    for (const each of [...sides.source, ...sides.target]) {
      each.classList.remove('chosen');
      each.style.removeProperty('--weight');
    }
    highlightMap(map, side, word);
    if (description) description.textContent = '';
    if (!side) return;
    const chosen = sides[side][word];
    chosen?.classList.add('chosen');
    const links = sides[other].map((element, index) => ({
      element,
      weight: (side === 'target' ? weights[word]?.[index] : weights[index]?.[word]) ?? 0,
    }));
    for (const { element, weight } of links) element.style.setProperty('--weight', Math.min(0.85, weight).toFixed(3));
    if (description && chosen) description.textContent = describeWord(chosen, side, links);
  };

  if (container) map = replaceMap(container, readMap(container), highlight);
  for (const sentence of sample.querySelectorAll<HTMLElement>('.sentence')) addArrowKeys(sentence);
  for (const side of ['source', 'target'] as const) {
    sides[side].forEach((word, index) => {
      word.tabIndex = index ? -1 : 0;
      word.addEventListener('pointerenter', () => highlight(side, index));
      word.addEventListener('focus', () => highlight(side, index));
    });
  }
  const clear = () => highlight(null, NONE);
  sample.addEventListener('pointerleave', () => {
    if (!sample.contains(document.activeElement)) clear();
  });
  sample.addEventListener('focusout', event => {
    if (!sample.contains(event.relatedTarget as Node | null)) clear();
  });
}

function describeWord(chosen: HTMLElement, side: Side, links: { element: HTMLElement; weight: number }[]): string {
  const name = (element: HTMLElement) => wordName(element.textContent);
  const listed = links.filter(link => link.weight >= MIN_LISTED).sort((a, b) => b.weight - a.weight);
  const parts = listed.slice(0, MAX_LISTED).map(link => `${name(link.element)} ${formatPercent(link.weight)}`);
  if (!parts.length) return `${name(chosen)} is linked to no word in particular`;
  return `${name(chosen)} ${side === 'target' ? 'attends to' : 'is attended to by'} ${parts.join(', ')}`;
}
