"""Prepare training data in cached stages: clean, split and deduplicate, train tokenizers, write shards.

::

    clean      each corpus: read, repair, normalize, filter          (a folder of chunks)
    select     all corpora: held-out pairs, leaks, duplicates        (one byte per pair: the decision)
    tokenizer  trained on a sample of the kept pairs
    shards     tokens of the kept pairs in memory-mapped files       (and a manifest)

Each stage writes to a folder named after a hash of everything its content depends on. A second run computes only what
changed, and after an interruption only what is missing.

Nothing is imported here: training reads `prepared_data` without the packages that preparation needs.
"""
