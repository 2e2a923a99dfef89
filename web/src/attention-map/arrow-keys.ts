// Keyboard navigation between the words of a sentence.

/** One tab stop for the whole row; the arrow keys move in reading direction. */
export function addArrowKeys(row: HTMLElement): HTMLElement {
  row.addEventListener('keydown', event => {
    const words = [...row.querySelectorAll<HTMLElement>('.word')];
    const place = words.findIndex(word => word === (event.target as Element).closest('.word'));
    const forward = row.dir === 'rtl' ? -1 : 1;
    const steps: Record<string, number> = {
      ArrowLeft: -forward,
      ArrowRight: forward,
      Home: -place,
      End: words.length - 1 - place,
    };
    const step = steps[event.key];
    if (place < 0 || step === undefined) return;
    const next = words[Math.max(0, Math.min(words.length - 1, place + step))];
    for (const word of words) word.tabIndex = word === next ? 0 : -1;
    next?.focus();
    event.preventDefault();
  });
  return row;
}
