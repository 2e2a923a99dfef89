// Requests to the server. A failed request throws an ApiError; a cancelled one throws an AbortError.
import { distinctContinuations } from './caret';
import { ApiError, errorFromProblem, errorFromResponse } from './api-error';
import { EventStreamParser } from './event-stream';
import type {
  Correction,
  CorrectionRequest,
  Effort,
  InspectionResult,
  ModelList,
  ServerSettings,
  TranslateRequest,
  Translation,
} from './types';

const OFFLINE_RETRY = 3; // seconds
const CONTINUATIONS = 5;

export class Api {
  key = '';

  async settings(): Promise<ServerSettings> {
    return (await (await this.#fetch('frontend/settings', { method: 'GET' })).json()) as ServerSettings;
  }

  async models(): Promise<ModelList> {
    return (await (await this.#fetch('v1/models', { method: 'GET' })).json()) as ModelList;
  }

  /** Translate and report the text as it arrives; the result has the alignment. */
  async stream(request: TranslateRequest, onText: (delta: string) => void, signal: AbortSignal): Promise<Translation> {
    const body = { ...request, alignments: true, weights: true, stream: true };
    const response = await this.#post('v1/translate', body, signal);
    const parser = new EventStreamParser();
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let translation: Translation | null = null;
    try {
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
        for (const { event, data } of parser.push(chunk.value)) {
          if (event === 'text') onText((JSON.parse(data) as { text: string }).text);
          if (event === 'translation') translation = JSON.parse(data) as Translation;
          if (event === 'error') throw errorFromProblem(null, data);
        }
      }
    } catch (error) {
      throw offlineError(error);
    }
    if (!translation) throw new ApiError('server-error');
    return translation;
  }

  /** Translate without streaming. */
  async translate(request: TranslateRequest, signal: AbortSignal): Promise<Translation> {
    const response = await this.#post('v1/translate', { ...request, alignments: true, weights: true }, signal);
    const { translations } = (await response.json()) as { translations: Translation[] };
    if (!translations[0]) throw new ApiError('server-error');
    return translations[0];
  }

  /** Translations of a sentence that begin with some words, one for each next word, the best first. */
  async continuations(request: TranslateRequest, prefix: string): Promise<string[]> {
    const body = { ...request, prefix, alternatives: CONTINUATIONS, split: false, flags: false };
    const { translations } = (await (await this.#post('v1/translate', body)).json()) as { translations: Translation[] };
    const texts = translations.flatMap(each => [each.text, ...(each.alternatives ?? []).map(({ text }) => text)]);
    return distinctContinuations(texts, prefix);
  }

  async effort(): Promise<Effort> {
    return (await (await this.#fetch('v1/effort', { method: 'GET' })).json()) as Effort;
  }

  /** Attention of all layers and heads for a source and its translation. */
  async inspect(
    { text, source, target, model }: TranslateRequest,
    translation: string,
    signal: AbortSignal,
  ): Promise<InspectionResult> {
    const response = await this.#post('v1/inspect', { text, source, target, model, translation }, signal);
    return (await response.json()) as InspectionResult;
  }

  /** Translate a document; returns the URL of the translated one. */
  async translateDocument(file: File, request: TranslateRequest, signal: AbortSignal): Promise<string> {
    const form = new FormData();
    for (const name of ['source', 'target', 'model'] as const) if (request[name]) form.append(name, request[name]);
    if (this.key) form.append('api_key', this.key);
    form.append('file', file);
    const response = await this.#fetch('translate_file', { method: 'POST', body: form, signal });
    return relativeDownloadUrl(((await response.json()) as { translatedFileUrl: string }).translatedFileUrl);
  }

  /** Store the right translation of a text in the memory of the server. */
  async correct(correction: CorrectionRequest): Promise<Correction> {
    return (await (await this.#post('v1/corrections', correction)).json()) as Correction;
  }

  #post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
    const headers = { 'Content-Type': 'application/json' };
    return this.#fetch(path, { method: 'POST', body: JSON.stringify(body), headers, signal: signal ?? null });
  }

  async #fetch(path: string, request: RequestInit): Promise<Response> {
    const headers = new Headers(request.headers);
    if (this.key) headers.set('Authorization', `Bearer ${this.key}`);
    let response: Response;
    try {
      response = await fetch(path, { ...request, headers, credentials: 'omit' });
    } catch (error) {
      throw offlineError(error);
    }
    if (!response.ok) throw await errorFromResponse(response);
    return response;
  }
}

/** Make a download URL relative to the page: behind a proxy, the host and scheme that the server reports may be wrong. */
export function relativeDownloadUrl(url: string): string {
  const start = url.lastIndexOf('/download_file/');
  return start < 0 ? url : url.slice(start + 1);
}

/** fetch throws a TypeError if it cannot connect or the connection breaks. */
function offlineError(error: unknown): unknown {
  return error instanceof TypeError ? new ApiError('offline', '', OFFLINE_RETRY) : error;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
