"""The letters of keyboards by row, and which keys are beside each other."""

from __future__ import annotations

from functools import cache

KEYBOARDS = {
    "en": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "fi": ("qwertyuiopå", "asdfghjklöä", "zxcvbnm"),
    "he": ("קראטוןםפ", "שדגכעיחלךף", "זסבהנמצתץ"),
}


@cache
def neighbours(language: str) -> dict[str, str]:
    """The keys beside, above and below each key."""
    rows = enumerate(KEYBOARDS[language])
    places = {key: (row, column) for row, keys in rows for column, key in enumerate(keys)}

    def are_near(first: str, second: str) -> bool:
        (row, column), (other_row, other_column) = places[first], places[second]
        if row == other_row:
            return abs(column - other_column) == 1
        return abs(row - other_row) == 1 and other_column in (column, column - 1)

    return {key: "".join(other for other in places if are_near(key, other)) for key in places}
