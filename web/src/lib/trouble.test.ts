import { describe, expect, it } from 'vitest';
import { messageIn, troubleFrom } from './trouble';

describe('trouble', () => {
  it('says when to ask again', () => {
    expect(troubleFrom(503, '', '7')).toMatchObject({ kind: 'busy', wait: 7 });
    expect(troubleFrom(503, '', null)).toMatchObject({ kind: 'busy', wait: 2 });
    expect(troubleFrom(503, '', '0.2').wait).toBe(1);
    expect(troubleFrom(429, '', 'Wed, 21 Oct 2026 07:28:00 GMT').wait).toBeNull();
    expect(troubleFrom(429, '', '99999').wait).toBe(60);
    expect([400, 403, 413, 500, 501].map(status => troubleFrom(status, '', null).kind)).toEqual(['refused', 'key', 'large', 'broken', 'closed']);
  });

  it('finds the words of an error', () => {
    expect(messageIn('{"error": "q must be text", "title": "Bad Request"}')).toBe('q must be text');
    expect(messageIn('{"title": "Bad Request"}')).toBe('Bad Request');
    expect(messageIn('<html>502 Bad Gateway</html>')).toBe('');
  });
});
