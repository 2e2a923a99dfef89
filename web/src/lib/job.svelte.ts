// One translation under way: it streams, waits for a busy server, and can be stopped.
import { isAbort, type Api } from './api';
import { sentencesOf, type Placed } from './tokens';
import { Trouble } from './trouble';
import type { Ask, Sentence, Translation } from './types';

export type Phase = 'idle' | 'running' | 'waiting' | 'done' | 'failed';

const MOST_TRIES = 30;

export class Job {
  phase: Phase = $state('idle');
  /** What has come so far, while it comes. */
  draft: string = $state('');
  text: string = $state('');
  /** The source that the sentences belong to. */
  source: string = $state('');
  translation: Translation | null = $state.raw(null);
  sentences: Placed[] = $state.raw([]);
  trouble: Trouble | null = $state.raw(null);
  /** Seconds until it tries again. */
  seconds: number = $state(0);
  #control: AbortController | null = null;

  get isBusy(): boolean {
    return this.phase === 'running' || this.phase === 'waiting';
  }

  /** Translate this; what was under way is cancelled. */
  async run(api: Api, ask: Ask): Promise<void> {
    this.stop();
    const control = new AbortController();
    this.#control = control;
    for (let tries = 1; ; tries++) {
      this.phase = 'running';
      this.draft = '';
      try {
        const answer = await api.stream(ask, delta => (this.draft += delta), control.signal);
        if (!control.signal.aborted) this.#take(answer, ask.text);
        return;
      } catch (error) {
        if (control.signal.aborted || isAbort(error)) return;
        this.trouble = error instanceof Trouble ? error : new Trouble('broken', String(error));
        if (this.trouble.wait === null || tries === MOST_TRIES) {
          this.phase = 'failed';
          return;
        }
        if (!(await this.#pause(this.trouble.wait, control.signal))) return;
      }
    }
  }

  stop(): void {
    this.#control?.abort();
    this.#control = null;
    this.trouble = null;
    this.seconds = 0;
    if (this.isBusy) this.phase = this.translation ? 'done' : 'idle';
  }

  clear(): void {
    this.stop();
    this.phase = 'idle';
    this.draft = this.text = this.source = '';
    this.translation = null;
    this.sentences = [];
  }

  /** Put another translation in the place of a sentence's. */
  choose(number: number, other: Omit<Sentence, 'source'>): void {
    const old = this.sentences[number];
    if (!old) return;
    const end = old.targetStart + old.text.length;
    this.text = this.text.slice(0, old.targetStart) + other.text + this.text.slice(end);
    const longer = other.text.length - old.text.length;
    this.sentences = this.sentences.map((each, place) => {
      if (place < number) return each;
      if (place > number) return { ...each, targetStart: each.targetStart + longer };
      const words = each.source_words;
      return { ...other, source: each.source, ...(words && { source_words: words }), sourceStart: each.sourceStart, targetStart: each.targetStart };
    });
  }

  #take(answer: Translation, source: string): void {
    this.translation = answer;
    this.text = answer.text;
    this.source = source;
    this.sentences = sentencesOf(answer, source);
    this.trouble = null;
    this.phase = 'done';
  }

  /** Count down; false where it was stopped. Being online again ends the wait for a server out of reach. */
  async #pause(seconds: number, signal: AbortSignal): Promise<boolean> {
    this.phase = 'waiting';
    let isOver = false;
    const end = () => (isOver = true);
    addEventListener('online', end, { once: true });
    for (this.seconds = seconds; this.seconds > 0 && !isOver; this.seconds--) {
      await new Promise(resume => setTimeout(resume, 1000));
      if (signal.aborted) break;
    }
    removeEventListener('online', end);
    return !signal.aborted;
  }
}
