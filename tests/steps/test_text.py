"""Text: the rows of scikit-learn's vectorizers, also after saving."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from pegasos.data import Data
from pegasos.steps import restore
from pegasos.steps.text import TextStep

TEXTS = [
    "The cat sat on the mat",
    "a dog, a DOG and a cat",
    "Überraschung für Käthe!",
    "",
    "cat 猫 猫 ok",
]
NEW = ["the dog sat", "猫 für", "nothing known here", ""]

TFIDF = [
    {},
    {"sublinear": True},
    {"ngrams": (1, 2)},
    {"analyzer": "char", "ngrams": (2, 4)},
    {"analyzer": "char_wb", "ngrams": (3, 3), "lowercase": False},
    {"min_df": 2},
    {"max_features": 3},
]
CALLED = {"ngrams": "ngram_range", "sublinear": "sublinear_tf"}


@pytest.mark.parametrize("options", TFIDF, ids=str)
def test_tfidf_is_the_peers_also_when_restored(options):
    peer = TfidfVectorizer(**{CALLED.get(name, name): value for name, value in options.items()})
    peer.fit(TEXTS)
    step = TextStep.fit(TEXTS, **options)
    again = restore("text", step.meta(), step.arrays())
    assert again.vocabulary == step.vocabulary == tuple(peer.get_feature_names_out())
    for texts in (TEXTS, NEW):
        expected = peer.transform(texts)
        expected.sort_indices()
        for one in (step, again):
            found = one.apply(Data(None, np.ones(len(texts)), text=texts))
            assert found.text is None
            assert found.feature_names == step.vocabulary
            assert found.X.has_sorted_indices
            assert found.X.shape == expected.shape
            assert found.X.data.tobytes() == expected.data.tobytes()
            np.testing.assert_array_equal(found.X.indices, expected.indices)
            np.testing.assert_array_equal(found.X.indptr, expected.indptr)


@pytest.mark.parametrize("options", [{}, {"features": 64, "ngrams": (1, 2)}], ids=str)
def test_hashing_is_the_peers_also_when_restored(options):
    called = {"ngrams": "ngram_range", "features": "n_features"}
    named = {"n_features": 1 << 18} | {called[name]: value for name, value in options.items()}
    expected = HashingVectorizer(**named).transform(NEW)
    step = TextStep.fit(TEXTS, "hashing", **options)
    again = restore("text", step.meta(), step.arrays())
    assert step.arrays() == {}
    for one in (step, again):
        X = one.transform(NEW)
        assert X.shape == (4, options.get("features", 1 << 18))
        assert (expected != X).nnz == 0
        assert X.nnz > 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "word2vec"}, "text must be one of tfidf, hashing"),
        ({"analyzer": "sentence"}, "analyzer must be one of word, char, char_wb"),
        ({"ngrams": (2, 1)}, "ngrams must be"),
        ({"method": "hashing", "sublinear": True}, "hashing would ignore it"),
        ({"method": "hashing", "min_df": 2}, "prune nothing"),
        ({"method": "hashing", "features": 0}, "features must be from 1"),
        ({"features": 10}, "features is for hashing"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        TextStep.fit(TEXTS, **options)


def test_no_words_no_text_no_vocabulary():
    with pytest.raises(ValueError, match="empty vocabulary"):
        TextStep.fit(["", "!"])
    with pytest.raises(ValueError, match="trained on text: name its column"):
        TextStep.fit(TEXTS).apply(Data(np.ones((2, 2))))
    with pytest.raises(ValueError, match="learned no vocabulary"):
        TextStep().transform(["a"])


def changed(arrays, **changes):
    return {name: changes.get(name, array) for name, array in arrays.items()}


STEP = TextStep.fit(["b a", "a c"], analyzer="char")
META, ARRAYS = STEP.meta(), STEP.arrays()


@pytest.mark.parametrize(
    ("meta", "arrays", "message"),
    [
        (META | {"evil": 1}, ARRAYS, "cannot have"),
        ({}, ARRAYS, "cannot have"),
        (META | {"ngrams": 3}, ARRAYS, "ngrams"),
        (META | {"ngrams": [1, 2, 3]}, ARRAYS, "ngrams"),
        (META | {"ngrams": ["1", 2]}, ARRAYS, "ngrams"),
        (META | {"lowercase": 1}, ARRAYS, "must be true or false"),
        (META | {"features": 10}, ARRAYS, "idf of a tfidf step must be 10"),
        (META | {"features": True}, ARRAYS, "features must be"),
        (META | {"method": "hashing"}, ARRAYS, "has no arrays"),
        (META, {}, "has words, starts and idf"),
        (META, changed(ARRAYS, idf=ARRAYS["idf"] * np.nan), "finite"),
        (META, changed(ARRAYS, idf=ARRAYS["idf"].astype(np.float32)), "float64"),
        (META, changed(ARRAYS, words=ARRAYS["words"].astype(np.int64)), "must be bytes"),
        (
            META,
            changed(ARRAYS, words=ARRAYS["words"][:-1]),
            "starts of a tfidf step must be 5 from",
        ),
        (META, changed(ARRAYS, words=ARRAYS["words"] | 128), "not UTF-8"),
        (META, changed(ARRAYS, words=ARRAYS["words"] * 0 + 65), "must be different"),
        (META, changed(ARRAYS, starts=np.array([0, 3, 2, 3, 4])), "must not decrease"),
    ],
)
def test_what_cannot_be_restored_is_named(meta, arrays, message):
    with pytest.raises(ValueError, match=message):
        restore("text", meta, arrays)
