// Errors of requests to the server, in categories that the page has messages for.

export type ApiErrorKind =
  'busy' | 'rate-limit' | 'offline' | 'unauthorized' | 'too-large' | 'unsupported' | 'rejected' | 'server-error';

export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  /** Seconds to wait before a retry; null if a retry does not help. */
  readonly retryAfter: number | null;

  constructor(kind: ApiErrorKind, message = '', retryAfter: number | null = null) {
    super(message);
    this.kind = kind;
    this.retryAfter = retryAfter;
  }

  /** Any thrown value as an ApiError. */
  static from(error: unknown): ApiError {
    return error instanceof ApiError ? error : new ApiError('server-error', String(error));
  }
}

const KINDS: Record<number, ApiErrorKind> = {
  401: 'unauthorized',
  403: 'unauthorized',
  413: 'too-large',
  429: 'rate-limit',
  501: 'unsupported',
  503: 'busy',
};
const MAX_RETRY_AFTER = 60;
const DEFAULT_RETRY_AFTER = 2; // for a busy server that does not send Retry-After

/** The error of a response with a status of 400 or more. */
export async function errorFromResponse(response: Response): Promise<ApiError> {
  const body = await response.text().catch(() => '');
  return errorFromStatus(response.status, errorMessage(body), response.headers.get('retry-after'));
}

export function errorFromStatus(status: number, message: string, retryAfter: string | null): ApiError {
  const kind = KINDS[status] ?? (status < 500 ? 'rejected' : 'server-error');
  const seconds = Number(retryAfter ?? Number.NaN);
  if (Number.isFinite(seconds) && seconds >= 0) {
    return new ApiError(kind, message, Math.min(Math.max(1, Math.ceil(seconds)), MAX_RETRY_AFTER));
  }
  return new ApiError(kind, message, kind === 'busy' ? DEFAULT_RETRY_AFTER : null);
}

/** The message in a JSON error body; empty if there is none. */
export function errorMessage(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null) {
      const { error, detail, title } = value as Record<string, unknown>;
      for (const each of [error, detail, title]) if (typeof each === 'string' && each) return each;
    }
  } catch {
    // Not JSON: a proxy may respond with an HTML page, which is not worth showing.
  }
  return '';
}
