"""From corpora to prepared data, in stages whose results are kept.

::

    clean      each corpus: read, mend, normalise, filter               (a folder of chunks)
    select     all corpora: held-out pairs, leaks, duplicates           (a byte a pair: its fate)
    tokenizer  learnt from a sample of what is left
    shards     pieces of what is left, in files that can be mapped      (and a manifest)

Each stage is a folder named after a hash of all that its content depends on, so running it again does only what
changed, and after an interruption only what is missing.
"""

__all__: list[str] = []
