"""Recognise an answer that declines to answer, in three languages, by the sentence that says so."""

from __future__ import annotations

import re

_EN = (
    r"\b(?:I|we)\s(?:am|are|'m)?\s?"
    r"(?:cannot|can't|can not|could not|couldn't|do not|don't|not able|unable)\s?(?:to)?\s?"
    r"(?:answer|provide|find|determine|say|give|tell|confirm|know|locate|have)"
    r"|^\W*(?:unable|not able|(?:it is )?(?:not possible|impossible)) to "
    r"(?:answer|provide|find|determine|say|give|tell|confirm|locate)\b"
    r"|\b(?:I'm|I am) (?:sorry|afraid|unable|not able)\b"
    r"|\b(?:passages?|documents?|sources?|context|materials?|letters?|opinions?|corpus|excerpts?|texts?)"
    r"(?:\s\w+){0,4}?\s(?:do|does|did)(?:\snot|n't)\s(?:\w+\s){0,2}?(?:contain|address|answer|cover|"
    r"mention|say|state|include|provide|discuss|deal|settle|resolve|speak|support|give|tell|decide)"
    r"|\b(?:no|none of the|nothing in the|neither of the)\s(?:\w+\s){0,4}?(?:passages?|documents?|"
    r"sources?|materials?|letters?|opinions?|context|excerpts?)\b"
    r"(?:\s\w+){0,4}?\s(?:address|answer|cover|deal|discuss|mention|say|contain|settle|provide)"
    r"|\bcannot be (?:answered|determined|given)\b|\binsufficient (?:information|basis|material)\b"
    r"|\bnot (?:enough|sufficient) (?:information|material|basis)\b"
    r"|\boutside (?:the|of) (?:scope|these|the)\b.{0,40}\b(?:passages?|sources?|documents?|corpus)"
    r"|\bthere is no (?:information|answer|basis|material)\b"
)
_FI = (
    r"\b(?:en|emme)\s(?:voi|pysty|osaa|kykene)(?:\s\w+){0,3}\s?"
    r"(?:vasta|sano|anta|vahvist|tode|otta)"
    r"|\b(?:en|emme)\s(?:\w+\s){0,2}?löy(?:dä|tän)"
    r"|(?:\bei\s(?:voida|pystytä|ole mahdollista)|(?:^\W*|\b(?:kysymyk|aineisto|lähte|katkelm"
    r"|asiakirj|tähän|siihen|asiaan|perusteella|pohjalta)\w*\s(?:\w+\s){0,2}?)ei\svoi)(?:\s\w+){0,3}\s"
    r"(?:vasta(?!ta\s\w+st[aä]\b)|sano|anta|ratkais|päätell|tode|selvit|johta)"
    r"|\b(?:aineisto|lähte|katkelm|kohd|asiakirj|säännöks|teksti|materiaali|haku|pykäl)\w*"
    r"(?:\s\w+){0,5}?\s(?:ei|eivät)\s(?:\w+\s){0,2}?(?:sisäl|vasta|käsittel|mainit|kerro|anna|sano|säädä"
    r"|ilme|ole|sääde|koske|ota|ratkais|löydy)"
    r"|\b(?:ei|eivät)\s(?:\w+\s){0,4}?(?:löydy|ilmene|sisälly|selviä|ole)\s(?:\w+\s){0,4}?"
    r"(?:vastaus|aineisto|lähte|katkelm|tieto|säännös|tukea)"
    r"|\bvastausta\sei\b|\bkysymykseen\sei\b|\bei\sole\s(?:riittäv|tarpeeksi)"
)
_HE = (
    r"(?:לא ניתן|אין באפשרותי|אין אפשרות|איני יכול\w*|אינני יכול\w*"
    r"|לא אוכל|אין לי אפשרות|אין ביכולתי)\s"
    r"(?:\S+\s){0,3}?(?:להשיב|לענות|לקבוע|למסור|לתת|לומר|לאשר|להסיק|לדעת)"
    r"|(?:ב?ה?מקורות|ב?ה?קטעים|ב?ה?מסמכים|ב?ה?חומר\w*|ב?ה?מאגר|ב?ה?טקסט\w*|ב?ה?סעיפים|ב?ה?הוראות)"
    r"(?:\s\S+){0,5}?\s(?:אינם|אינן|אין|לא|אינו|איננו|אינה)\s"
    r"(?:\S+\s){0,2}?(?:כולל\w*|עונ\w*|עוסק\w*|מתייחס\w*|מכיל\w*|נמצא\w*|מזכיר\w*|מצוי\w*|מצאתי|נותנ\w*"
    r"|משיב\w*|מסדיר\w*|תשובה|מענה|התייחסות|מידע|הוראה|די)"
    r"|אין (?:ב|ל)(?:מקורות|קטעים|מסמכים|חומר|מאגר|טקסט|הוראות|סעיפים)\S*"
    r"|(?:לא נמצאה|לא מצאתי|אין|לא נמצא)\s(?:\S+\s){0,3}?(?:תשובה|מענה|התייחסות|מידע מספיק|בסיס)"
)
_REFUSAL = re.compile(f"{_EN}|{_FI}|{_HE}", re.IGNORECASE)
_FIRST = 2  # sentences in which an answer that refuses says so


def refusal_in(sentences: list[str], *, cites: bool) -> str:
    """The sentence by which an answer refuses; empty where it answers. One that cites sources says
    so at its start, or is an answer with a reservation."""
    looked_at = sentences[:_FIRST] if cites else sentences
    return next((one.strip() for one in looked_at if _REFUSAL.search(one[:600])), "")
