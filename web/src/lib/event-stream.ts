// Parser for server-sent events in the body of a POST response, which EventSource cannot read.

export interface ServerEvent {
  event: string;
  data: string;
}

/** Takes chunks of a stream as they arrive and returns the events that are complete. */
export class EventStreamParser {
  #rest = '';

  push(chunk: string): ServerEvent[] {
    const received = this.#rest + chunk;
    // A line may end in \r\n, split between two chunks: a trailing \r is kept for the next one.
    const text = received.endsWith('\r') ? received.slice(0, -1) : received;
    const blocks = text.replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = (blocks.pop() ?? '') + received.slice(text.length);
    return blocks.map(parseEvent).filter(event => event !== null);
  }
}

function parseEvent(block: string): ServerEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'event') event = value ?? '';
    if (name === 'data') data.push(value ?? '');
  }
  return data.length ? { event, data: data.join('\n') } : null;
}
