// Sizes and positions, in pixels, of the parts of an attention map.
import type { AttentionMapData } from './attention-map';
import { truncate, widest } from './text-width';

const CELL = 24;
const SMALL_CELL = 18;
const MANY_COLUMNS = 30; // with more columns, cells are small
const MAX_LABEL = 130;
const MAX_ROW_LABEL_ON_PHONE = 84;
const PHONE_WIDTH = 600;
const STROKE = 2; // outline of a highlighted row or column
export const GAP = 8;
export const BAR_LENGTH = 44; // space for the bars of entropy and coverage

export interface MapLayout {
  sourceLabels: string[];
  targetLabels: string[];
  totalLabels: { entropy: string; coverage: string } | null;
  cell: number;
  rows: number;
  columns: number;
  /** Column labels stand upright when each fits above its cell; otherwise they slant. */
  isUpright: boolean;
  /** Columns run from right to left. */
  isReversed: boolean;
  /** Top of the first row. */
  top: number;
  labelWidth: number;
  width: number;
  height: number;
}

export function layOutMap(data: AttentionMapData, viewportWidth: number): MapLayout {
  const rows = data.weights.length;
  const rowLabelWidth = viewportWidth < PHONE_WIDTH ? MAX_ROW_LABEL_ON_PHONE : MAX_LABEL;
  const sourceLabels = data.sourceLabels.map(label => truncate(label, MAX_LABEL));
  const targetLabels = data.targetLabels.slice(0, rows).map(label => truncate(label, rowLabelWidth));
  const columns = sourceLabels.length;
  const cell = columns > MANY_COLUMNS ? SMALL_CELL : CELL;
  const rise = widest(sourceLabels) * Math.SQRT1_2 + 2 * GAP; // labels slant by 45 degrees
  const top = rise + GAP;
  const bars = data.hasTotals ? BAR_LENGTH + GAP : STROKE;
  const totalLabels = (data.hasTotals && data.totalLabels) || null;
  return {
    sourceLabels,
    targetLabels,
    totalLabels,
    cell,
    rows,
    columns,
    isUpright: widest(sourceLabels.slice(0, data.sourceWordCount)) <= cell,
    isReversed: data.sourceDirection === 'rtl',
    top,
    labelWidth: Math.ceil(widest(totalLabels ? [...targetLabels, totalLabels.coverage] : targetLabels, 20) + 2 * GAP),
    width: Math.ceil(columns * cell + Math.max(bars, rise, totalLabels ? GAP + widest([totalLabels.entropy]) : 0)),
    height: Math.ceil(top + rows * cell + bars),
  };
}

export function columnX(layout: MapLayout, column: number): number {
  return (layout.isReversed ? layout.columns - 1 - column : column) * layout.cell;
}

export function rowY(layout: MapLayout, row: number): number {
  return layout.top + row * layout.cell;
}

/** The cell at a point of the map; a point outside belongs to the nearest cell. */
export function cellAtPoint(layout: MapLayout, x: number, y: number): { row: number; column: number } {
  const clamp = (index: number, count: number) => Math.max(0, Math.min(count - 1, index));
  const place = Math.floor(x / layout.cell);
  return {
    row: clamp(Math.floor((y - layout.top) / layout.cell), layout.rows),
    column: clamp(layout.isReversed ? layout.columns - 1 - place : place, layout.columns),
  };
}
