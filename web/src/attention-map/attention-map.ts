// Heat map of attention weights as SVG: one row per target word, one column per source word, each in reading order.
// The row labels are an SVG of their own, which stays in place while the map scrolls sideways.
//
// The component uses these custom properties of the page: --heat, --faint, --source, --target, --soft, --band, --card.
import { anchorAttributes, type Direction } from './direction';
import { html, svg } from './dom';
import { BAR_LENGTH, GAP, cellAtPoint, columnX, layOutMap, rowY, type MapLayout } from './layout';
import { coverage, entropyBits, type Weights } from './statistics';

export type Side = 'source' | 'target';

export interface AttentionMapData {
  title: string;
  /** Words of the source, and possibly the end marker after `sourceWordCount` words. */
  sourceLabels: readonly string[];
  targetLabels: readonly string[];
  sourceWordCount: number;
  targetWordCount: number;
  /** From 0 to 1, [rows][columns]; rows may be fewer than `targetLabels`. */
  weights: Weights;
  sourceDirection: Direction;
  targetDirection: Direction;
  /** Show the entropy of each row at its right and the coverage of each column below it. */
  hasTotals: boolean;
  /** Names of the two kinds of bars, shown next to them. */
  totalLabels?: { entropy: string; coverage: string };
}

export interface AttentionMapOptions {
  /** Accessible name of the scrollable region. */
  label: string;
  onCell?: (row: number, column: number) => void;
  onLabel?: (side: Side, word: number) => void;
  onLeave?: () => void;
  /** Text of a weight. With it, screen readers get the weights as a table instead of one image. */
  formatWeight?: (weight: number) => string;
}

const MIN_VISIBLE = 0.005; // cells with a smaller weight are not drawn
const FULL_COVERAGE = 2; // coverage of a full bar
const LABEL_HEIGHT = 12; // from the top of a label to its baseline
export const NONE = -1;

export class AttentionMap {
  readonly element: HTMLDivElement;
  readonly #options: AttentionMapOptions;
  #data: AttentionMapData | null = null;
  #layout: MapLayout | null = null;
  #labels: SVGSVGElement = svg('svg');
  #map: SVGSVGElement = svg('svg');

  constructor(options: AttentionMapOptions) {
    this.#options = options;
    this.element = html('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': options.label });
    // A tap has no pointermove before it.
    this.element.addEventListener('pointermove', event => this.#point(event));
    this.element.addEventListener('pointerdown', event => this.#point(event));
    this.element.addEventListener('pointerleave', () => options.onLeave?.());
  }

  render(data: AttentionMapData): void {
    const layout = layOutMap(data, innerWidth);
    [this.#data, this.#layout] = [data, layout];
    const isHidden = this.#options.formatWeight !== undefined;
    const size = (width: number) => ({ width, height: layout.height, viewBox: `0 0 ${width} ${layout.height}` });
    this.#labels = svg(
      'svg',
      { class: 'map names', 'aria-hidden': 'true', ...size(layout.labelWidth) },
      ...layout.targetLabels.map((label, row) => rowLabel(layout, label, row, data.targetDirection)),
      ...(layout.totalLabels ? [coverageLabel(layout, layout.totalLabels.coverage)] : []),
    );
    const access = isHidden ? { 'aria-hidden': 'true' } : { role: 'img', 'aria-label': data.title };
    this.#map = svg('svg', { class: 'map', ...access, ...size(layout.width) }, ...mapParts(data, layout));
    const table = this.#options.formatWeight ? [weightTable(data, this.#options.formatWeight)] : [];
    this.element.replaceChildren(html('div', { class: 'grid' }, this.#labels, this.#map), ...table);
  }

  /** Outline a row and a column and emphasize their labels; `NONE` for neither. */
  highlight(row: number, column: number): void {
    const layout = this.#layout;
    const [rowBand, columnBand] = this.#map.querySelectorAll<SVGRectElement>('.band');
    if (!layout || !rowBand || !columnBand) return;
    rowBand.style.display = row >= 0 && row < layout.rows ? 'inline' : 'none';
    columnBand.style.display = column >= 0 ? 'inline' : 'none';
    if (row >= 0) rowBand.setAttribute('y', String(rowY(layout, row)));
    if (column >= 0) columnBand.setAttribute('x', String(columnX(layout, column)));
    for (const label of this.element.querySelectorAll<SVGTextElement>('.map text')) {
      label.classList.toggle('lit', Number(label.dataset.word) === (label.dataset.side === 'target' ? row : column));
    }
  }

  #point(event: PointerEvent): void {
    if (!(event.target instanceof SVGElement) || !this.#layout || !this.#data) return;
    const { side, word } = event.target.dataset;
    if (side) this.#options.onLabel?.(side as Side, Number(word));
    // Cells receive no pointer events, since invisible ones are not drawn: the rectangle below them does.
    if (!event.target.classList.contains('ground')) return;
    const { left, top } = this.#map.getBoundingClientRect();
    const { row, column } = cellAtPoint(this.#layout, event.clientX - left, event.clientY - top);
    this.#describeCell(event.target, row, column);
    this.#options.onCell?.(row, column);
  }

  /** Set the tooltip of the map to the weight under the pointer. */
  #describeCell(ground: SVGElement, row: number, column: number): void {
    const { formatWeight } = this.#options;
    if (!formatWeight || !this.#data) return;
    const { targetLabels, sourceLabels, weights } = this.#data;
    const parts = [targetLabels[row], sourceLabels[column], formatWeight(weights[row]?.[column] ?? 0)];
    ground.replaceChildren(svg('title', {}, parts.join(' · ')));
  }
}

function mapParts(data: AttentionMapData, layout: MapLayout): SVGElement[] {
  const [width, height] = [layout.columns * layout.cell, layout.rows * layout.cell];
  const { top, cell } = layout;
  return [
    svg('rect', { class: 'ground', x: 0, y: top, width, height }),
    ...layout.sourceLabels.map((label, column) => columnLabel(data, layout, label, column)),
    ...data.weights.flatMap((weights, row) => [
      ...rowCells(layout, weights, row),
      ...(data.hasTotals ? [entropyBar(data, layout, weights, row)] : []),
    ]),
    ...(data.hasTotals ? layout.sourceLabels.map((_, column) => coverageBar(data, layout, column)) : []),
    ...(layout.totalLabels ? [entropyLabel(layout, layout.totalLabels.entropy)] : []),
    svg('rect', { class: 'band row', x: 1, y: top, width: Math.max(0, width - 2), height: cell }),
    svg('rect', { class: 'band column', x: 0, y: top, width: cell, height }),
  ];
}

function columnLabel(data: AttentionMapData, layout: MapLayout, label: string, column: number): SVGTextElement {
  const [x, y] = [columnX(layout, column) + layout.cell / 2, layout.top - GAP];
  const placed =
    layout.isUpright && column < data.sourceWordCount
      ? anchorAttributes('middle', data.sourceDirection)
      : { ...anchorAttributes('start', data.sourceDirection), transform: `rotate(-45 ${x} ${y})` };
  return svg('text', { class: 'source', 'data-side': 'source', 'data-word': column, x, y, ...placed }, label);
}

function rowLabel(layout: MapLayout, label: string, row: number, direction: Direction): SVGTextElement {
  const place = { x: layout.labelWidth - GAP, y: rowY(layout, row) + 0.7 * layout.cell };
  const attributes = { class: 'target', 'data-side': 'target', 'data-word': row, ...place };
  return svg('text', { ...attributes, ...anchorAttributes('end', direction) }, label);
}

function rowCells(layout: MapLayout, weights: ArrayLike<number>, row: number): SVGRectElement[] {
  const size = { width: layout.cell - 2, height: layout.cell - 2, y: rowY(layout, row) + 1 };
  return Array.from(weights).flatMap((weight, column) => {
    if (weight < MIN_VISIBLE) return [];
    const place = { x: columnX(layout, column) + 1, ...size, 'data-row': row, 'data-column': column };
    return [svg('rect', { class: 'cell', ...place, 'fill-opacity': weight.toFixed(3) })];
  });
}

/** Left of the bars of coverage, in the column of the row labels. */
function coverageLabel(layout: MapLayout, label: string): SVGTextElement {
  const place = { x: layout.labelWidth - GAP, y: rowY(layout, layout.rows) + GAP + LABEL_HEIGHT };
  return svg('text', { class: 'total', ...place, 'text-anchor': 'end' }, label);
}

/** Below the bars of entropy. */
function entropyLabel(layout: MapLayout, label: string): SVGTextElement {
  const place = { x: layout.columns * layout.cell + GAP, y: rowY(layout, layout.rows) + GAP + LABEL_HEIGHT };
  return svg('text', { class: 'total', ...place }, label);
}

function entropyBar(
  data: AttentionMapData,
  layout: MapLayout,
  weights: ArrayLike<number>,
  row: number,
): SVGRectElement {
  const bits = entropyBits(weights);
  const width = ((BAR_LENGTH - 4) * bits) / (Math.log2(layout.columns) || 1);
  const place = { x: layout.columns * layout.cell + GAP, y: rowY(layout, row) + layout.cell / 4 };
  const size = { width: width.toFixed(1), height: layout.cell / 2 };
  const title = data.totalLabels ? `${data.totalLabels.entropy} ${bits.toFixed(2)}` : `entropy ${bits.toFixed(2)} bits`;
  return svg('rect', { class: 'entropy', ...place, ...size }, svg('title', {}, title));
}

function coverageBar(data: AttentionMapData, layout: MapLayout, column: number): SVGRectElement {
  const total = coverage(data.weights, column, data.targetWordCount);
  const title = `${data.totalLabels?.coverage ?? 'coverage'} ${total.toFixed(2)}`;
  const height = (BAR_LENGTH - 4) * Math.min(1, total / FULL_COVERAGE);
  const place = { x: columnX(layout, column) + layout.cell / 4, y: rowY(layout, layout.rows) + GAP };
  const size = { width: layout.cell / 2, height: height.toFixed(1) };
  return svg('rect', { class: 'coverage', ...place, ...size }, svg('title', {}, title));
}

/** The weights for screen readers; the surrounding element is hidden from view. */
function weightTable(data: AttentionMapData, format: (weight: number) => string): HTMLElement {
  const header = data.sourceLabels.map(label => html('th', { scope: 'col' }, label));
  const rows = data.weights.map((weights, row) =>
    html(
      'tr',
      {},
      html('th', { scope: 'row' }, data.targetLabels[row] ?? ''),
      ...Array.from(weights, weight => html('td', {}, format(weight))),
    ),
  );
  const table = html(
    'table',
    {},
    html('caption', {}, data.title),
    html('thead', {}, html('tr', {}, html('td'), ...header)),
    html('tbody', {}, ...rows),
  );
  return html('div', { class: 'weight-table' }, table);
}
