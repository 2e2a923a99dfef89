// Attention weights as links: the source at the left, the translation at the right, both from top to bottom, joined by
// curves as wide as their weights.
import type { Side } from '../attention-map/attention-map';
import { anchorAttributes } from '../attention-map/direction';
import { html, svg } from '../attention-map/dom';
import { truncate, widest } from '../attention-map/text-width';
import type { InspectionState } from './state';

const MIN_LINK = 0.04; // smaller weights are not drawn
const MAX_LINK_WIDTH = 8;
const ROW_HEIGHT = 24;
const GAP = 8;
const MAX_WIDTH = 360;
const PAGE_MARGIN = 60;

export function attentionLinks(state: InspectionState): HTMLElement {
  const box = html('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Links' });
  const draw = () => box.replaceChildren(linksImage(state, Math.min(MAX_WIDTH, innerWidth - PAGE_MARGIN)));
  state.subscribe({ map: draw, highlight: () => highlightLinks(state, box) });
  return box;
}

function highlightLinks({ highlighted }: InspectionState, box: HTMLElement): void {
  box.classList.toggle('following', highlighted !== null);
  for (const link of box.querySelectorAll<SVGElement>('.link')) {
    const word = Number(highlighted?.side === 'target' ? link.dataset.row : link.dataset.column);
    link.classList.toggle('lit', highlighted?.word === word);
  }
  for (const label of box.querySelectorAll<SVGElement>('text')) {
    const isChosen = highlighted?.side === label.dataset.side && Number(label.dataset.word) === highlighted?.word;
    label.classList.toggle('lit', isChosen);
  }
}

interface LinksLayout {
  labels: Record<Side, string[]>;
  left: number;
  /** Space between the two sides. */
  between: number;
  width: number;
  height: number;
}

function layOutLinks(state: InspectionState, rows: number, available: number): LinksLayout {
  const maxLabel = Math.max(60, Math.min(120, available * 0.3));
  const source = state.labels('source').map(label => truncate(label, maxLabel));
  const target = state.labels('target').slice(0, rows);
  const targetLabels = target.map(label => truncate(label, maxLabel));
  const left = widest(source) + GAP;
  const right = widest(targetLabels, 20) + GAP;
  const between = Math.max(90, Math.min(200, available - left - right - 2 * GAP));
  const height = Math.max(source.length, target.length) * ROW_HEIGHT;
  return { labels: { source, target: targetLabels }, left, between, height, width: left + between + right + 2 * GAP };
}

function linksImage(state: InspectionState, available: number): SVGSVGElement {
  const weights = state.weights();
  const layout = layOutLinks(state, weights.length, available);
  const width = Math.ceil(layout.width);
  const curves = weights.flatMap((row, target) =>
    [...row].flatMap((weight, source) => (weight < MIN_LINK ? [] : [curve(layout, target, source, weight)])),
  );
  return svg(
    'svg',
    {
      class: 'map links',
      role: 'img',
      viewBox: `0 0 ${width} ${layout.height}`,
      width,
      height: layout.height,
      'aria-label': `Links, ${state.mapName()}`,
    },
    ...curves,
    ...layout.labels.source.map((label, word) => linkLabel(state, layout, 'source', label, word)),
    ...layout.labels.target.map((label, word) => linkLabel(state, layout, 'target', label, word)),
  );
}

function labelY(layout: LinksLayout, side: Side, word: number): number {
  return ((word + 0.5) * layout.height) / layout.labels[side].length;
}

function linkLabel(state: InspectionState, layout: LinksLayout, side: Side, label: string, word: number): SVGElement {
  const { sourceDirection, targetDirection } = state.translation;
  const placed =
    side === 'source'
      ? { x: layout.left, ...anchorAttributes('end', sourceDirection) }
      : { x: layout.left + layout.between + 2 * GAP, ...anchorAttributes('start', targetDirection) };
  const y = labelY(layout, side, word) + 4.5; // the baseline, below the middle of the row
  return svg('text', { class: side, 'data-side': side, 'data-word': word, y, ...placed }, label);
}

function curve(layout: LinksLayout, row: number, column: number, weight: number): SVGPathElement {
  const [x1, x2] = [layout.left + GAP, layout.left + layout.between + GAP];
  const middle = (x1 + x2) / 2;
  const [y1, y2] = [labelY(layout, 'source', column).toFixed(1), labelY(layout, 'target', row).toFixed(1)];
  return svg('path', {
    class: 'link',
    'data-row': row,
    'data-column': column,
    'stroke-width': (MAX_LINK_WIDTH * weight).toFixed(2),
    d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`,
  });
}
