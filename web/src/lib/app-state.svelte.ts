// State of the page: languages, text, translations and the highlighted word.
import { Api } from './api';
import { ApiError } from './api-error';
import { glossaryKey, parseTerms, toGlossary, type Term } from './glossary';
import { AUTO, defaultTarget, directModels, findRoute, sourceLanguages, validTarget } from './language-routes';
import { persistentStorage, tabStorage } from './storage';
import { TranslationTask } from './translation-task.svelte';
import type { ModelInfo, Route, ServerSettings, TranslateRequest } from './types';
import type { WordPosition } from './word-links';

const TYPING_PAUSE = 250; // milliseconds without input before a request is sent
const KEY_STORAGE = 'dragoman.key';
const PAIR_STORAGE = 'dragoman.pair';
const TEXT_STORAGE = 'dragoman.text';

/** A word on display. Column 0 is the translation, column 1 the one of the second model. */
export interface DisplayedWord extends WordPosition {
  column: 0 | 1;
}

export class AppState {
  readonly api = new Api();
  readonly tasks = [new TranslationTask(), new TranslationTask()] as const;
  settings: ServerSettings | null = $state.raw(null);
  routes: Route[] = $state.raw([]);
  models: ModelInfo[] = $state.raw([]);
  /** Why the settings of the server could not be loaded. */
  loadError: ApiError | null = $state.raw(null);
  isLoaded: boolean = $state(false);
  needsKey: boolean = $state(false);
  hasKey: boolean = $state(false);

  text: string = $state(tabStorage.read(TEXT_STORAGE) ?? '');
  source: string = $state(AUTO);
  target: string = $state('');
  model: string | null = $state(null);
  isComparing: boolean = $state(false);
  /** The comparison is on, but the current languages have no second model; it resumes with languages that have one. */
  isComparisonPaused: boolean = $state(false);
  secondModel: string = $state('');
  terms: Term[] = $state([]);

  hovered: DisplayedWord | null = $state.raw(null);
  pinned: DisplayedWord | null = $state.raw(null);
  /** Index of the sentence that the details are about. */
  sentence: number = $state(0);
  /** Storage key of `terms`. */
  #termsKey = '';
  /** The user has chosen the target, now or on an earlier visit. */
  #isTargetChosen = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The selected or detected source language; AUTO while it is unknown. */
  readonly sourceLanguage: string = $derived.by(() => {
    if (this.source !== AUTO) return this.source;
    const [first = AUTO, ...others] = sourceLanguages(this.routes);
    return this.tasks[0].translation?.detected?.language ?? (others.length ? AUTO : first);
  });
  /** The text is already in the target language. */
  readonly isInTargetLanguage: boolean = $derived(
    this.tasks[0].phase === 'done' && this.tasks[0].translation?.detected?.language === this.target,
  );
  /** A translation on display has words that can be linked. */
  readonly hasLinks: boolean = $derived(this.tasks.some(task => task.hasLinks));
  /** The pivot language of the selected pair; null for a direct model or an unknown pair. */
  readonly pivot: string | null = $derived(findRoute(this.routes, this.sourceLanguage, this.target)?.via ?? null);
  /** An installed engine can use glossaries, with the selected models or, while these are unknown, with any. */
  readonly canUseGlossary: boolean = $derived(this.#selectedModels().some(model => model.supports_glossary));
  readonly canInspect: boolean = $derived(this.#selectedModels().some(model => model.supports_inspection));
  readonly modelChoices: string[] = $derived(directModels(this.routes, this.sourceLanguage, this.target));
  readonly highlighted: DisplayedWord | null = $derived(this.hovered ?? this.pinned);
  readonly isTooLong: boolean = $derived(
    this.settings !== null && this.settings.charLimit > 0 && [...this.text].length > this.settings.charLimit,
  );

  /** Load the settings and models of the server; retries while it is busy or offline. */
  async load(): Promise<void> {
    clearTimeout(this.#timer);
    this.api.key = tabStorage.read(KEY_STORAGE) ?? '';
    this.hasKey = this.api.key !== '';
    this.loadError = null;
    try {
      this.settings = await this.api.settings();
      const { models, routes } = await this.api.models();
      [this.models, this.routes, this.isLoaded] = [models, routes, true];
      this.#restorePair();
      this.needsKey = this.settings.keyRequired && !this.hasKey;
      this.translate();
    } catch (error) {
      const { kind, retryAfter } = (this.loadError = ApiError.from(error));
      this.needsKey = kind === 'unauthorized';
      if (retryAfter !== null) this.#timer = setTimeout(() => void this.load(), retryAfter * 1000);
    }
  }

  useKey(key: string): void {
    this.api.key = key.trim();
    this.hasKey = this.api.key !== '';
    tabStorage.write(KEY_STORAGE, this.api.key);
    this.needsKey = false;
    if (this.isLoaded) this.translate();
    else void this.load();
  }

  /** Keep the text for a reload or a return to the page. */
  saveText(): void {
    tabStorage.write(TEXT_STORAGE, this.text);
  }

  /** Cancel the translations of the old text and translate the new one after a pause in typing. */
  onInput(): void {
    this.hovered = this.pinned = null;
    clearTimeout(this.#timer);
    for (const task of this.tasks) task.stop();
    this.#timer = setTimeout(() => this.translate(), TYPING_PAUSE);
  }

  /** Translate the text now. */
  translate(): void {
    clearTimeout(this.#timer);
    this.hovered = this.pinned = null;
    this.sentence = 0;
    if (!this.text.trim() || this.isTooLong || !this.target) {
      for (const task of this.tasks) task.clear();
      return;
    }
    void this.#run(this.tasks[0], this.model);
    if (this.isComparing && this.secondModel) void this.#run(this.tasks[1], this.secondModel);
    else this.tasks[1].clear();
  }

  async #run(task: TranslationTask, model: string | null): Promise<void> {
    await task.run(this.api, this.request(this.text, model));
    if (task.error?.kind === 'unauthorized') this.needsKey = true;
    if (task.phase === 'done' && this.#applyDetectedLanguage()) this.translate();
  }

  /** Select the glossary and models of the detected language; returns whether the text must be translated again. */
  #applyDetectedLanguage(): boolean {
    if (this.#preferDirectModel()) return true;
    if (this.#termsKey === glossaryKey(this.sourceLanguage, this.target)) return false;
    const before = toGlossary(this.terms);
    this.#loadTerms();
    const isUnavailable = this.model !== null && !this.modelChoices.includes(this.model);
    if (isUnavailable) this.model = null;
    const resumes = this.#updateSecondModel();
    return resumes || isUnavailable || JSON.stringify(before) !== JSON.stringify(toGlossary(this.terms));
  }

  /**
   * Until the user chooses a target, a text is translated by a model of its own language, not through a pivot and not
   * into itself; returns whether the target has changed.
   */
  #preferDirectModel(): boolean {
    const language = this.sourceLanguage;
    if (this.#isTargetChosen || (this.pivot === null && language !== this.target)) return false;
    const target = defaultTarget(this.routes, language);
    if (!target || target === this.target || findRoute(this.routes, language, target)?.via !== null) return false;
    this.target = target;
    this.#loadTerms();
    this.#updateSecondModel();
    return true;
  }

  /** A request for a text with the current languages, model and glossary. */
  request(text: string, model: string | null = this.model): TranslateRequest {
    const glossary = this.canUseGlossary ? toGlossary(this.terms) : null;
    return { text, source: this.source, target: this.target, model, glossary };
  }

  #selectedModels(): ModelInfo[] {
    const route = findRoute(this.routes, this.sourceLanguage, this.target);
    const names = this.model !== null ? [this.model] : route?.models[0];
    return names ? this.models.filter(model => names.includes(model.name)) : this.models;
  }

  selectSource(code: string): void {
    this.source = code;
    this.selectTarget(validTarget(this.routes, code, this.target));
  }

  selectTarget(code: string): void {
    this.target = code;
    this.#isTargetChosen = true;
    this.model = null;
    this.#loadTerms();
    this.#updateSecondModel();
    persistentStorage.write(PAIR_STORAGE, JSON.stringify([this.source, this.target]));
    this.translate();
  }

  selectModel(name: string | null): void {
    this.model = name;
    this.#updateSecondModel();
    this.translate();
  }

  toggleComparison(): void {
    this.isComparing = !this.isComparing;
    this.isComparisonPaused = false;
    this.#updateSecondModel();
    this.translate();
  }

  /** The swapped pair has a model. */
  get canSwap(): boolean {
    return findRoute(this.routes, this.target, this.sourceLanguage) !== undefined;
  }

  swapLanguages(): void {
    const [source, target] = [this.target, this.sourceLanguage];
    this.text = this.tasks[0].text || this.text;
    this.tasks[0].clear();
    this.source = source;
    this.selectTarget(target);
  }

  saveTerms(): void {
    if (this.sourceLanguage === AUTO) return;
    persistentStorage.write(this.#termsKey, JSON.stringify(this.terms));
    this.onInput();
  }

  /** Highlight a word and select its sentence. */
  highlight(how: 'hovered' | 'pinned', word: DisplayedWord | null): void {
    this[how] = word;
    if (word) this.sentence = word.sentence;
  }

  #restorePair(): void {
    try {
      const [source = '', target = ''] = JSON.parse(persistentStorage.read(PAIR_STORAGE) ?? '[]') as string[];
      if (source === AUTO || sourceLanguages(this.routes).includes(source)) this.source = source;
      this.target = validTarget(this.routes, this.source, target);
      this.#isTargetChosen = this.target === target;
    } catch {
      this.target = defaultTarget(this.routes, this.source);
    }
    this.#loadTerms();
  }

  #loadTerms(): void {
    this.#termsKey = glossaryKey(this.sourceLanguage, this.target);
    this.terms = this.sourceLanguage === AUTO ? [] : parseTerms(persistentStorage.read(this.#termsKey));
  }

  /** Models that can be compared with the selected one. */
  get otherModels(): string[] {
    const selected = this.model ?? this.modelChoices[0];
    return this.modelChoices.filter(name => name !== selected);
  }

  /** Select a second model, and pause or resume the comparison; returns whether it resumes. */
  #updateSecondModel(): boolean {
    const others = this.otherModels;
    if (!others.includes(this.secondModel)) this.secondModel = others[0] ?? '';
    const isWanted = this.isComparing || this.isComparisonPaused;
    const resumes = this.isComparisonPaused && others.length > 0;
    this.isComparing = isWanted && others.length > 0;
    this.isComparisonPaused = isWanted && others.length === 0;
    return resumes;
  }
}
