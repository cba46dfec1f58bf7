"""In which old encoding a text is written that nobody has named: the one in which it reads most like a language.

Every language has its letters with how likely each is. The bytes are decoded in each encoding of each language, and the
likeliest text wins; it is a guess over a bounded sample, made only where a page says nothing and is no UTF-8.
"""
# ruff: noqa: RUF001 - letters of many alphabets are what this is about

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

SAMPLE = 16_384

_FIRST = re.compile(rb"[\x80-\xff]")
_PLAIN = re.compile("[\x00-\x7f]+")
# A letter of another alphabet in the middle of a Latin word: how text looks in the wrong encoding.
_MIXED = re.compile("[A-Za-z](?=[\u0370-\u1fff])|(?<=[\u0370-\u1fff])[A-Za-z]")

# Bits of surprise, for what the tables below do not say.
_ASCII, _SYMBOL, _CAPITAL, _STRANGE, _BROKEN, _MIXTURE = 4.5, 6.5, 4.0, 12.0, 20.0, 8.0
_IDEOGRAPH = 12.5
# A text whose letters surprise so much on average is in none of the languages.
_GIBBERISH = 8.0
_SYMBOLS = frozenset("\xa0’‘“”„–—…«»°©®™€£§·•¡¿º²½´‚†×±¼¾³¹ª、。，！？：；（）「」《》・ー\u3000％～")


@dataclass(frozen=True, slots=True)
class Language:
    """The encodings of a language, and its letters, most frequent first; `prior` is against it, in bits."""

    codecs: str
    letters: str
    prior: float = 0.0
    share: float = (
        1.0  # of the text that the letters make up; the rest are ideographs and syllables that are not listed
    )


_CENTRAL, _CYRILLIC = "cp1250 iso8859-2", "cp1251 koi8-r iso8859-5 cp866"
_HAN = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家"
    "种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日"
)
_HAN_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家"
    "種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日"
)
_JAPANESE = (
    "のにるたはをとしていがでなれかさっまもすりこくうらきあんそけつえめせよちだどわみやじおばろへべびずぎご"
    "ンースルトリアイクラレロタフシドマコジッテムプメバデサパ日一人年大本中出時事自行社見月分後前生間上者地合"
)
_HANGUL = (
    "이다는에을의가고하은로지를한서도사기대해인아어나리자있그시들정라수게일과보전부제니으마면구것장주상원여오만동경조국비안"
    "까않했습없요우진신실학되내문용명또때위"
)
LANGUAGES = (
    Language("cp1252", "éàèêçâîôùûëïœ"),
    Language("cp1252", "äüößÄÜÖ"),
    Language("cp1252", "óáíéñúüÁÉ"),
    Language("cp1252", "ãçáéíóêâõúàÉ"),
    Language("cp1252", "èàòùìéÈ"),
    Language("cp1252", "äåöÅÄÖé"),
    Language("cp1252", "øåæØÅÆé"),
    Language("cp1252", "áðíþéóæöúýÍÞÁ", 2.0),
    Language(_CENTRAL, "ąęłóśżćńźŁŚŻ", 3.0),
    Language(_CENTRAL, "íáéěřýčžšůúťňďóČŘŠŽ", 3.0),
    Language(_CENTRAL, "áéíýčžšúťľôňďäóĺŕČŠŽ", 3.0),
    Language(_CENTRAL, "éáőöóíüúűÉÁ", 3.0),
    Language(_CENTRAL, "ăîâşţÎŞ", 3.0),
    Language(_CENTRAL, "čšžćđČŠŽ", 3.0),
    Language("cp1254", "ıüşğçöİŞÇÖÜâ", 3.0),
    Language("cp1257", "ėšąžįųūčęŠŽ", 4.0),
    Language("cp1257", "āīēšņļūžčķģĀŠ", 4.0),
    Language(_CYRILLIC, "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"),
    Language("cp1251 koi8-u", "оанивтреіскулдмпязьбгйчхцїжющєфшґ", 1.0),
    Language("cp1253 iso8859-7", "αοιετσνηυρπκμλςήόίάέγδύωχθφώβξζψϊϋ", 1.0),
    Language("cp1255", "יוהלאמרתבשנםדחקפעטגכזסןךצץף", 1.0),
    Language("cp1256", "اليمونرتبدعةسهفكقحأجشصطىخإذضءزثغئظؤآ،؛؟", 1.0),
    Language("cp874", "านรอกเ่งมย้ลวัดีทสติะปบคหแไจพชขใืุู์โ็ำถซณผธศญษภฟฐฉๆ", 1.0),
    Language("cp932 euc-jp", _JAPANESE, 1.0, 0.75),
    Language("gb18030", _HAN, 1.0, 0.42),
    Language("big5hkscs", _HAN_TRADITIONAL, 1.0, 0.42),
    Language("cp949", _HANGUL, 1.0, 0.65),
)


def guess_codec(data: bytes) -> str | None:
    """The likeliest encoding of bytes that are neither ASCII nor UTF-8; None where no encoding fits."""
    first = _FIRST.search(data)
    if first is None:
        return "iso2022-jp" if b"\x1b$" in data[:SAMPLE] else None
    # No character reaches across the first byte that is not ASCII: it always begins one.
    sample = data[max(0, first.start() - 16) :][:SAMPLE]
    texts = {codec: sample.decode(codec, "replace") for language in LANGUAGES for codec in language.codecs.split()}
    readings = {codec: _Reading.of(text) for codec, text in texts.items()}
    surprise, codec = min(
        ((_surprise(readings[codec], language), codec) for language in LANGUAGES for codec in language.codecs.split()),
        key=lambda found: found[0],
    )
    return codec if surprise < math.inf else None


@dataclass(frozen=True, slots=True)
class _Reading:
    """The sample in one encoding: its characters that are not ASCII, how many are, and what cannot be right."""

    letters: Counter[str]
    plain: int
    mixed: int
    broken: int

    @classmethod
    def of(cls, text: str) -> _Reading:
        letters = Counter(_PLAIN.sub("", text))
        return cls(letters, len(text) - letters.total(), len(_MIXED.findall(text)), letters["\ufffd"])


def _surprise(reading: _Reading, language: Language) -> float:
    """How unlikely a text is in a language, in bits; without end where it is gibberish."""
    costs = _costs(language)
    letters = sum(count * (costs.get(letter) or _other_cost(letter)) for letter, count in reading.letters.items())
    letters += language.prior + _MIXTURE * reading.mixed
    number = reading.letters.total()
    if letters > number * (_GIBBERISH if language.share == 1.0 else _IDEOGRAPH) or reading.broken > 1 + number // 200:
        return math.inf
    return letters + _ASCII * reading.plain


@cache
def _costs(language: Language) -> dict[str, float]:
    """How surprising each letter of a language is, in bits."""
    shares = [math.exp(-3.0 * rank / len(language.letters)) for rank in range(len(language.letters))]
    whole = sum(shares) / language.share
    costs = {letter: -math.log2(share / whole) for letter, share in zip(language.letters, shares, strict=True)}
    capitals = {letter.upper(): cost + _CAPITAL for letter, cost in costs.items() if len(letter.upper()) == 1}
    return capitals | costs


def _other_cost(character: str) -> float:
    if character in _SYMBOLS:
        return _SYMBOL
    if "\u3040" <= character <= "\u30ff" or "\u4e00" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7a3":
        return _IDEOGRAPH
    return _BROKEN if character < "\xa0" or "\ue000" <= character <= "\uf8ff" or character == "\ufffd" else _STRANGE
