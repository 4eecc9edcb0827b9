"""LaTeX to MathML, which browsers draw by themselves, and the font that they draw it with.

Without a font made for mathematics brackets do not grow, so one goes with the pages: STIX Two Math
(SIL Open Font License), the characters that formulas use.
"""

from __future__ import annotations

import io
import re
from html import unescape
from importlib.resources import files

from fontTools import subset
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert

FONT = "fonts/math.woff"
_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
_CHARACTERS = (
    range(0x20, 0x7F),
    range(0xA0, 0x100),
    range(0x391, 0x3CA),  # Greek
    (0x2026, 0x2032, 0x210E),
    range(0x2190, 0x2195),  # arrows
    range(0x2200, 0x2300),  # operators
    range(0x1D434, 0x1D468),  # what browsers make of single letters
    range(0x1D6E2, 0x1D71C),
)


def with_mathml(page: str) -> str:
    """The page's HTML, formulas of arithmatex replaced."""
    return _FORMULA.sub(_mathml, page)


def _mathml(match: re.Match[str]) -> str:
    latex = unescape(match["latex"])
    if match["tag"] == "span":
        return convert(latex)
    # Bounds go below the sign, inside of brackets, too.
    latex = re.sub(r"\\sum_", r"\\sum\\limits_", latex)
    return f'<div class="formula">{convert(latex, display="block")}</div>'


def font() -> bytes:
    """The font as WOFF."""
    source = files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"
    loaded = TTFont(io.BytesIO(source.read_bytes()))
    options = subset.Options(layout_features=["ssty"], notdef_outline=True, name_IDs=[0, 1, 2, 13])
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[code for some in _CHARACTERS for code in some])
    subsetter.subset(loaded)
    loaded.flavor = "woff"
    out = io.BytesIO()
    loaded.save(out)
    return out.getvalue()
