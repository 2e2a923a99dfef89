// Word-level difference of two translations.

const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}_'’-]+|[^\s\p{L}\p{N}]/gu;
const MAX_WORDS = 1500; // the table of the comparison grows with the square

export interface DiffPart {
  text: string;
  isDifferent: boolean;
}

/** Both texts in parts; a part is different if the other text does not have it at that point. */
export function diffWords(first: string, second: string): [DiffPart[], DiffPart[]] {
  const [firstTokens, secondTokens] = [tokenize(first), tokenize(second)];
  const words = (tokens: Token[]) => tokens.filter(token => token.isWord).map(token => token.text);
  const common = commonSubsequence(words(firstTokens), words(secondTokens));
  return [
    markDifferent(firstTokens, new Set(common.map(([index]) => index))),
    markDifferent(secondTokens, new Set(common.map(([, index]) => index))),
  ];
}

interface Token {
  text: string;
  isWord: boolean;
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let done = 0;
  for (const match of text.matchAll(WORD)) {
    if (match.index > done) tokens.push({ text: text.slice(done, match.index), isWord: false });
    tokens.push({ text: match[0], isWord: true });
    done = match.index + match[0].length;
  }
  if (done < text.length) tokens.push({ text: text.slice(done), isWord: false });
  return tokens;
}

function markDifferent(tokens: readonly Token[], common: ReadonlySet<number>): DiffPart[] {
  const parts: DiffPart[] = [];
  let word = 0;
  for (const token of tokens) {
    const isDifferent = token.isWord && !common.has(word);
    if (token.isWord) word += 1;
    const last = parts.at(-1);
    if (last?.isDifferent === isDifferent) last.text += token.text;
    else parts.push({ text: token.text, isDifferent });
  }
  return parts;
}

/** The longest common subsequence, as pairs of indices. Texts that are too long are treated as equal. */
function commonSubsequence(first: readonly string[], second: readonly string[]): [number, number][] {
  if (first.length > MAX_WORDS || second.length > MAX_WORDS) return first.map((_, index) => [index, index]);
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
  for (let [i, j] = [0, 0]; i < first.length && j < second.length;) {
    if (first[i] === second[j]) pairs.push([i++, j++]);
    else if (table[(i + 1) * width + j]! >= table[i * width + j + 1]!) i++;
    else j++;
  }
  return pairs;
}

/** Whether an offset of a text lies in a different part. */
export function isDifferentAt(parts: readonly DiffPart[], offset: number): boolean {
  let end = 0;
  for (const part of parts) {
    end += part.text.length;
    if (offset < end) return part.isDifferent;
  }
  return false;
}
