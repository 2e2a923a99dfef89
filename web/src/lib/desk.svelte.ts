// All that the page works on: languages, texts, translations, the word that is looked at.
import { Api } from './api';
import type { Spot } from './attention';
import { asGlossary, storeName, termsFrom, type Term } from './glossary';
import { Job } from './job.svelte';
import { AUTO, choices, fitting, routeOf, sources, targets } from './routes';
import { Trouble } from './trouble';
import type { Ask, ModelFacts, Route, Settings } from './types';
import { session, store } from './ui.svelte';

const PAUSE = 250; // ms without a key before the server is asked
const KEY = 'dragoman.key';
const PAIR = 'dragoman.pair';
const TEXT = 'dragoman.text';

/** A word of one of the translations: 0 is the first column, 1 the second. */
export interface Lit extends Spot {
  column: 0 | 1;
}

export class Desk {
  readonly api = new Api();
  readonly jobs = [new Job(), new Job()] as const;
  settings: Settings | null = $state.raw(null);
  routes: Route[] = $state.raw([]);
  models: ModelFacts[] = $state.raw([]);
  opening: Trouble | null = $state.raw(null);
  isOpen: boolean = $state(false);
  asksKey: boolean = $state(false);
  hasKey: boolean = $state(false);

  text: string = $state(session.read(TEXT) ?? '');
  source: string = $state(AUTO);
  target: string = $state('');
  model: string | null = $state(null);
  isComparing: boolean = $state(false);
  otherModel: string = $state('');
  terms: Term[] = $state([]);

  hovered: Lit | null = $state.raw(null);
  pinned: Lit | null = $state.raw(null);
  sentence: number = $state(0);
  /** Where the terms belong. */
  #pair = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The source language as far as it is known. */
  readonly known: string = $derived.by(() => {
    if (this.source !== AUTO) return this.source;
    const all = sources(this.routes);
    return this.jobs[0].translation?.detected?.language ?? (all.length === 1 ? all[0]! : AUTO);
  });
  /** The text is in the target's language already. */
  readonly isThere: boolean = $derived(this.jobs[0].phase === 'done' && this.jobs[0].translation?.detected?.language === this.target);
  readonly choices: string[] = $derived(choices(this.routes, this.known, this.target));
  readonly lit: Lit | null = $derived(this.hovered ?? this.pinned);
  readonly isTooLong: boolean = $derived(
    this.settings !== null && this.settings.charLimit > 0 && [...this.text].length > this.settings.charLimit,
  );

  /** Ask the server what it can do. */
  async open(): Promise<void> {
    clearTimeout(this.#timer);
    this.api.key = session.read(KEY) ?? '';
    this.hasKey = this.api.key !== '';
    this.opening = null;
    try {
      this.settings = await this.api.settings();
      const { models, routes } = await this.api.models();
      [this.models, this.routes, this.isOpen] = [models, routes, true];
      this.#restorePair();
      this.asksKey = this.settings.keyRequired && !this.hasKey;
      this.ask();
    } catch (error) {
      this.opening = error instanceof Trouble ? error : new Trouble('broken', String(error));
      this.asksKey = this.opening.kind === 'key';
      if (this.opening.wait !== null) this.#timer = setTimeout(() => void this.open(), this.opening.wait * 1000);
    }
  }

  useKey(key: string): void {
    this.api.key = key.trim();
    this.hasKey = this.api.key !== '';
    session.write(KEY, this.api.key);
    this.asksKey = false;
    if (this.isOpen) this.ask();
    else void this.open();
  }

  /** Whoever comes back to the page, or loads it anew, finds the text as it was. */
  keepText(): void {
    session.write(TEXT, this.text);
  }

  /** The text was changed. */
  type(): void {
    this.hovered = this.pinned = null;
    clearTimeout(this.#timer);
    for (const job of this.jobs) job.stop();
    this.#timer = setTimeout(() => this.ask(), PAUSE);
  }

  /** Translate what stands there, now. */
  ask(): void {
    clearTimeout(this.#timer);
    this.hovered = this.pinned = null;
    this.sentence = 0;
    if (!this.text.trim() || this.isTooLong || !this.target) {
      for (const job of this.jobs) job.clear();
      return;
    }
    void this.#run(this.jobs[0], this.model);
    if (this.isComparing && this.otherModel) void this.#run(this.jobs[1], this.otherModel);
    else this.jobs[1].clear();
  }

  async #run(job: Job, model: string | null): Promise<void> {
    await job.run(this.api, { ...this.request(this.text), model });
    if (job.trouble?.kind === 'key') this.asksKey = true;
    if (job.phase === 'done' && this.#fitDetected()) this.ask();
  }

  /** What depends on the language that was detected: whether something did, and the text must be translated anew. */
  #fitDetected(): boolean {
    if (this.#pair === storeName(this.known, this.target)) return false;
    const before = asGlossary(this.terms);
    this.#loadTerms();
    const isOtherModel = this.model !== null && !this.choices.includes(this.model);
    if (isOtherModel) this.model = null;
    this.#fitComparison();
    return isOtherModel || JSON.stringify(before) !== JSON.stringify(asGlossary(this.terms));
  }

  /** A request for some text as the desk stands. */
  request(text: string): Ask {
    return { text, source: this.source, target: this.target, model: this.model, glossary: asGlossary(this.terms) };
  }

  chooseSource(code: string): void {
    this.source = code;
    this.chooseTarget(fitting(this.routes, code, this.target));
  }

  chooseTarget(code: string): void {
    this.target = code;
    this.model = null;
    this.#loadTerms();
    this.#fitComparison();
    store.write(PAIR, JSON.stringify([this.source, this.target]));
    this.ask();
  }

  chooseModel(name: string | null): void {
    this.model = name;
    this.#fitComparison();
    this.ask();
  }

  compare(isOn: boolean): void {
    this.isComparing = isOn;
    this.#fitComparison();
    this.ask();
  }

  get canSwap(): boolean {
    return this.known !== AUTO && routeOf(this.routes, this.target, this.known) !== undefined;
  }

  swap(): void {
    const [source, target] = [this.target, this.known];
    this.text = this.jobs[0].text || this.text;
    this.jobs[0].clear();
    this.source = source;
    this.chooseTarget(target);
  }

  keepTerms(): void {
    if (this.known === AUTO) return;
    store.write(this.#pair, JSON.stringify(this.terms));
    this.type();
  }

  /** Light a word, and with it choose its sentence. */
  light(how: 'hovered' | 'pinned', lit: Lit | null): void {
    this[how] = lit;
    if (lit) this.sentence = lit.sentence;
  }

  #restorePair(): void {
    try {
      const [source, target] = JSON.parse(store.read(PAIR) ?? '[]') as string[];
      if (source === AUTO || sources(this.routes).includes(source ?? '')) this.source = source!;
      this.target = fitting(this.routes, this.source, target ?? '');
    } catch {
      this.target = targets(this.routes, this.source)[0] ?? '';
    }
    this.#loadTerms();
  }

  #loadTerms(): void {
    this.#pair = storeName(this.known, this.target);
    this.terms = this.known === AUTO ? [] : termsFrom(store.read(this.#pair));
  }

  #fitComparison(): void {
    const others = this.choices.filter(name => name !== (this.model ?? this.choices[0]));
    if (!others.includes(this.otherModel)) this.otherModel = others[0] ?? '';
    if (!others.length) this.isComparing = false;
  }
}
