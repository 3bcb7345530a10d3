"""Common short English words, the likeliest single tokens first: any vocabulary of a few thousand tokens has most of them whole."""

from __future__ import annotations

COMMON: tuple[str, ...] = tuple(
    """
    the of and to in is for on with as by at from or not be this that it if are was you we can all any one two new use has have but no so
    up out now get set time name list file line path text type value key data code test call class form part word read write open close
    start end first last next same other more most only also into over when where which what then than them they there here their how who
    each some such many make made like just back little old work day hand left right long large home state year thing place number point
    side way find give take look know help want need run his her him she man its may will would could should these those my your our me do
    did does done said see seen go went come came good great small high low far near under after before again never always often once both
    few much very still even own off down through while between against during until without because about people life world school house
    night water light sound money food book room door street city town road car tree sun rain wind fire red blue green white black young
    """.split()  # noqa: SIM905 - a page of words reads better than a list of quoted ones
)

SHORTEST: tuple[str, ...] = ("a", "I", "no", "us", "the", "day", "that", "word", "water", "small")
"""For tokenizers that have no whole words: lengths differ, so that their costs do."""
