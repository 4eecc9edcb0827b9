"""The sources' tables and figures, run again: what was claimed, what we measure, and a verdict.

An experiment is a package of this folder with

    TITLE, SOURCE, QUESTION      words for the page
    Settings                     a frozen dataclass; its defaults are the full run
    measure(settings)            -> (measured, data): numbers that fit JSON, and what they are of
    claims(measured)             -> the claims, each judged by these numbers alone
    tables(measured)             -> tables for the page
    draw(measured, data, figure) -> the picture

so that verdicts, tables and pictures can be made again from a stored ``result.json``.
"""

NAMES = (
    "rupnik_figure_2",
    "rupnik_optimum",
    "rupnik_figure_3",
    "rupnik_figure_4",
    "slides_times",
    "pegasos_rates",
    "sgd_revisited",
    "fashion_pairs",
)
