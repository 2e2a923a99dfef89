// What the server says: the shapes of /v1 and of /frontend/settings.

export interface Flag {
  name: string;
  detail: string;
  meaning?: string;
}

/** A sentence, or one of its n best; weights are [target words][source words]. */
export interface Sentence {
  source: string;
  text: string;
  score: number | null;
  is_truncated?: boolean;
  flags?: Flag[];
  source_words?: string[];
  target_words?: string[];
  alignment?: [number, number][];
  weights?: number[][];
  nbest?: Omit<Sentence, 'source'>[];
}

export interface Translation extends Sentence {
  sentences?: Sentence[];
  models: string[];
  via: string | null;
  detected: { language: string; confidence: number } | null;
  alternatives?: { text: string; score: number | null }[];
}

export interface Route {
  source: string;
  target: string;
  models: string[][];
  via: string | null;
}

export interface ModelFacts {
  name: string;
  source: string;
  target: string;
  family: string;
  state: string;
  engine: string;
  precision: string;
}

export interface Settings {
  charLimit: number;
  keyRequired: boolean;
  filesTranslation: boolean;
  supportedFilesFormat: string[];
}

/** One sentence opened; maps are [layers][heads][target words + 1][source words + 1]. */
export interface Inspection {
  source_words: string[];
  target_words: string[];
  predicted: number[][][][];
  entropy: number[][][];
  default_layer: number;
}

export type Glossary = Record<string, string | null>;

export interface Ask {
  text: string;
  source: string;
  target: string;
  model?: string | null;
  alternatives?: number;
  glossary?: Glossary | null;
}
