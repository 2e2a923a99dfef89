// Which words two translations have in common.

const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}_'’-]+|[^\s\p{L}\p{N}]/gu;
const MOST = 1500; // words; the table of a comparison grows with the square

export interface Part {
  text: string;
  isOther: boolean;
}

/** Both texts in parts, those marked that the other one does not have there. */
export function differences(first: string, second: string): [Part[], Part[]] {
  const sides = [pieces(first), pieces(second)] as const;
  const words = sides.map(side => side.filter(each => each.isWord));
  const same = commonest(words[0]!.map(each => each.text), words[1]!.map(each => each.text));
  return [marked(sides[0], new Set(same.map(pair => pair[0]))), marked(sides[1], new Set(same.map(pair => pair[1])))];
}

interface Piece {
  text: string;
  isWord: boolean;
}

function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let done = 0;
  for (const match of text.matchAll(WORD)) {
    if (match.index > done) found.push({ text: text.slice(done, match.index), isWord: false });
    found.push({ text: match[0], isWord: true });
    done = match.index + match[0].length;
  }
  if (done < text.length) found.push({ text: text.slice(done), isWord: false });
  return found;
}

function marked(side: readonly Piece[], common: ReadonlySet<number>): Part[] {
  const parts: Part[] = [];
  let word = 0;
  for (const piece of side) {
    const isOther = piece.isWord && !common.has(word);
    if (piece.isWord) word += 1;
    const last = parts.at(-1);
    if (last && last.isOther === isOther) last.text += piece.text;
    else parts.push({ text: piece.text, isOther });
  }
  return parts;
}

/** The longest common subsequence, as pairs of places. */
function commonest(first: readonly string[], second: readonly string[]): [number, number][] {
  if (first.length > MOST || second.length > MOST) return first.map((_, place) => [place, place]);
  const width = second.length + 1;
  const table = new Uint16Array((first.length + 1) * width);
  for (let i = first.length - 1; i >= 0; i--) {
    for (let j = second.length - 1; j >= 0; j--) {
      table[i * width + j] =
        first[i] === second[j]
          ? table[(i + 1) * width + j + 1]! + 1
          : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
    }
  }
  const pairs: [number, number][] = [];
  for (let [i, j] = [0, 0]; i < first.length && j < second.length; ) {
    if (first[i] === second[j]) pairs.push([i++, j++]);
    else if (table[(i + 1) * width + j]! >= table[i * width + j + 1]!) i++;
    else j++;
  }
  return pairs;
}

/** Whether a place of a text lies in a part that the other one does not have. */
export function isOtherAt(parts: readonly Part[], place: number): boolean {
  let end = 0;
  for (const part of parts) {
    end += part.text.length;
    if (place < end) return part.isOther;
  }
  return false;
}
