"""Tokenizer that begins every text with one token of its vocabulary, such as the token of a language."""

from collections.abc import Iterable
from pathlib import Path

from dragoman.errors import TokenizerError
from dragoman.text.tokenizers.base import Tokenizer
from dragoman.text.tokenizers.notation import PREFIX_MARK


def language_token_id(tokenizer: Tokenizer, token: str) -> int:
    """Return the id of a language token; a vocabulary without it is a `TokenizerError`."""
    found = tokenizer.token_to_id(token)
    if found == tokenizer.unk_id:
        raise TokenizerError(
            f"the vocabulary has no language token {ascii(token)[:60]}; train the tokenizer with all languages of "
            "the model"
        )
    return found


class PrefixedTokenizer:
    """Another tokenizer, with a token before every text that has tokens. `save` writes the other one."""

    def __init__(self, tokenizer: Tokenizer, prefix: str) -> None:
        self.tokenizer, self.prefix = tokenizer, prefix
        self.prefix_id = language_token_id(tokenizer, prefix)

    @property
    def kind(self) -> str:
        """The kind of the other tokenizer."""
        return self.tokenizer.kind

    @property
    def size(self) -> int:
        """Number of ids, special ones included."""
        return self.tokenizer.size

    @property
    def can_sample(self) -> bool:
        """Whether `sample` can return more than one segmentation."""
        return self.tokenizer.can_sample

    @property
    def pad_id(self) -> int:
        """The id of padding."""
        return self.tokenizer.pad_id

    @property
    def unk_id(self) -> int:
        """The id of unknown tokens."""
        return self.tokenizer.unk_id

    @property
    def bos_id(self) -> int:
        """The id that begins a sentence."""
        return self.tokenizer.bos_id

    @property
    def eos_id(self) -> int:
        """The id that ends a sentence."""
        return self.tokenizer.eos_id

    def tokens(self, text: str) -> list[str]:
        """Split text into tokens; the prefix is `PREFIX_MARK`."""
        tokens = self.tokenizer.tokens(text)
        return [PREFIX_MARK, *tokens] if tokens else tokens

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens, with the prefix and without other special ones."""
        return self._with_prefix(self.tokenizer.encode(text))

    def can_read(self, character: str) -> bool:
        """Whether tokens can represent a character."""
        return self.tokenizer.can_read(character)

    def sample(self, text: str, *, seed: tuple[int, ...], temperature: float) -> list[int]:
        """Return the ids of one possible segmentation, drawn by the seed."""
        return self._with_prefix(self.tokenizer.sample(text, seed=seed, temperature=temperature))

    def _with_prefix(self, ids: list[int]) -> list[int]:
        return [self.prefix_id, *ids] if ids else ids

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of the ids, without the prefix."""
        numbers = list(ids)
        return self.tokenizer.decode(numbers[1:] if numbers[:1] == [self.prefix_id] else numbers)

    def id_to_token(self, token_id: int) -> str:
        """Return the token with this id."""
        return self.tokenizer.id_to_token(token_id)

    def token_to_id(self, token: str) -> int:
        """Return the id of a token, or the unknown id."""
        return self.tokenizer.token_to_id(token)

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes."""
        return self.tokenizer.to_bytes()

    def save(self, folder: Path) -> list[Path]:
        """Write the other tokenizer into the folder and return the files written."""
        return self.tokenizer.save(folder)
