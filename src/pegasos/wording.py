"""Numbers and names in words, as commands and reports tell them."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from pegasos.certificate import Certificate

# What HTML may not hold and terminals obey (controls, but for tabs and new lines; surrogates,
# noncharacters), and what turns text around.
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
    + "]"
)


def visible(text: str) -> str:
    """The text with an escape such as ``\\x1b`` in place of each character that is not shown."""
    return _UNSHOWN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def worst(certificate: Certificate) -> float:
    """The largest relative gap of all lanes."""
    return float(np.max(certificate.relative_gap))


def in_words(gap: float) -> str:
    """What a relative gap proves."""
    if math.isinf(gap):
        return "nothing is proven about the objective yet"
    if gap > 1:
        return f"the objective is proven to be at most {1 + gap:.3g} times the best possible"
    return f"proven within {percent(gap)} of the best possible objective"


def percent(share: float) -> str:
    """A share with two digits, however small."""
    share = max(share, 0.0)
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.3g}%"


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def seconds(value: float) -> str:
    """A time for people."""
    return f"{value:.2f} s" if value < 100 else f"{value:.0f} s"


def class_name(value: Any) -> str:
    """A class as it is written in files: whole numbers without a point."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
