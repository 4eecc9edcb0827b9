"""Text to numbers: tf-idf over a vocabulary, or hashing without one, as scikit-learn does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pegasos.data.dataset import Data

Method = Literal["tfidf", "hashing"]
METHODS = ("tfidf", "hashing")
ANALYZERS = ("word", "char", "char_wb")

_MOST_HASHED = 1 << 30


@dataclass(frozen=True)
class TextStep:
    """How a text becomes a row; rows have unit length."""

    kind: ClassVar[str] = "text"
    method: Method = "tfidf"
    analyzer: str = "word"  # one of ANALYZERS
    ngrams: tuple[int, int] = (1, 1)  # the shortest and the longest
    lowercase: bool = True
    sublinear: bool = False  # 1 + log(count) instead of the count; tfidf only
    features: int = 1 << 18  # of hashing; of tfidf the size of the vocabulary
    vocabulary: tuple[str, ...] | None = None  # of tfidf
    idf: NDArray[np.float64] | None = None

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        method: str = "tfidf",
        *,
        min_df: int | float = 1,
        max_features: int | None = None,
        **fields: Any,
    ) -> TextStep:
        """Learn the vocabulary and its idf; ``fields`` are those of TextStep.

        ``min_df`` and ``max_features`` prune the vocabulary as scikit-learn's do.
        """
        step = cls(method, **fields)  # type: ignore[arg-type]
        step._check()
        if method == "hashing":
            if min_df != 1 or max_features is not None:
                raise ValueError("hashing has no vocabulary: min_df and max_features prune nothing")
            return step
        if "features" in fields:
            raise ValueError("features is for hashing; max_features bounds a vocabulary")
        vectorizer = step._tfidf(min_df=min_df, max_features=max_features)
        vectorizer.fit(texts)
        words = tuple(vectorizer.get_feature_names_out().tolist())
        return replace(step, features=len(words), vocabulary=words, idf=vectorizer.idf_.copy())

    def apply(self, data: Data) -> Data:
        """Rows in CSR instead of the text."""
        if data.text is None:
            raise ValueError("the model was trained on text: name its column (text=, --text)")
        return replace(data, X=self.transform(data.text), text=None, feature_names=self.vocabulary)

    def transform(self, texts: Sequence[str]) -> Any:
        """Rows in CSR of float64, with sorted indices."""
        X = self._vectorizer.transform(texts)
        X.sort_indices()
        return X

    def meta(self) -> dict[str, Any]:
        """What is saved as JSON."""
        return {
            "method": self.method,
            "analyzer": self.analyzer,
            "ngrams": list(self.ngrams),
            "lowercase": self.lowercase,
            "sublinear": self.sublinear,
            "features": self.features,
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What is saved as arrays: words end to end in UTF-8, where each begins, and idf."""
        if self.vocabulary is None or self.idf is None:
            return {}
        words = [word.encode() for word in self.vocabulary]
        starts = np.cumsum([0, *map(len, words)], dtype=np.int64)
        together = np.frombuffer(b"".join(words), np.uint8)
        return {"words": together, "starts": starts, "idf": self.idf}

    @classmethod
    def restore(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TextStep:
        """From what was saved; ValueError that names what cannot be."""
        if set(meta) != set(cls().meta()):
            raise ValueError(f"a text step cannot have {sorted(meta)}")
        ngrams = meta["ngrams"]
        if not isinstance(ngrams, list | tuple) or len(ngrams) != 2:
            raise ValueError(f"ngrams of a text step must be two numbers, got {ngrams!r}")
        step = cls(**(meta | {"ngrams": tuple(ngrams)}))
        step._check()
        if step.method == "hashing":
            if arrays:
                raise ValueError(f"a hashing step has no arrays, got {sorted(arrays)}")
            return step
        if set(arrays) != {"words", "starts", "idf"}:
            raise ValueError(f"a tfidf step has words, starts and idf, got {sorted(arrays)}")
        idf = arrays["idf"]
        if idf.dtype != np.float64 or idf.shape != (step.features,) or not np.isfinite(idf).all():
            raise ValueError(f"idf of a tfidf step must be {step.features} finite float64")
        return replace(step, vocabulary=_words(arrays, step.features), idf=idf)

    def _check(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"text must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.analyzer not in ANALYZERS:
            raise ValueError(
                f"analyzer must be one of {', '.join(ANALYZERS)}, got {self.analyzer!r}"
            )
        shortest, longest = self.ngrams
        if type(shortest) is not int or type(longest) is not int or not 1 <= shortest <= longest:
            raise ValueError(f"ngrams must be two numbers from 1 up, got {self.ngrams}")
        if type(self.lowercase) is not bool or type(self.sublinear) is not bool:
            raise ValueError("lowercase and sublinear must be true or false")
        if self.sublinear and self.method == "hashing":
            raise ValueError("sublinear is for tfidf: hashing would ignore it")
        if type(self.features) is not int or not 1 <= self.features <= _MOST_HASHED:
            raise ValueError(f"features must be from 1 to {_MOST_HASHED}, got {self.features!r}")

    @cached_property
    def _vectorizer(self) -> Any:
        if self.method == "hashing":
            from sklearn.feature_extraction.text import HashingVectorizer

            return HashingVectorizer(
                analyzer=self.analyzer,
                ngram_range=self.ngrams,
                lowercase=self.lowercase,
                n_features=self.features,
            )
        if self.vocabulary is None:
            raise ValueError("this step has learned no vocabulary: TextStep.fit makes one that has")
        vectorizer = self._tfidf(vocabulary={w: at for at, w in enumerate(self.vocabulary)})
        vectorizer.idf_ = self.idf
        return vectorizer

    def _tfidf(
        self,
        *,
        min_df: int | float = 1,
        max_features: int | None = None,
        vocabulary: dict[str, int] | None = None,
    ) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(
            analyzer=self.analyzer,
            ngram_range=self.ngrams,
            lowercase=self.lowercase,
            sublinear_tf=self.sublinear,
            min_df=min_df,
            max_features=max_features,
            vocabulary=vocabulary,
        )


def _words(arrays: dict[str, NDArray[Any]], count: int) -> tuple[str, ...]:
    words, starts = arrays["words"], arrays["starts"]
    if words.dtype != np.uint8 or words.ndim != 1 or starts.dtype != np.int64:
        raise ValueError("words of a tfidf step must be bytes, and starts int64")
    if starts.shape != (count + 1,) or starts[0] != 0 or starts[-1] != words.size:
        raise ValueError(f"starts of a tfidf step must be {count + 1} from 0 to {words.size}")
    if (np.diff(starts) < 0).any():
        raise ValueError("starts of a tfidf step must not decrease")
    raw, places = words.tobytes(), starts.tolist()
    try:
        found = tuple(raw[lo:hi].decode() for lo, hi in pairwise(places))
    except UnicodeDecodeError as error:
        raise ValueError(f"words of a tfidf step are not UTF-8: {error}") from None
    if len(set(found)) != count:
        raise ValueError("words of a tfidf step must be different")
    return found
