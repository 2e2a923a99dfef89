// The requests of the page. What goes wrong is a Trouble; what was cancelled an AbortError.
import { EventReader } from './events';
import { messageIn, Trouble, troubleFrom, troubleOf } from './trouble';
import type { Ask, Inspection, ModelFacts, Route, Settings, Translation } from './types';

const OFFLINE_WAIT = 3;

export class Api {
  key = '';

  async settings(): Promise<Settings> {
    return (await this.#ask('frontend/settings', { method: 'GET' })).json();
  }

  async models(): Promise<{ models: ModelFacts[]; routes: Route[] }> {
    return (await this.#ask('v1/models', { method: 'GET' })).json();
  }

  /** Translate, and hand over the text as it comes; the answer has the alignment. */
  async stream(ask: Ask, onText: (delta: string) => void, signal: AbortSignal): Promise<Translation> {
    const body = { ...ask, alignments: true, weights: true, stream: true };
    const answer = await this.#post('v1/translate', body, signal);
    const reader = new EventReader();
    const text = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let translation: Translation | null = null;
    try {
      for (let piece = await text.read(); !piece.done; piece = await text.read()) {
        for (const { event, data } of reader.read(piece.value)) {
          if (event === 'text') onText((JSON.parse(data) as { text: string }).text);
          if (event === 'translation') translation = JSON.parse(data) as Translation;
          if (event === 'error') throw eventTrouble(data);
        }
      }
    } catch (error) {
      throw asTrouble(error);
    }
    if (!translation) throw new Trouble('broken', '');
    return translation;
  }

  /** Translate in one go, with alternatives. */
  async translate(ask: Ask, signal: AbortSignal): Promise<Translation> {
    const answer = await this.#post('v1/translate', { ...ask, alignments: true, weights: true }, signal);
    const { translations } = (await answer.json()) as { translations: Translation[] };
    if (!translations[0]) throw new Trouble('broken', '');
    return translations[0];
  }

  async inspect(ask: Ask & { translation: string }, signal: AbortSignal): Promise<Inspection> {
    const { glossary, alternatives, ...rest } = ask;
    return (await this.#post('v1/inspect', rest, signal)).json();
  }

  /** Translate a document; gives the address of the translated one. */
  async document(file: File, ask: Omit<Ask, 'text'>, signal: AbortSignal): Promise<string> {
    const form = new FormData();
    for (const name of ['source', 'target', 'model'] as const) if (ask[name]) form.append(name, ask[name]);
    if (this.key) form.append('api_key', this.key);
    form.append('file', file);
    const answer = await this.#ask('translate_file', { method: 'POST', body: form, signal });
    return ownAddress(((await answer.json()) as { translatedFileUrl: string }).translatedFileUrl);
  }

  #post(path: string, body: object, signal: AbortSignal): Promise<Response> {
    const headers = { 'Content-Type': 'application/json' };
    return this.#ask(path, { method: 'POST', body: JSON.stringify(body), headers, signal });
  }

  async #ask(path: string, request: RequestInit): Promise<Response> {
    const headers = new Headers(request.headers);
    if (this.key) headers.set('Authorization', `Bearer ${this.key}`);
    let answer: Response;
    try {
      answer = await fetch(path, { ...request, headers, credentials: 'omit' });
    } catch (error) {
      throw asTrouble(error);
    }
    if (!answer.ok) throw await troubleOf(answer);
    return answer;
  }
}

/** The same file as seen from this page: behind a proxy the server may not know by which name and scheme it is asked. */
export function ownAddress(address: string): string {
  const place = address.lastIndexOf('/download_file/');
  return place < 0 ? address : address.slice(place + 1);
}

function eventTrouble(data: string): Trouble {
  const problem = JSON.parse(data) as { status?: number; retry_after?: number };
  return troubleFrom(problem.status ?? 500, messageIn(data), problem.retry_after?.toString() ?? null);
}

/** A connection that cannot be made, or breaks, is a TypeError of fetch. */
function asTrouble(error: unknown): unknown {
  return error instanceof TypeError ? new Trouble('offline', '', OFFLINE_WAIT) : error;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
