// Summaries of attention weights, [target words][source words].

export type Weights = readonly ArrayLike<number>[];

/** Entropy in bits of one row, normalized to sum to 1; 0 for a row of zeros. */
export function entropyBits(row: ArrayLike<number>): number {
  const weights = Array.from(row);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (!sum) return 0;
  const bits = weights.reduce((total, weight) => total - (weight ? (weight / sum) * Math.log2(weight / sum) : 0), 0);
  return Math.max(0, bits);
}

/** Sum of a column over the first `rows` rows: the total attention that a source word received. */
export function coverage(weights: Weights, column: number, rows: number): number {
  return weights.slice(0, rows).reduce((sum, row) => sum + (row[column] ?? 0), 0);
}
