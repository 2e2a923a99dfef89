"""Find duplicates, near-duplicates and training pairs that occur in validation or test sets.

All passes work out of core, and results do not depend on the number of processes. A pass stores its decision on each
pair (`decisions`) as one byte in a file. Memory use:

- decisions are memory-mapped, one byte per pair;
- keys are read in parts of at least 1/256 of the corpus, otherwise about a million keys: from 250 million pairs on, a
  pass takes about half a byte per pair in each process;
- near-duplicates use a sparse memory-mapped file of links, 8 bytes per pair;
- held-out sets and their keys are in memory.

`pair_keys`         hashes of the sides of a chunk's pairs, stored next to the chunk
`exact_duplicates`  keep the first pair, source or target with the same text
`leakage`           drop training pairs that a validation or test set contains
`draw_held_out`     take a validation or test set from the training pairs
`text_folding`      fold texts for comparison
`near_duplicates`   keep the first of several similar pairs
"""
