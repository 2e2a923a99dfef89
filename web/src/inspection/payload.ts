// The JSON that the page holds in <script type="application/json" id="values">. Every text in it is safe to display:
// control characters and direction marks have been replaced.
import type { Direction } from '../attention-map/direction';

/** A text in parts, each with whether it is absent from the text beside it. */
export type MarkedText = [text: string, isDifferent: boolean][];
export type Candidate = [text: string, probability: number | null, isEnd: boolean, isWritten: boolean];
export type TreeRow = [
  parent: number,
  text: string,
  step: number,
  rank: number,
  logProb: number | null,
  isEnd: boolean,
  isBest: boolean,
];

export interface Counterfactual {
  /** Index of the target word that is replaced. */
  word: number;
  /** The forced word; empty for the end of the sentence. */
  forced: string;
  probability: number | null;
  score: number | null;
  before: MarkedText;
  after: MarkedText;
}

export interface InspectedTranslation {
  source: string;
  translation: string;
  sourceWords: string[];
  targetWords: string[];
  sourceDirection: Direction;
  targetDirection: Direction;
  tokens: string[];
  /** The target word that each token belongs to. */
  tokenWords: number[];
  /** For each step, the most probable tokens. */
  candidates: Candidate[][];
  /** 0 for a model without attention. */
  layers: number;
  heads: number;
  defaultLayer: number;
  /** Weights in thousandths, flattened from [layers][heads][target words + 1][source words + 1]. */
  predicted: number[];
  /** As `predicted`, with [target words] rows: the step that reads the word instead of the one that writes it. */
  given: number[];
  /** As `predicted`, with [tokens + 1] rows. */
  steps: number[];
  score: number | null;
  tree: TreeRow[];
  counterfactuals: Counterfactual[];
  flags: string[];
  model: string;
}

export interface Payload {
  /** How the end of a sentence is written. */
  end: string;
  translations: InspectedTranslation[];
}

export function readPayload(): Payload {
  return JSON.parse(document.getElementById('values')?.textContent ?? '') as Payload;
}
