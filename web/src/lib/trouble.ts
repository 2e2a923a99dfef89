// What went wrong with a request, in a form that can be said in the reader's language.

export type Kind = 'busy' | 'rate' | 'offline' | 'key' | 'large' | 'closed' | 'refused' | 'broken';

export class Trouble extends Error {
  readonly kind: Kind;
  /** Seconds after which to ask again, where that may help. */
  readonly wait: number | null;

  constructor(kind: Kind, message: string, wait: number | null = null) {
    super(message);
    this.kind = kind;
    this.wait = wait;
  }
}

const KINDS: Record<number, Kind> = { 401: 'key', 403: 'key', 413: 'large', 429: 'rate', 501: 'closed', 503: 'busy' };
const LONGEST_WAIT = 60;

/** The trouble that an answer with a status of 400 or more stands for. */
export async function troubleOf(answer: Response): Promise<Trouble> {
  const said = await answer.text().catch(() => '');
  return troubleFrom(answer.status, messageIn(said), answer.headers.get('retry-after'));
}

export function troubleFrom(status: number, message: string, retryAfter: string | null): Trouble {
  const kind = KINDS[status] ?? (status < 500 ? 'refused' : 'broken');
  const seconds = Number(retryAfter ?? Number.NaN);
  const asked = Number.isFinite(seconds) && seconds >= 0 ? Math.min(Math.max(1, Math.ceil(seconds)), LONGEST_WAIT) : null;
  return new Trouble(kind, message, asked ?? (kind === 'busy' ? 2 : null));
}

/** The words of an error, without what a program would need of it. */
export function messageIn(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null) {
      const { error, detail, title } = value as Record<string, unknown>;
      for (const each of [error, detail, title]) if (typeof each === 'string' && each) return each;
    }
  } catch {
    // Not JSON: a proxy in between may answer with a page, which is of no use to a reader.
  }
  return '';
}
