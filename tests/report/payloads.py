"""Strings that try to become something else than text on a page: fifty of them, of many kinds."""

from dataclasses import replace

import numpy as np
from tests.common.models import random_model

from pegasos.report import Rows, Scored, about_model, make

MARK = "pegasosOwned"  # what a payload that runs would set on the window

PAYLOADS = (
    # elements
    f"<script>window.{MARK}=1</script>",
    f"</script><script>window.{MARK}=2</script>",
    f"<ScRiPt >window.{MARK}=3</sCrIpT\n>",
    f"<script\x0bsrc=data:text/javascript,window.{MARK}=4></script>",
    f"<script type=module>window.{MARK}=5</script>",
    f"<img src=x onerror=window.{MARK}=6>",
    f"<img/src='x'/onerror='window.{MARK}=7'//",
    f"<svg onload=window.{MARK}=8>",
    f"<svg><script>window.{MARK}=9</script></svg>",
    f"</svg><svg/onload=window.{MARK}=10>",
    f"<body onload=window.{MARK}=11>",
    f"<iframe srcdoc='<script>parent.{MARK}=12</script>'></iframe>",
    f"<iframe src=javascript:window.{MARK}=13></iframe>",
    f"<object data=javascript:window.{MARK}=14></object>",
    f"<embed src=javascript:window.{MARK}=15>",
    f"<math><mtext></mtext><mglyph><svg><mtext><style><img onerror=window.{MARK}=16 src>",
    f"<details open ontoggle=window.{MARK}=17>",
    f"<video><source onerror=window.{MARK}=18></video>",
    f"<input autofocus onfocus=window.{MARK}=19>",
    f"<select autofocus onfocus=window.{MARK}=20>",
    f"<marquee onstart=window.{MARK}=21>",
    f"<a href=javascript:window.{MARK}=22>click</a>",
    f"<form action=javascript:window.{MARK}=23><button>go</button></form>",
    f"<template><script>window.{MARK}=24</script></template>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    # out of what the page itself has
    f"</title><script>window.{MARK}=28</script>",
    f"</style><script>window.{MARK}=29</script>",
    f"</textarea></noscript></xmp><script>window.{MARK}=30</script>",
    f"--><script>window.{MARK}=31</script><!--",
    f"--!><img src=x onerror=window.{MARK}=32>",
    f"]]><script>window.{MARK}=33</script><![CDATA[",
    f"<![CDATA[<script>window.{MARK}=34</script>]]>",
    f"<?xml version='1.0'?><script>window.{MARK}=35</script>",
    f"<!DOCTYPE html><script>window.{MARK}=36</script>",
    # out of attributes
    f'" onmouseover="window.{MARK}=37" x="',
    f"' autofocus onfocus='window.{MARK}=38' x='",
    f'"><svg onload=window.{MARK}=39>',
    f"` onerror=`window.{MARK}=40`",
    f"javascript:window.{MARK}=41//",
    f"java\tscript:window.{MARK}=42",
    # out of scripts, styles and templates
    f'";window.{MARK}=43;//',
    f"\u2028window.{MARK}=44\u2029</script>",
    "{{7*7}}{{config}}{% for x in range(9) %}x{% endfor %}${7*7}#{7*7}",
    "}*{display:none}body{background:url(https://evil.example/x)}",
    f"&lt;script&gt;window.{MARK}=47&lt;/script&gt;&#60;img src=x onerror=window.{MARK}=47&#62;",
    # characters
    f"\x00<scr\x00ipt>window.{MARK}=48</scr\x00ipt>",
    f"\ufeff\u202e>tpircs/<49={MARK}.wodniw>tpircs<\u2066\ud800\udfff\ufffe\uffff",
    f"\uff1cscript\uff1ewindow.{MARK}=50\uff1c/script\uff1e +ADw-script+AD4-\x1b[31m\x9b\x85",
)


def page(payload, scheme="ovr"):
    """A page on which every string of others is the payload, or ends with it."""
    model = random_model(scheme, 3, 4, calibrated=scheme != "labels")
    names = [f"{k}{payload}" for k in range(4)]
    model = replace(
        model,
        classes=np.array(names[:3], dtype=object),
        feature_names=tuple(names),
        parameters={"tol": 0.2, payload: payload},
        training={"stop_reason": payload, payload: payload},
        data={"rows": 10, payload: payload},
        path={**model.path, "scoring": payload},
    )
    about = about_model(model, origin=payload, kind=payload, certificate_of=payload)
    X = np.random.default_rng(0).normal(size=(12, 4))
    scored = Scored(about)
    y = (
        np.array(names[:3] * 4, dtype=object)
        if scheme != "labels"
        else np.eye(3)[np.arange(12) % 3]
    )
    probabilities = model.probabilities(X) if scheme != "labels" else None
    scored.add(
        model.scores(X), y, X=X, text=[payload] * 12, probabilities=probabilities,
        label_names=names[:3] if scheme == "labels" else None,
    )  # fmt: skip
    rows = Rows(path=payload, digest=payload, weights=payload, notes=(payload,))
    return make(scored, rows, payload)
