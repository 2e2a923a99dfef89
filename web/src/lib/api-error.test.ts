import { describe, expect, it } from 'vitest';
import { ApiError, errorFromProblem, errorFromStatus, errorMessage } from './api-error';

describe('ApiError', () => {
  it('reads Retry-After in seconds', () => {
    expect(errorFromStatus(503, '', '7')).toMatchObject({ kind: 'busy', retryAfter: 7 });
    expect(errorFromStatus(503, '', null)).toMatchObject({ kind: 'busy', retryAfter: 2 });
    expect(errorFromStatus(503, '', '0.2').retryAfter).toBe(1);
    expect(errorFromStatus(429, '', 'Wed, 21 Oct 2026 07:28:00 GMT').retryAfter).toBeNull();
    expect(errorFromStatus(429, '', '99999').retryAfter).toBe(60);
  });

  it('maps the status to a kind', () => {
    const kinds = [400, 403, 413, 500, 501].map(status => errorFromStatus(status, '', null).kind);
    expect(kinds).toEqual(['rejected', 'unauthorized', 'too-large', 'server-error', 'unsupported']);
  });

  it('reads a problem, of a response or of an event', () => {
    const body = JSON.stringify({ status: 503, error: 'busy', code: 'overloaded', retry_after: 4 });
    expect(errorFromProblem(null, body)).toMatchObject({ kind: 'busy', code: 'overloaded', retryAfter: 4 });
    expect(errorFromProblem(503, body, '9')).toMatchObject({ message: 'busy', retryAfter: 9 });
    expect(errorFromProblem(502, '<html>')).toMatchObject({ kind: 'server-error', code: null, retryAfter: null });
  });

  it('finds the message in a body', () => {
    expect(errorMessage('{"error": "q must be text", "title": "Bad Request"}')).toBe('q must be text');
    expect(errorMessage('{"title": "Bad Request"}')).toBe('Bad Request');
    expect(errorMessage('<html>502 Bad Gateway</html>')).toBe('');
  });

  it('wraps other errors', () => {
    expect(ApiError.from(new RangeError('x'))).toMatchObject({ kind: 'server-error', message: 'RangeError: x' });
  });
});
