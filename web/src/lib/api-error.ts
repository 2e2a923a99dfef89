// Errors of requests to the server, in categories that the page has messages for.
import type { ErrorCode } from './types';

export type ApiErrorKind =
  'busy' | 'rate-limit' | 'offline' | 'unauthorized' | 'too-large' | 'unsupported' | 'rejected' | 'server-error';

export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  /** Seconds to wait before a retry; null if a retry does not help. */
  readonly retryAfter: number | null;
  /** What is wrong, by the server; null for errors that it did not report. */
  readonly code: ErrorCode | null;

  constructor(kind: ApiErrorKind, message = '', retryAfter: number | null = null, code: ErrorCode | null = null) {
    super(message);
    this.kind = kind;
    this.retryAfter = retryAfter;
    this.code = code;
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
  return errorFromProblem(response.status, body, response.headers.get('retry-after'));
}

/** The error of a JSON error body, of a response or of an event; `retry_after` in the body is used without a header. */
export function errorFromProblem(status: number | null, body: string, retryAfter: string | null = null): ApiError {
  const problem = parseObject(body);
  const number = (value: unknown) => (typeof value === 'number' ? value : null);
  const seconds = retryAfter ?? number(problem.retry_after)?.toString() ?? null;
  const code = typeof problem.code === 'string' ? (problem.code as ErrorCode) : null;
  return errorFromStatus(status ?? number(problem.status) ?? 500, errorMessage(body), seconds, code);
}

export function errorFromStatus(
  status: number,
  message: string,
  retryAfter: string | null,
  code: ErrorCode | null = null,
): ApiError {
  const kind = KINDS[status] ?? (status < 500 ? 'rejected' : 'server-error');
  const seconds = Number(retryAfter ?? Number.NaN);
  if (Number.isFinite(seconds) && seconds >= 0) {
    return new ApiError(kind, message, Math.min(Math.max(1, Math.ceil(seconds)), MAX_RETRY_AFTER), code);
  }
  return new ApiError(kind, message, kind === 'busy' ? DEFAULT_RETRY_AFTER : null, code);
}

/** The message in a JSON error body; empty if there is none. */
export function errorMessage(body: string): string {
  const { error, detail, title } = parseObject(body);
  for (const each of [error, detail, title]) if (typeof each === 'string' && each) return each;
  return '';
}

/** A JSON object; empty if the text is none. A proxy may respond with an HTML page, which is not worth showing. */
function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
