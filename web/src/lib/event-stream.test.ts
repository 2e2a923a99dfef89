import { describe, expect, it } from 'vitest';
import { EventStreamParser } from './event-stream';

describe('EventStreamParser', () => {
  it('returns the same events for any chunk size', () => {
    const stream =
      'event: text\r\ndata: {"text":"a"}\r\n\r\nevent: text\ndata: {"text":"b"}\n\n: a comment\n\nevent: done\ndata: {}\n\n';
    for (let size = 1; size <= stream.length; size++) {
      const parser = new EventStreamParser();
      const found = [];
      for (let at = 0; at < stream.length; at += size) found.push(...parser.push(stream.slice(at, at + size)));
      expect(found.map(each => each.event)).toEqual(['text', 'text', 'done']);
      expect(found.map(each => each.data)).toEqual(['{"text":"a"}', '{"text":"b"}', '{}']);
    }
  });

  it('joins data lines and keeps incomplete events', () => {
    const parser = new EventStreamParser();
    expect(parser.push('data: one\ndata: two\n')).toEqual([]);
    expect(parser.push('\n')).toEqual([{ event: 'message', data: 'one\ntwo' }]);
  });
});
