"""Find duplicates, near-duplicates and training pairs that occur in validation or test sets.

All passes work out of core, and results do not depend on the number of processes. Memory use:

- decisions on pairs are memory-mapped, one byte per pair, and links of near-duplicates, 8 bytes per pair, sparsely;
- keys are read in parts of at least 1/256 of the corpus, otherwise about a million keys: from 250 million pairs on, a
  pass takes about half a byte per pair in each process;
- held-out sets and their keys are in memory.
"""
