import { describe, expect, it } from 'vitest';
import { EventReader } from './events';

describe('EventReader', () => {
  it('gives events however the stream is cut', () => {
    const stream = 'event: text\r\ndata: {"text":"a"}\r\n\r\nevent: text\ndata: {"text":"b"}\n\n: a comment\n\nevent: done\ndata: {}\n\n';
    for (let size = 1; size <= stream.length; size++) {
      const reader = new EventReader();
      const found = [];
      for (let at = 0; at < stream.length; at += size) found.push(...reader.read(stream.slice(at, at + size)));
      expect(found.map(each => each.event)).toEqual(['text', 'text', 'done']);
      expect(found.map(each => each.data)).toEqual(['{"text":"a"}', '{"text":"b"}', '{}']);
    }
  });

  it('joins lines of data, and keeps what is not complete', () => {
    const reader = new EventReader();
    expect(reader.read('data: one\ndata: two\n')).toEqual([]);
    expect(reader.read('\n')).toEqual([{ event: 'message', data: 'one\ntwo' }]);
  });
});
