"""Pairs that a corpus holds twice, nearly twice, or together with the sets it will be judged by.

All of it works out of core: memory does not grow with the corpus but for one byte a pair, and nothing depends on the
number of processes. What a pass decides about a pair is its fate (`fates`), one byte in a file.

`keys`      hashes of the sides of a chunk's pairs, written beside the chunk
`exact`     keeps the first pair, source or target with the same text
`leakage`   drops training pairs that a validation or test set holds
`held_out`  takes a validation or test set from the training pairs
`near`      keeps the first of pairs that are nearly the same
"""

__all__: list[str] = []
