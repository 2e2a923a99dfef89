// Writing direction of texts.

export type Direction = 'ltr' | 'rtl';
type Anchor = 'start' | 'middle' | 'end';

const RTL = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** The direction of the first letter, as `dir="auto"` determines it. */
export function textDirection(text: string): Direction {
  const letter = /\p{L}/u.exec(text)?.[0];
  return letter !== undefined && RTL.test(letter) ? 'rtl' : 'ltr';
}

/** SVG attributes that anchor a text at its left (`start`), middle or right (`end`), whatever its direction. */
export function anchorAttributes(anchor: Anchor, direction: Direction): Record<string, string> {
  if (direction === 'ltr') return { 'text-anchor': anchor };
  return { direction, 'text-anchor': { start: 'end', end: 'start', middle: 'middle' }[anchor] };
}
