"""Texts in old encodings that nobody names; each has to read as it was written."""
# ruff: noqa: RUF001 - letters of many alphabets are what this is about

from __future__ import annotations

import random

import pytest

from glados.web_fetch.encoding_guess import guess_codec

RUSSIAN = "Вчера вечером мы долго гуляли по городу и говорили о книгах, которые недавно прочитали."
POLISH = "Książka leżała na stole, a ktoś zgasił światło i wyszedł cicho na dwór późnym wieczorem."
JAPANESE = "昨日の夕方、私たちは長い間町を歩きながら、最近読んだ本について話しました。コーヒーを飲みました。"
ENGLISH = "The ferry leaves at noon and comes back before it is dark, and nobody has to wait on the pier. "
TEXTS = [
    ("cp1252", "Les élèves ont préféré attendre près de la fenêtre. Où êtes-vous allés cet été ?"),
    ("cp1252", "Die Bäckerin fragte höflich, ob wir süße Brötchen möchten. Die Straße war groß."),
    ("cp1252", "El niño comió una piña en la montaña. Mañana habrá una reunión; ¿quién traerá el café?"),
    ("cp1252", "As ações não são fáceis; a organização começou às três da manhã com emoção."),
    ("cp1252", "La città è più bella di così perché c’è già la libertà."),
    ("cp1252", "Sjön är djup och på ön växer åtta höga träd."),
    ("cp1252", "På øen går børnene i skole hver dag, også når det regner, for det er hyggeligt og nært."),
    ("cp1252", "Það er gott að búa á Íslandi, þar sem fólk talar íslensku."),
    ("cp1252", ENGLISH * 20 + "It’s “fine” – really… © 2004" + ENGLISH * 20),
    ("cp1252", ENGLISH * 30 + "a café in town"),
    ("cp1250", POLISH),
    ("iso8859-2", POLISH),
    ("cp1250", "Každý večer čteme dětem pohádky, protože je to těší. Město leží u řeky."),
    ("cp1250", "Szép idő volt, és mindenki örült a hosszú őszi szünetnek, ahol sűrű csend fogadott."),
    ("cp1254", "Dün akşam şehirde uzun süre yürüdük. Sonra yağmur başladı, kız kardeşi ışığı söndürdü."),
    ("cp1257", "Vakar vakare ilgai vaikščiojome po miestą ir kalbėjomės apie knygas, kurias neseniai perskaitėme."),
    ("cp1251", RUSSIAN),
    ("koi8-r", RUSSIAN),
    ("iso8859-5", RUSSIAN),
    ("cp866", RUSSIAN),
    ("cp1251", "Учора ввечері ми довго гуляли містом. Її сестра живе в Києві, а їхній дім стоїть біля річки."),
    ("cp1253", "Χθες το βράδυ περπατήσαμε πολλή ώρα στην πόλη και μιλούσαμε για τα βιβλία."),
    ("cp1255", "אתמול בערב הלכנו זמן רב בעיר ודיברנו על הספרים שקראנו לאחרונה."),
    ("cp1256", "مشينا مساء أمس وقتا طويلا في المدينة وتحدثنا عن الكتب التي قرأناها مؤخرا."),
    ("cp874", "เมื่อวานตอนเย็นเราเดินเล่นในเมืองเป็นเวลานานและพูดคุยกันเกี่ยวกับหนังสือ"),
    ("cp932", JAPANESE),
    ("euc-jp", JAPANESE),
    ("iso2022-jp", JAPANESE),
    ("gb18030", "昨天晚上我们在城里走了很久，谈论最近读过的书。后来下起了雨，大家就回家了。"),
    ("big5hkscs", "昨天晚上我們在城裡走了很久，談論最近讀過的書。後來下起了雨，大家就回家了。"),
    ("cp949", "어제 저녁에 우리는 오랫동안 도시를 걸으며 최근에 읽은 책에 대해 이야기했습니다."),
]


@pytest.mark.parametrize(("codec", "text"), TEXTS)
@pytest.mark.parametrize("length", [30, 10_000])
def test_a_text_reads_as_it_was_written(codec: str, text: str, length: int) -> None:
    start = next((n for n, letter in enumerate(text) if ord(letter) > 127), 0)
    page = f"<title>{text[max(0, start - 5) :][:length]}</title>"
    data = page.encode(codec)
    guess = guess_codec(data)
    assert guess is not None
    assert data.decode(guess) == page


def test_gibberish_is_in_no_encoding() -> None:
    assert guess_codec(b"aa\xff\xfe") is None
    assert guess_codec(random.Random(1).randbytes(100_000)) is None
    assert guess_codec(b"plain ASCII") is None
