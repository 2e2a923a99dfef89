// @vitest-environment happy-dom
import { describe, expect, it, vi } from 'vitest';
import { AttentionMap, NONE, type AttentionMapData } from './attention-map';
import { textDirection } from './direction';
import { cellAtPoint, columnX, layOutMap } from './layout';
import { coverage, entropyBits } from './statistics';

const DATA: AttentionMapData = {
  title: 'Attention map',
  sourceLabels: ['a', 'long word', '⟨end⟩'],
  targetLabels: ['x', 'y', '⟨end⟩'],
  sourceWordCount: 2,
  targetWordCount: 2,
  weights: [
    [0.9, 0.1, 0],
    [0.25, 0.5, 0.25],
    [0, 0.001, 1],
  ],
  sourceDirection: 'ltr',
  targetDirection: 'ltr',
  hasTotals: true,
};

describe('bars', () => {
  it('have labels in the language of the page', () => {
    const map = new AttentionMap({ label: 'x' });
    map.render({ ...DATA, totalLabels: { entropy: '熵', coverage: '覆盖度' } });
    expect([...map.element.querySelectorAll('.total')].map(each => each.textContent)).toEqual(['覆盖度', '熵']);
    const titles = [...map.element.querySelectorAll('rect title')].map(each => each.textContent.split(' ')[0]);
    expect(new Set(titles)).toEqual(new Set(['熵', '覆盖度']));
  });

  it('have a label each that fits', () => {
    const totalLabels = { entropy: 'a long name of entropy', coverage: 'a long name of coverage' };
    const [plain, labelled] = [layOutMap(DATA, 1200), layOutMap({ ...DATA, totalLabels }, 1200)];
    expect(labelled.labelWidth).toBeGreaterThan(plain.labelWidth);
    expect(labelled.width).toBeGreaterThan(plain.width);
  });
});

describe('statistics', () => {
  it('computes the entropy of normalized weights', () => {
    expect(entropyBits([0.5, 0.5])).toBe(1);
    expect(entropyBits([2, 2, 2, 2])).toBe(2);
    expect([entropyBits([0, 1]), entropyBits([0, 0]), entropyBits([])]).toEqual([0, 0, 0]);
  });

  it('sums a column over the words, without the end', () => {
    expect(coverage(DATA.weights, 0, 2)).toBeCloseTo(1.15);
    expect(coverage(DATA.weights, 2, 2)).toBeCloseTo(0.25);
  });
});

describe('layout', () => {
  it('finds the cell at a point and clamps points outside', () => {
    const layout = layOutMap(DATA, 1200);
    expect(cellAtPoint(layout, 1.5 * layout.cell, layout.top + 2.5 * layout.cell)).toEqual({ row: 2, column: 1 });
    expect(cellAtPoint(layout, -50, 9999)).toEqual({ row: 2, column: 0 });
  });

  it('reverses the columns of a right-to-left source', () => {
    const layout = layOutMap({ ...DATA, sourceDirection: 'rtl' }, 1200);
    expect([0, 1, 2].map(column => columnX(layout, column) / layout.cell)).toEqual([2, 1, 0]);
    expect(cellAtPoint(layout, 1, layout.top + 1)).toEqual({ row: 0, column: 2 });
  });

  it('uses smaller cells for many columns', () => {
    const many = { ...DATA, sourceLabels: Array.from({ length: 31 }, String) };
    expect(layOutMap(many, 1200).cell).toBeLessThan(layOutMap(DATA, 1200).cell);
  });
});

describe('AttentionMap', () => {
  it('draws the visible cells with their weights', () => {
    const map = new AttentionMap({ label: 'Map' });
    map.render(DATA);
    const cells = [...map.element.querySelectorAll<SVGElement>('.cell')];
    const found = cells.map(({ dataset, ...cell }) => [dataset.row, dataset.column, cell]);
    expect(found).toHaveLength(6);
    expect(cells[1]?.getAttribute('fill-opacity')).toBe('0.100');
    expect(map.element.querySelectorAll('.entropy, .coverage')).toHaveLength(6);
    expect(map.element.querySelector('table')).toBeNull();
  });

  it('highlights a row and a column', () => {
    const map = new AttentionMap({ label: 'Map' });
    map.render(DATA);
    map.highlight(1, NONE);
    expect([...map.element.querySelectorAll('text.lit')].map(label => label.textContent)).toEqual(['y']);
    expect([...map.element.querySelectorAll<SVGElement>('.band')].map(band => band.style.display)).toEqual([
      'inline',
      'none',
    ]);
    map.highlight(NONE, NONE);
    expect(map.element.querySelector('.lit')).toBeNull();
  });

  it('reports the label under the pointer', () => {
    const onLabel = vi.fn();
    const map = new AttentionMap({ label: 'Map', onLabel });
    map.render(DATA);
    map.element.querySelectorAll('text.source')[1]?.dispatchEvent(new PointerEvent('pointermove', { bubbles: true }));
    expect(onLabel).toHaveBeenCalledWith('source', 1);
  });

  it('adds a table of the weights for screen readers', () => {
    const map = new AttentionMap({ label: 'Map', formatWeight: weight => `${100 * weight}%` });
    map.render(DATA);
    expect([...map.element.querySelectorAll('tbody tr')].map(row => row.textContent)).toEqual([
      'x90%10%0%',
      'y25%50%25%',
      '⟨end⟩0%0.1%100%',
    ]);
    expect(map.element.querySelector('svg:not(.names)')?.getAttribute('aria-hidden')).toBe('true');
  });
});

it('takes the direction of the first letter', () => {
  expect(['12 שלום', 'abc', '…', 'ذهب abc', '我们'].map(textDirection)).toEqual(['rtl', 'ltr', 'ltr', 'rtl', 'ltr']);
});
