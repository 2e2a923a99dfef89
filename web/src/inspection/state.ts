// The translation on display and what is selected in it. Parts of the page subscribe to changes.
import type { Side } from '../attention-map/attention-map';
import { MEAN, attentionMap, type Reading, type Rows } from './attention-weights';
import type { InspectedTranslation } from './payload';

export interface WordPosition {
  side: Side;
  word: number;
}

/** `map`: another map was selected; `highlight`: another word; `step`: another decoding step; `theme`: other colours. */
export type Change = 'map' | 'highlight' | 'step' | 'theme';
type Listeners = Partial<Record<Change, () => void>>;
export type MapSelection = Partial<Pick<InspectionState, 'layer' | 'head' | 'reading'>>;

export class InspectionState {
  readonly translation: InspectedTranslation;
  readonly end: string;
  layer: number;
  head: number;
  reading: Reading = 'predicted';
  step = 0;
  pinned: WordPosition | null = null;
  hovered: WordPosition | null = null;
  readonly #listeners: Listeners[] = [];
  #cached: { key: string; rows: Rows } | null = null;

  constructor(translation: InspectedTranslation, end: string) {
    this.translation = translation;
    this.end = end;
    this.layer = translation.defaultLayer;
    this.head = translation.heads === 1 ? 0 : MEAN;
  }

  get highlighted(): WordPosition | null {
    return this.hovered ?? this.pinned;
  }

  subscribe(listeners: Listeners): void {
    this.#listeners.push(listeners);
  }

  notify(...changes: Change[]): void {
    for (const change of changes) for (const listeners of this.#listeners) listeners[change]?.();
  }

  labels(side: Side): string[] {
    const { sourceWords, targetWords } = this.translation;
    return [...(side === 'source' ? sourceWords : targetWords), this.end];
  }

  /** The map on display, [rows][columns]. */
  weights(): Rows {
    const key = `${this.layer} ${this.head} ${this.reading}`;
    if (this.#cached?.key !== key) {
      this.#cached = { key, rows: attentionMap(this.translation, this.layer, this.head, this.reading) };
    }
    return this.#cached.rows;
  }

  mapName(): string {
    const layer = this.layer === MEAN ? 'mean of all layers' : `layer ${this.layer + 1}`;
    if (this.translation.heads === 1) return layer;
    return `${layer}, ${this.head === MEAN ? 'mean of heads' : `head ${this.head + 1}`}`;
  }

  selectMap(selection: MapSelection): void {
    Object.assign(this, selection);
    this.notify('map', 'highlight', 'step');
  }

  hover(position: WordPosition | null): void {
    if (this.hovered?.side === position?.side && this.hovered?.word === position?.word) return;
    this.hovered = position;
    this.notify('highlight');
  }

  /** Keep a word highlighted; for a target word, also go to the step that wrote it. */
  pin(position: WordPosition): void {
    this.pinned = position;
    this.hovered = null;
    if (position.side === 'target') {
      const { tokens, tokenWords } = this.translation;
      const first = tokenWords.indexOf(position.word);
      this.step = first < 0 ? tokens.length : first;
      this.notify('step');
    }
    this.notify('highlight');
  }

  /** Go to a decoding step and highlight its word. */
  goToStep(step: number): void {
    const { tokens, tokenWords, targetWords } = this.translation;
    this.step = Math.max(0, Math.min(tokens.length, step));
    this.pinned = { side: 'target', word: tokenWords[this.step] ?? targetWords.length };
    this.hovered = null;
    this.notify('step', 'highlight');
  }
}
