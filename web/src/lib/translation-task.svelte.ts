// One translation in progress: streams the text, retries while the server is busy, and can be cancelled.
import { isAbort, type Api } from './api';
import { ApiError } from './api-error';
import type { Hypothesis, TranslateRequest, Translation } from './types';
import { locateSentences, type LocatedSentence } from './word-positions';

export type Phase = 'idle' | 'running' | 'waiting' | 'done' | 'failed';

const MAX_TRIES = 30;

export class TranslationTask {
  phase: Phase = $state('idle');
  /** The text received so far, while it streams. */
  draft: string = $state('');
  text: string = $state('');
  /** The source text that `sentences` belong to. */
  source: string = $state('');
  translation: Translation | null = $state.raw(null);
  sentences: LocatedSentence[] = $state.raw([]);
  error: ApiError | null = $state.raw(null);
  /** Seconds until the next try. */
  secondsToRetry: number = $state(0);
  #controller: AbortController | null = null;

  get isBusy(): boolean {
    return this.phase === 'running' || this.phase === 'waiting';
  }

  /** Some words can be linked with those of the source. */
  get hasLinks(): boolean {
    return this.sentences.some(sentence => sentence.alignment ?? sentence.weights);
  }

  /** Translate; a request in progress is cancelled. */
  async run(api: Api, request: TranslateRequest): Promise<void> {
    this.stop();
    const controller = new AbortController();
    const { signal } = controller;
    this.#controller = controller;
    for (let tries = 1; ; tries++) {
      this.phase = 'running';
      this.draft = '';
      try {
        const translation = await api.stream(request, delta => (this.draft += delta), signal);
        if (!signal.aborted) this.#finish(translation, request.text);
        return;
      } catch (error) {
        if (signal.aborted || isAbort(error)) return;
        this.error = ApiError.from(error);
        if (this.error.retryAfter === null || tries === MAX_TRIES) {
          this.phase = 'failed';
          return;
        }
        if (!(await this.#wait(this.error.retryAfter, signal))) return;
      }
    }
  }

  stop(): void {
    this.#controller?.abort();
    this.#controller = null;
    this.error = null;
    this.draft = '';
    this.secondsToRetry = 0;
    if (this.isBusy) this.phase = this.translation ? 'done' : 'idle';
  }

  clear(): void {
    this.stop();
    this.phase = 'idle';
    this.text = this.source = '';
    this.translation = null;
    this.sentences = [];
  }

  /** Replace the translation of one sentence. */
  replaceSentence(index: number, replacement: Hypothesis): void {
    const old = this.sentences[index];
    if (!old) return;
    const end = old.targetStart + old.text.length;
    this.text = this.text.slice(0, old.targetStart) + replacement.text + this.text.slice(end);
    const shift = replacement.text.length - old.text.length;
    this.sentences = this.sentences.map((sentence, place) => {
      if (place < index) return sentence;
      if (place > index) return { ...sentence, targetStart: sentence.targetStart + shift };
      const { source, sourceStart, targetStart, source_words } = sentence;
      return { ...replacement, source, sourceStart, targetStart, ...(source_words && { source_words }) };
    });
  }

  #finish(translation: Translation, source: string): void {
    this.translation = translation;
    this.text = translation.text;
    this.source = source;
    this.sentences = locateSentences(translation, source);
    this.error = null;
    this.draft = '';
    this.phase = 'done';
  }

  /** Count down the seconds, or until the browser comes online; returns false if cancelled. */
  async #wait(seconds: number, signal: AbortSignal): Promise<boolean> {
    this.phase = 'waiting';
    const online = new AbortController();
    addEventListener('online', () => online.abort(), { signal: online.signal });
    for (this.secondsToRetry = seconds; this.secondsToRetry > 0 && !online.signal.aborted; this.secondsToRetry--) {
      await new Promise(resume => setTimeout(resume, 1000));
      if (signal.aborted) break;
    }
    online.abort(); // removes the listener
    return !signal.aborted;
  }
}
