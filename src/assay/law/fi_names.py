"""Words of the names of Finnish laws, and how they bend."""

from __future__ import annotations

# The last word of a law's name bends; the table says to what base form each ending belongs.
ENDINGS = {
    base: tuple(forms.split())
    for base, forms in {
        "laki": "laki lain lakia laissa laista lakiin lailla lailta laille lakina laiksi",
        "asetus": "asetus asetuksen asetusta asetuksessa asetuksesta asetukseen asetuksella "
        "asetukselle asetukseksi",
        "kaari": "kaari kaaren kaarta kaaressa kaaresta kaareen kaarella",
        "sääntö": "sääntö säännön sääntöä säännössä säännöstä sääntöön",
    }.items()
}
BASE_FORMS = {form: base for base, forms in ENDINGS.items() for form in forms}
POINTERS = {
    **dict.fromkeys(("tämän", "tässä", "tätä", "tämä"), "tämä"),
    **dict.fromkeys(("mainitun", "mainitussa", "mainittu", "saman", "sanotun"), "mainittu"),
    **dict.fromkeys(("sanotussa", "samassa", "kyseisen", "kyseisessä", "ko.", "em."), "mainittu"),
}
# Words that say that a law is not the one in force.
FORMER = {
    **dict.fromkeys(("vanha", "vanhan", "vanhassa", "entinen", "entisen", "entisessä"), "vanha"),
    **dict.fromkeys(("kumottu", "kumotun", "kumotussa", "aiemman", "aiemmassa"), "vanha"),
    **dict.fromkeys(("aikaisemman", "aikaisemmassa", "edellisen"), "vanha"),
}
# Words that make of a law another one: a country's, a province's, that of certain sectors.
OTHER = (
    "ahvenanmaan ruotsin norjan tanskan islannin viron latvian liettuan saksan ranskan britannian "
    "englannin skotlannin venäjän puolan hollannin alankomaiden belgian espanjan italian sveitsin "
    "itävallan yhdysvaltojen kanadan erityisalojen"
).split()
