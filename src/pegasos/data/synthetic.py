"""News-like text data with the shape of RCV1, CCAT against the rest.

A world is drawn from the seed alone. A topic is a list of words, the most telling first, and
belongs to one class. A story is a text with two topics, labelled by the first. A document takes
over the plan of a story (its topics, their shares, its length) and, if it retells the story, most
of its words. Archives of news are full of such near-copies, some of them with the other label;
without them the data would be several times easier to optimise over than real news.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]


class Zipf(NamedTuple):
    """Ranks r = 0, 1, ... with probabilities proportional to about (shift + r)^-exponent."""

    shift: float
    exponent: float  # not 1

    def draw(self, rng: np.random.Generator, count: int, size: int | tuple[int, int]) -> Ints:
        """Ranks below ``count``: the law's continuous form, inverted and rounded down."""
        power = 1 - self.exponent
        first, last = self.shift**power, (self.shift + count) ** power
        ranks: Floats = (first + (last - first) * rng.random(size)) ** (1 / power) - self.shift
        return np.minimum(ranks.astype(np.int32), count - 1)


# Calibrated to a subset of RCV1; benchmarks/calibrate_news.py shows how closely.
VOCABULARY = Zipf(200, 1.65)  # how often each word of the language is used
TOPIC = Zipf(12, 2.2)  # how often a text on a topic uses each of the topic's words
TOPIC_SIZE = 1_000  # words in a topic
CLASS_SHARE = 0.3  # share of a topic's words that come from a list common to its class
TOPICS = 500  # number of topics, half of them of each class
TOPIC_POPULARITY = Zipf(3.5, 1.2)  # how often each topic of a class is written about
POSITIVE_SHARE = 0.45  # share of first topics that are of the positive class
TOPICAL = (0.15, 0.85)  # share of a text's words that come from its topics: lowest, highest
DIGRESSION = 0.55  # highest share of those that come from the second topic
LOG_LENGTH = (4.65, 0.72)  # mean and deviation of the logarithm of the words in a text
MIN_LENGTH = 8  # words in the shortest text
REPETITION = 0.3  # share of words that repeat another one of the text
STORIES = 20_000  # number of stories
STORY_POPULARITY = Zipf(100, 0.95)  # how often each story is taken up
RETOLD = 0.5  # share of documents that retell their story
FIDELITY = 5  # a retelling keeps 1 - u^FIDELITY of the words, u uniform in [0, 1)
MISLABELLED = 0.01  # share of documents with the wrong label

MIN_FEATURES = 1_000  # with fewer, texts are no longer sparse
BLOCK = 2_048  # documents drawn at once; bounds the memory


class Plans(NamedTuple):
    """What a text is about, before its words are chosen: one entry per text."""

    length: Ints
    topic: Ints  # even topics are positive
    second: Ints
    topical: Floats  # share of words from either topic
    digression: Floats  # share of words from the second topic

    @property
    def start(self) -> Ints:
        """Where each text begins when their words are laid end to end."""
        return np.cumsum(self.length) - self.length

    def take(self, texts: Ints) -> Plans:
        """The plans of some of the texts."""
        return Plans._make(column[texts] for column in self)


class World(NamedTuple):
    """What all documents of a seed have in common."""

    vocabulary: Ints  # the column of each word, the most frequent word first
    topics: Ints  # (TOPICS, TOPIC_SIZE) columns
    stories: Plans
    story_words: Ints  # columns, the stories end to end
    idf: Floats  # the weight of each column


def make_news(
    n_rows: int = 100_000, n_features: int = 47_236, *, seed: int = 0
) -> tuple[csr_array, NDArray[np.int8]]:
    """Draw documents as unit rows of tf-idf weights, and their labels in {-1, +1}.

    Rows are independent and identically distributed given the seed, and do not depend on
    ``n_rows``: the rows of a smaller data set are the first rows of a larger one. About 45% are
    positive. With the default ``n_features`` a row has about 77 non-zeros.

    Returns X, CSR of float32 with sorted int32 indices, and y, int8.
    """
    if n_rows < 1:
        raise ValueError(f"n_rows must be at least 1, got {n_rows}")
    if n_features < MIN_FEATURES:
        raise ValueError(f"n_features must be at least {MIN_FEATURES}, got {n_features}")
    if seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}")
    starts = range(0, n_rows, BLOCK)
    for_world, *for_blocks = np.random.SeedSequence(seed).spawn(1 + len(starts))
    world = _world(np.random.default_rng(for_world), n_features)
    blocks = [
        _documents(np.random.default_rng(for_block), world, min(BLOCK, n_rows - start))
        for start, for_block in zip(starts, for_blocks, strict=True)
    ]
    values, columns, sizes, labels = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    index = np.int32 if values.size <= np.iinfo(np.int32).max else np.int64
    indptr = np.concatenate(([0], np.cumsum(sizes))).astype(index)
    return csr_array((values, columns, indptr), shape=(n_rows, n_features)), labels


def _world(rng: np.random.Generator, n_features: int) -> World:
    vocabulary = rng.permutation(n_features).astype(np.int32)
    size = (TOPICS, TOPIC_SIZE)
    of_class = vocabulary[VOCABULARY.draw(rng, n_features, (2, TOPIC_SIZE))]
    common = of_class[np.arange(TOPICS)[:, None] % 2, TOPIC.draw(rng, TOPIC_SIZE, size)]
    own = vocabulary[VOCABULARY.draw(rng, n_features, size)]
    topics = np.where(rng.random(size) < CLASS_SHARE, common, own)

    stories = _plans(rng, STORIES)
    text, words = _write(rng, stories, vocabulary, topics)
    _, columns, _ = _count(text, words, n_features)
    frequency = np.bincount(columns, minlength=n_features)
    idf = np.log1p(STORIES / (1 + frequency))  # positive, so no row is empty
    return World(vocabulary, topics, stories, words, idf)


def _plans(rng: np.random.Generator, count: int) -> Plans:
    first, second = (
        2 * TOPIC_POPULARITY.draw(rng, TOPICS // 2, count) + (rng.random(count) >= POSITIVE_SHARE)
        for _ in range(2)
    )
    length = np.maximum(rng.lognormal(*LOG_LENGTH, count).astype(np.int64), MIN_LENGTH)
    topical = rng.uniform(*TOPICAL, count)
    return Plans(length, first, second, topical, topical * DIGRESSION * rng.random(count) ** 2)


def _write(
    rng: np.random.Generator, plans: Plans, vocabulary: Ints, topics: Ints
) -> tuple[Ints, Ints]:
    """The words of texts end to end: the text each is in, and its column."""
    text = np.repeat(np.arange(plans.length.size), plans.length)
    words = vocabulary[VOCABULARY.draw(rng, vocabulary.size, text.size)]

    source = rng.random(text.size)
    at = np.flatnonzero(source < plans.topical[text])
    of = text[at]
    topic = np.where(source[at] < plans.digression[of], plans.second[of], plans.topic[of])
    words[at] = topics[topic, TOPIC.draw(rng, TOPIC_SIZE, at.size)]

    at = np.flatnonzero(rng.random(text.size) < REPETITION)
    of = text[at]
    # The cube makes the first words of a text, its keywords, come back most often.
    position = (plans.length[of] * rng.random(at.size) ** 3).astype(np.int64)
    words[at] = words[plans.start[of] + position]
    return text, words


def _documents(
    rng: np.random.Generator, world: World, rows: int
) -> tuple[NDArray[np.float32], NDArray[np.int32], Ints, NDArray[np.int8]]:
    """The first ``rows`` documents of a block: values, columns, non-zeros per row, labels."""
    story = STORY_POPULARITY.draw(rng, STORIES, BLOCK)
    plans = world.stories.take(story)
    text, words = _write(rng, plans, world.vocabulary, world.topics)

    retold = rng.random(BLOCK) < RETOLD
    kept = np.where(retold, 1 - rng.random(BLOCK) ** FIDELITY, 0)
    at = np.flatnonzero(rng.random(text.size) < kept[text])
    words[at] = world.story_words[at + (world.stories.start[story] - plans.start)[text[at]]]

    text, columns, counts = _count(text, words, world.idf.size)
    values = (1 + np.log(counts)) * world.idf[columns]
    values /= np.sqrt(np.bincount(text, values * values))[text]
    right = rng.random(BLOCK) >= MISLABELLED
    labels = np.where((plans.topic % 2 == 0) == right, 1, -1).astype(np.int8)
    sizes = np.bincount(text)[:rows]
    stored = sizes.sum()
    return (
        values[:stored].astype(np.float32),
        columns[:stored].astype(np.int32),
        sizes,
        labels[:rows],
    )


def _count(text: Ints, words: Ints, n_features: int) -> tuple[Ints, Ints, Ints]:
    """The distinct words of each text in column order: text, column, number of occurrences."""
    keys = np.sort(text * n_features + words)
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    text, columns = np.divmod(keys[first], n_features)
    return text, columns, np.diff(first, append=keys.size)
