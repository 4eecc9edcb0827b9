"""Generated reviews: short English texts, each good or bad, for a start without a download.

A review is of a thing (a hotel, a novel, ...) and has two to eight sentences. A sentence judges a
part of the thing, says it the other way round ("not boring"), or says nothing about quality. Most
judgements agree with the mood, some do not, and some reviews carry the wrong label: so no model
gets all of them right. It is not data about anything.
"""

from __future__ import annotations

import csv
import io

import numpy as np

from pegasos.util.atomic import atomic_write
from pegasos.util.files import AnyPath

AGREES = 0.85  # share of judgements that are of the review's own mood
TURNED = 0.08  # share of judgements that are said by "not" and the opposite
NEUTRAL = 0.3  # share of sentences that judge nothing
MISLABELLED = 0.02  # share of reviews with the wrong label

_PARTS = {
    "hotel": ("room", "breakfast", "staff", "bed", "pool", "view", "lobby", "shower"),
    "novel": ("plot", "ending", "hero", "style", "first chapter", "dialogue", "villain", "pace"),
    "camera": ("lens", "battery", "screen", "autofocus", "menu", "strap", "flash", "grip"),
    "restaurant": ("soup", "waiter", "dessert", "wine list", "music", "bread", "price", "terrace"),
    "film": ("plot", "acting", "music", "ending", "camera work", "cast", "humour", "pace"),
    "bicycle": ("saddle", "gears", "brakes", "frame", "price", "bell", "paint", "weight"),
}
_WORDS = {
    "good": (
        "wonderful", "excellent", "charming", "superb", "delightful", "solid", "lovely", "reliable",
        "clever", "perfect", "pleasant", "impressive", "great", "fine", "fresh", "elegant",
        "generous", "brilliant", "satisfying", "comfortable",
    ),
    "bad": (
        "terrible", "boring", "awful", "disappointing", "clumsy", "noisy", "dull", "broken",
        "stale", "rude", "overpriced", "weak", "dirty", "annoying", "poor", "cheap", "tiresome",
        "useless", "unpleasant", "mediocre",
    ),
}  # fmt: skip
_JUDGEMENTS = (
    "The {part} was {word}.",
    "I found the {part} {word}.",
    "{Word} {part}, if you ask me.",
    "What a {word} {part}!",
    "My friends called the {part} {word}, and I agree.",
    "Even the {part} seemed {word} to us.",
)
_TURNED = (
    "The {part} was not {word}.",
    "Nobody could call the {part} {word}.",
    "I would not say that the {part} was {word}.",
)
_ENDS = {
    "good": ("I will be back.", "Recommended.", "Worth every penny.", "We loved it."),
    "bad": ("Never again.", "Avoid it.", "A waste of money.", "We want a refund."),
}
_NEUTRALS = (
    "We got this {thing} in {month}.",
    "It was a present from my {relative}.",
    "There is a {part}, too.",
    'The advertisement said "a {thing} for everyone".',
    "I read about the {thing} in a magazine.",
    "My {relative} chose the {thing}, not me.",
)
_MONTHS = ("January", "March", "April", "June", "August", "October", "December")
_RELATIVES = ("sister", "uncle", "neighbour", "daughter", "boss", "cousin")
_MOODS = ("bad", "good")


def make_reviews(n_rows: int = 5_000, *, seed: int = 0) -> tuple[list[str], list[str]]:
    """Draw reviews and their moods, "good" or "bad", half of each.

    The reviews of a smaller set are the first ones of a larger one with the same seed.
    """
    if n_rows < 1:
        raise ValueError(f"n_rows must be at least 1, got {n_rows}")
    rng = np.random.default_rng(seed)
    drawn = [_review(rng) for _ in range(n_rows)]
    return [text for text, _ in drawn], [mood for _, mood in drawn]


def write_reviews(
    path: AnyPath, n_rows: int = 5_000, *, seed: int = 0, overwrite: bool = True
) -> None:
    """The same as a CSV file with the columns ``mood`` and ``review``."""
    texts, moods = make_reviews(n_rows, seed=seed)
    buffer = io.StringIO(newline="")
    rows = csv.writer(buffer, lineterminator="\n")
    rows.writerow(("mood", "review"))
    rows.writerows(zip(moods, texts, strict=True))
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(buffer.getvalue().encode())


def _review(rng: np.random.Generator) -> tuple[str, str]:
    mood = _pick(rng, _MOODS)
    thing = _pick(rng, tuple(_PARTS))
    sentences = [_sentence(rng, thing, mood) for _ in range(rng.integers(2, 8))]
    if rng.random() < 0.3:
        sentences.append(_pick(rng, _ENDS[_leaning(rng, mood)]))
    label = mood if rng.random() >= MISLABELLED else _other(mood)
    return " ".join(sentences), label


def _sentence(rng: np.random.Generator, thing: str, mood: str) -> str:
    part = _pick(rng, _PARTS[thing])
    if rng.random() < NEUTRAL:
        month, relative = _pick(rng, _MONTHS), _pick(rng, _RELATIVES)
        return _pick(rng, _NEUTRALS).format(thing=thing, part=part, month=month, relative=relative)
    meant = _leaning(rng, mood)
    turned = rng.random() < TURNED
    word = _pick(rng, _WORDS[_other(meant) if turned else meant])
    frame = _pick(rng, _TURNED if turned else _JUDGEMENTS)
    return frame.format(part=part, word=word, Word=word.capitalize())


def _leaning(rng: np.random.Generator, mood: str) -> str:
    return mood if rng.random() < AGREES else _other(mood)


def _other(mood: str) -> str:
    return _MOODS[1 - _MOODS.index(mood)]


def _pick(rng: np.random.Generator, among: tuple[str, ...]) -> str:
    return among[rng.integers(len(among))]
