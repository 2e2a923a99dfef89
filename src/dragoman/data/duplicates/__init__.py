"""Pairs that a corpus holds twice, nearly twice, or together with the sets it will be judged by.

All of it works out of core, and nothing depends on the number of processes. What a pass decides about a pair is its
fate (`fates`), one byte in a file. What memory grows by:

- fates are mapped, one byte a pair: the system may put them out of memory at any time;
- keys are read by parts, at least 1/256 of the corpus at once and otherwise about a million: from some 250 million
  pairs on, a pass takes about half a byte a pair in each process;
- near-duplicates have a mapped file of links, 8 bytes a pair, of which only what is written takes room;
- held-out sets and their keys are held whole.

`keys`      hashes of the sides of a chunk's pairs, written beside the chunk
`exact`     keeps the first pair, source or target with the same text
`leakage`   drops training pairs that a validation or test set holds
`held_out`  takes a validation or test set from the training pairs
`fold`      what of a text counts when two are compared
`near`      keeps the first of pairs that are nearly the same
"""

__all__: list[str] = []
