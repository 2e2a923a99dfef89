// Width of label texts in pixels.

const FONT = '13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const ESTIMATED_WIDTH = 7.5; // pixels per character, where no canvas is available

let context: CanvasRenderingContext2D | null | undefined;

export function textWidth(text: string): number {
  if (context === undefined) {
    context = document.createElement('canvas').getContext('2d');
    if (context) context.font = FONT;
  }
  return context ? context.measureText(text).width : ESTIMATED_WIDTH * [...text].length;
}

/** Shorten a text to a width in pixels, ending in an ellipsis; at least one character remains. */
export function truncate(text: string, maxWidth: number): string {
  if (textWidth(text) <= maxWidth) return text;
  const characters = [...text];
  while (characters.length > 1 && textWidth(`${characters.join('')}…`) > maxWidth) characters.pop();
  return `${characters.join('')}…`;
}

/** Width in pixels of the widest text; at least `minimum`. */
export function widest(texts: readonly string[], minimum = 0): number {
  return texts.reduce((width, text) => Math.max(width, textWidth(text)), minimum);
}
