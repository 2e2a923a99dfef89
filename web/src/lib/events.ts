// Server-sent events as they come in the body of an answer to a POST, which EventSource cannot read.

export interface ServerEvent {
  event: string;
  data: string;
}

/** Takes pieces of a stream as they arrive, and gives the events that are complete. */
export class EventReader {
  #rest = '';

  read(piece: string): ServerEvent[] {
    const whole = this.#rest + piece;
    // A line may end in \r\n, and the two may come apart: the last \r waits.
    const text = whole.endsWith('\r') ? whole.slice(0, -1) : whole;
    const blocks = text.replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = (blocks.pop() ?? '') + whole.slice(text.length);
    return blocks.map(parseEvent).filter(each => each !== null);
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
