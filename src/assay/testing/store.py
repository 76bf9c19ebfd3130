"""What every store promises, as checks on an empty store. Each raises AssertionError if a promise
is not kept. `check_store` runs them all, and `STORE_CHECKS` has them one by one. `World` is a model
in plain Python of the feedback that a store derives from searches and decisions."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from assay.store.records import (
    CITATION_SCORE,
    Account,
    AccountAct,
    AuditEntry,
    CaseCounts,
    Decision,
    Feedback,
    Invitation,
    Role,
    RunRecord,
    SearchLog,
    ServiceKey,
    Session,
    ShownResult,
    StoreConflict,
    StoreError,
    Support,
)

if TYPE_CHECKING:
    from assay.store import Store

DAY = timedelta(days=1)
NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)  # any moment
INSTANT = timedelta(microseconds=1)
ROOT = AccountAct(by="terminal", role="admin", at=NOW)
OVER = "this link was used, or its time is over"
NOBODY = "nobody has an account named"


def check_store(open_empty: Callable[[], Store]) -> None:
    """Check that a store keeps every promise of `assay.store.Store`. `open_empty` opens a store
    that is empty, another one each time."""
    for check in STORE_CHECKS:
        store = open_empty()
        try:
            check(store)
        except AssertionError as error:
            raise AssertionError(f"{check.__name__}: {error}") from error
        finally:
            store.close()


def same(got: object, expected: object) -> None:
    if got != expected:
        raise AssertionError(f"got {got!r}, expected {expected!r}")


@contextmanager
def refused(message: str, error: type[Exception] = StoreConflict) -> Iterator[None]:
    try:
        yield
    except error as raised:
        if message not in str(raised):
            raise AssertionError(f"said {str(raised)!r}, expected {message!r}") from raised
    else:
        raise AssertionError(f"{error.__name__} was not raised")


# ── searches and feedback ─────────────────────────────────────────────────────────────────────────


def _search(id: str, *documents: str, **fields: Any) -> SearchLog:
    shown = tuple(
        ShownResult(doc_id, rank, 1 / rank) for rank, doc_id in enumerate(documents, start=1)
    )
    return replace(SearchLog(id=id, at=NOW, query=f"query {id}", results=shown), **fields)


def searches_come_back_as_given(store: Store) -> None:
    whole = _search("l1", "a", "b", corpus="c", practice_area="levy", engine="e", case_id="m1")
    whole = replace(whole, by="u", millis=1.5, error="no")
    east = NOW.astimezone(timezone(timedelta(hours=3)))
    same(store.add_searches([whole, _search("l0", at=east - DAY)]), 2)
    same(store.searches(["l1", "l0", "nope"]), [_search("l0", at=NOW - DAY), whole])
    same(store.searches(["l0"])[0].at.tzinfo, UTC)


def a_search_sent_twice_is_kept_once(store: Store) -> None:
    same(store.add_searches([_search("l1", "a"), _search("l1", "x", "y")]), 1)
    same(store.add_searches([_search("l1", "x", "y", "z"), _search("l2")]), 1)
    same(store.searches(["l1"]), [_search("l1", "a")])


def text_that_no_database_could_hold_is_mended(store: Store) -> None:
    broken = _search("l1", query="שָׁלוֹם\x00 \ud800 ä", results=(ShownResult("d", 1, float("nan")),))
    store.add_searches([broken])
    kept = store.searches(["l1"])[0]
    same((kept.query, kept.results), ("שָׁלוֹם ? ä", (ShownResult("d", 1, None),)))


def errors_of_the_driver_do_not_escape(store: Store) -> None:
    with refused("", StoreError):
        store.add_searches([_search("l1", at=None)])


def nothing_is_fine(store: Store) -> None:
    same((store.add_searches([]), store.add_decisions([]), store.add_feedback([])), (0, 0, 0))
    same((store.searches([]), store.case_counts([])), ([], CaseCounts()))
    store.append_audit([])
    same(store.audit(), [])


def new_feedback_is_counted(store: Store) -> None:
    store.add_searches([_search("l1", "x", "a"), _search("l2", "a", "b")])
    decision = Decision(id="D1", at=NOW + DAY, cites=("a", "unseen"))
    same([store.add_decisions([decision]) for _ in range(2)], [2, 0])
    same(store.add_decisions([replace(decision, id="D2", at=NOW + 2 * DAY)]), 0)
    same(store.add_decisions([replace(decision, cites=("a", "b"))]), 1)  # amended
    click = Feedback(log_id="l1", doc_id="a", kind="click", relevance_score=1, at=NOW, by="u")
    same(store.add_feedback([click, click]), 1)


def feedback_follows_from_searches_and_decisions(store: Store) -> None:
    _check_world(store, World(0))


def feedback_follows_in_a_second_world(store: Store) -> None:
    _check_world(store, World(1))


def feedback_follows_in_a_third_world(store: Store) -> None:
    _check_world(store, World(2))


def _check_world(store: Store, world: World) -> None:
    """Hold what a store says about a world against the model of it."""
    world.fill(store)
    same(store.feedback(), world.feedback())
    same(store.feedback(log_id="s03"), world.feedback(log_id="s03"))
    same(store.feedback(doc_id="a"), world.feedback(doc_id="a"))
    for id in ("a", "D3"):
        same(store.feedback(decision_id=id), world.feedback(decision_id=id))
    same(store.feedback(query="q1"), world.of_query("q1"))
    same(store.feedback(query="q1", limit=1), world.of_query("q1")[:1])
    for score, since in itertools.product((1, 2, 3), (None, minute(3))):
        counted = Counter(store.support(min_score=score, since=since))
        same(counted, world.support(score, since))
    for ids in (["a"], ["D1", "D3"], ["a", "D1", "D2", "D3", "D4"]):
        same(store.case_counts(ids), world.case_counts(ids))
    cited, logs = world.feedback(kind="citation"), sorted(world.searches)
    for doc_id in "abcd":
        others = {r.log_id for r in cited if r.doc_id == doc_id and world.of_other_case(r)}
        same(store.of_other_cases(doc_id, logs), others)
        same(store.of_other_cases(doc_id, logs[:9]), others & set(logs[:9]))
    searches = sorted(world.searches.values(), key=lambda each: (each.at, each.id))
    same(store.searches([*logs, "none"]), searches)
    same(store.search_total(), len(searches))
    shown = {hit.doc_id for each in searches for hit in each.results}
    same(store.shown_documents(["a", "b", "x"]), shown & {"a", "b"})
    for since in (None, minute(3), minute(3) + INSTANT):
        same(store.showings(["q1", "q0", "q0"], since=since), world.showings(["q0", "q1"], since))
    same(store.query_counts(), Counter((each.query, each.corpus) for each in searches))


def a_decision_of_the_moment_of_the_search_is_not_later(store: Store) -> None:
    store.add_searches([_search("s", "a", case_id="k1")])
    other = Decision(id="D1", at=minute(1), case_id="k2", cites=("a",))
    store.add_decisions([other, replace(other, id="D2", at=NOW, case_id="k1")])
    same(store.case_counts(["D1", "D2"]), CaseCounts(other=1))
    same(store.of_other_cases("a", ["s"]), {"s"})
    store.add_decisions([replace(other, id="D3", at=minute(2), case_id="k1")])
    same(store.case_counts(["D1", "D2"]), CaseCounts(own=1))
    same(store.of_other_cases("a", ["s"]), set())


def searches_are_purged_by_age(store: Store) -> None:
    _check_purge(store, keep_cited=False)


def searches_that_a_decision_labelled_can_stay(store: Store) -> None:
    _check_purge(store, keep_cited=True)


def _check_purge(store: Store, *, keep_cited: bool) -> None:
    world, before = World(9), minute(3)
    world.fill(store)
    cited = {row.log_id for row in world.feedback(kind="citation")}
    old = {each.id for each in world.searches.values() if each.at < before}
    gone = old - cited if keep_cited else old
    lost = [
        row
        for row in world.feedback()
        if row.log_id in gone or (row.log_id not in world.searches and row.at < before)
    ]
    done = store.purge(before, keep_cited=keep_cited)
    results = sum(len(world.searches[id].results) for id in gone)
    same((done.searches, done.feedback, done.results), (len(gone), len(lost), results))
    same(store.feedback(), [row for row in world.feedback() if row not in lost])
    left = {each.id for each in store.searches(sorted(world.searches))}
    same(left, set(world.searches) - gone)


# ── runs and the audit trail ──────────────────────────────────────────────────────────────────────


def runs_are_kept_once_and_listed_newest_first(store: Store) -> None:
    runs = [
        RunRecord(id=f"r{n}", at=minute(n // 2), engine="ef"[n // 3], gold="ghi"[n % 3])
        for n in range(6)
    ]
    runs = [replace(run, results={"n": n}) for n, run in enumerate(runs)]
    for run in [*runs, replace(runs[0], results={})]:
        store.put_run(run)
    newest = sorted(runs, key=lambda run: (run.at, run.id), reverse=True)
    newest = [replace(run, results={}) for run in newest]  # a list leaves out what is long
    same(store.runs(), newest)
    same(store.runs(limit=2, offset=1), newest[1:3])
    same(store.runs(gold="g"), [run for run in newest if run.gold == "g"])
    same(store.runs(gold=["g", "i", "none"]), [run for run in newest if run.gold in "gi"])
    same(store.runs(gold=[]), [])
    same([run.id for run in store.runs(gold=["g", "h"], engine="f")], ["r4", "r3"])
    same((store.run("r3"), store.run("none")), (runs[3], None))
    same(store.run_golds(), ["g", "h", "i"])


def a_run_keeps_its_summary_and_verdict(store: Store) -> None:
    run = RunRecord(id="r", at=NOW, engine="e", gold="g", results={"n": 1})
    other = replace(run, id="other")
    for each in (run, other):
        store.put_run(each)
    summarised = replace(run, summary={"ndcg": 0.5}, verdict={"passed": True}, asked="digest")
    store.keep_summaries([summarised, replace(summarised, id="none")])
    same((store.run("r"), store.run("other"), store.run("none")), (summarised, other, None))
    same(store.runs()[0], replace(summarised, results={}))
    same({each.id: each.results for each in store.whole_runs(["r", "none"])}, {"r": {"n": 1}})
    again = replace(summarised, verdict={"passed": False}, asked="another")
    store.keep_summaries([again])
    same(store.run("r"), again)


def the_audit_trail_comes_newest_first_and_in_pages(store: Store) -> None:
    entries = [
        AuditEntry(id=f"a{n}", at=minute(n // 2), by="b", action="xy"[n % 2], subject="st"[n // 3])
        for n in range(6)
    ]
    entries[0] = replace(entries[0], reason="so", before={"x": 1}, after={"x": "ä\x00"})
    store.append_audit(entries)
    newest = sorted(entries, key=lambda entry: (entry.at, entry.id), reverse=True)
    same(store.audit(), newest)
    same(store.audit(subject="s"), [entry for entry in newest if entry.subject == "s"])
    same(store.audit(action="y"), [entry for entry in newest if entry.action == "y"])
    same([each.id for each in store.audit(subject="t", action="y", limit=1, offset=1)], ["a3"])
    same(store.audit(limit=2, offset=5), newest[5:])


def health_counts_rows(store: Store) -> None:
    store.add_searches([_search("l1", "a", "b")])
    health = store.health()
    same((bool(health.backend), bool(health.version), bool(health.schema)), (True, True, True))
    same((health.rows["search_logs"], health.rows["shown_results"]), (1, 2))


# ── people ────────────────────────────────────────────────────────────────────────────────────────


def _invite(store: Store, name: str, role: Role = "judge", **fields: Any) -> Invitation:
    plain = Invitation(
        id=f"link {name}",
        kind="join",
        name=name,
        role=role,
        by="terminal",
        created_at=NOW,
        expires_at=NOW + DAY,
    )
    invitation = replace(plain, **fields)
    act = replace(ROOT, by=invitation.by, role="reader") if fields.get("by") else ROOT
    return store.add_invitation(invitation, act)


def _join(store: Store, name: str, role: Role = "judge", password: str = "hash") -> Account:
    link = _invite(store, name, role)
    return store.accept_invitation(link.id, name="", password=password, at=NOW)


def _session(id: str, name: str, **fields: Any) -> Session:
    plain = Session(id=id, name=name, created_at=NOW, expires_at=NOW + DAY, agent="browser")
    return replace(plain, **fields)


def _entries(store: Store) -> Counter[tuple[str, str, str]]:
    return Counter((entry.by, entry.action, entry.subject) for entry in store.audit())


def an_account_is_one_whatever_its_case(store: Store) -> None:
    kept = _join(store, "Päivi", "admin")
    expected = Account(name="Päivi", role="admin", password="hash", created_at=NOW)
    same(kept, replace(expected, created_by="terminal"))
    _join(store, "דנה", "chair")
    same((store.account(" PÄIVI"), store.account("nobody")), (kept, None))
    same([(one.name, one.role) for one in store.accounts()], [("Päivi", "admin"), ("דנה", "chair")])
    with refused("Päivi has an account already"):
        _invite(store, "päivi")


def a_session_lasts_until_its_time_or_its_end(store: Store) -> None:
    account = _join(store, "a")
    for id in ("s1", "s2", "s3"):
        store.add_session(_session(id, "A"))
    with refused("that is not your current password"):
        store.add_session(_session("s4", "a"), known="old hash")
    with refused(NOBODY):
        store.add_session(_session("s4", "b"))
    names = [(one.id, one.name) for one in store.sessions(NOW + DAY - INSTANT)]
    same(names, [("s1", "a"), ("s2", "a"), ("s3", "a")])
    same((store.signed_in("s1", NOW + DAY - INSTANT), store.signed_in("no", NOW)), (account, None))
    same((store.end_sessions(["s1", "no"]), store.signed_in("s1", NOW)), (1, None))
    same(store.sign_out("a", replace(ROOT, by="A")), 2)
    store.add_session(_session("s4", "a"))
    same((store.sessions(NOW + DAY), store.signed_in("s4", NOW + DAY)), ([], None))
    same(store.signed_in("s4", NOW), None)  # one that was seen expired stays so
    same(store.sessions(NOW), [])
    store.add_session(_session("s5", "a"))
    same(store.sign_out("a", ROOT), 1)
    same(_entries(store)["terminal", "people.signed_out", "a"], 1)
    store.add_session(_session("s6", "a"))
    late = _session("s7", "a", created_at=NOW + DAY, expires_at=NOW + 2 * DAY)
    store.add_session(late, known="hash")
    same([one.id for one in store.sessions(NOW)], ["s7"])  # expired sessions are deleted


def a_password_changes_only_from_the_known_one(store: Store) -> None:
    account = _join(store, "a")
    store.add_session(_session("s", "a"))
    with refused("that is not your current password"):
        store.set_password("a", "new", known="old", at=NOW)
    store.set_password("a", "stronger", known="hash", at=NOW, end_sessions=False)
    same(store.signed_in("s", NOW), replace(account, password="stronger"))
    store.set_password("A", "new", known="stronger", at=NOW)
    same((store.account("a"), store.sessions(NOW)), (replace(account, password="new"), []))
    _join(store, "b", "admin")
    store.deactivate("a", ROOT)
    with refused(NOBODY):
        store.set_password("a", "again", known="", at=NOW)
    entries = _entries(store)
    same([entries["a", f"people.new_{what}", "a"] for what in ("hash", "password")], [1, 1])


def somebody_is_always_an_admin(store: Store) -> None:
    for name in ("a", "b"):
        _join(store, name, "admin")
    a, b = (AccountAct(by=name, role="admin", at=NOW) for name in ("a", "b"))
    store.set_role("b", "judge", a)
    with refused("a judge cannot do this for a admin"):
        store.set_role("a", "judge", b)
    only = "a is the only admin and must stay one"
    with refused(only):
        store.set_role("a", "chair", a)
    with refused(only):
        store.deactivate("a", ROOT)
    store.set_role("a", "admin", a)  # changes nothing
    store.set_role("b", "admin", ROOT)
    store.deactivate("a", b)
    with refused("cannot do this"):
        store.deactivate("b", a)
    with refused(NOBODY):
        store.set_role("a", "admin", b)
    roles = [entry for entry in store.audit(action="people.role") if entry.by == "a"]
    same([(each.before, each.after) for each in roles], [({"role": "admin"}, {"role": "judge"})])
    same(_entries(store)["b", "people.removed", "a"], 1)


def access_goes_with_the_account(store: Store) -> None:
    for name in ("root", "gone", "chair"):
        _join(store, name, "admin")
    for name, by in (("x", "gone"), ("y", "chair"), ("z", "terminal")):
        _invite(store, name, by=by)
    _invite(store, "boss", "admin", by="chair")
    _invite(store, "gone", id="reset", kind="password")
    store.add_session(_session("s", "gone"))
    store.set_role("chair", "chair", ROOT)
    store.deactivate("gone", replace(ROOT, reason="moved"))
    gone = store.account("gone")
    same(gone and (gone.active, gone.password, gone.role), (False, "", "admin"))
    same((store.sessions(NOW), store.signed_in("s", NOW)), ([], None))
    same([one.name for one in store.invitations(NOW)], ["y", "z"])
    (removed,) = store.audit(action="people.removed")
    same((removed.reason, removed.before), ("moved", {"role": "admin"}))
    back = _join(store, "GONE", "reader", "new")
    same((back.name, back.role, back.active), ("gone", "reader", True))
    same(store.account("gone"), back)


def an_invitation_works_once_and_in_time(store: Store) -> None:
    def accept(id: str, *, late: timedelta = timedelta()) -> Account:
        return store.accept_invitation(id, name="chosen", password="hash", at=NOW + late)

    for id in ("i1", "i2"):
        _invite(store, "דנה", id=id)
    same([one.id for one in store.invitations(NOW + DAY - INSTANT)], ["i2"])  # the first one ended
    same(store.invitations(NOW + DAY), [])
    for id, late in (("i1", timedelta()), ("none", timedelta()), ("i2", DAY)):
        with refused(OVER):
            accept(id, late=late)
    same((store.accounts(), accept("i2").name), ([], "דנה"))
    with refused(OVER):
        accept("i2")
    _invite(store, "", "admin", id="first")
    same(accept("first").name, "chosen")
    _invite(store, "taken", id="i3")
    _invite(store, "", "admin", id="i4")
    same(store.accept_invitation("i4", name="Taken", password="", at=NOW).name, "Taken")
    with refused("Taken has an account already"):
        accept("i3")
    store.end_invitation("i3", ROOT)
    with refused(OVER):
        store.end_invitation("i3", ROOT)
    same(_entries(store)["terminal", "people.link_taken_back", "taken"], 1)


def an_invitation_gives_what_its_giver_may_give(store: Store) -> None:
    _join(store, "chair", "chair")
    chair = AccountAct(by="chair", role="admin", at=NOW)  # the role that the account has counts
    above: tuple[Role, ...] = ("chair", "admin")
    for role in above:
        with refused(f"a chair cannot do this for a {role}"):
            _invite(store, "x", role, by="chair")
    _join(store, "j")
    reset = _invite(store, "J", "admin", id="reset", kind="password", by="chair")
    same((reset.name, reset.role), ("j", "judge"))
    store.add_session(_session("s", "j"))
    _invite(store, "k", "admin")
    with refused("a chair cannot do this for a admin"):
        store.end_invitation("link k", chair)
    store.set_role("j", "admin", ROOT)
    with refused(OVER):  # the password of an admin is not a chair's to reset
        store.accept_invitation("reset", name="", password="stolen", at=NOW)
    store.set_role("chair", "admin", ROOT)
    account = store.accept_invitation("reset", name="", password="new", at=NOW)
    same((account.role, account.password, store.sessions(NOW)), ("admin", "new", []))
    with refused(NOBODY):
        _invite(store, "nobody", kind="password")


def a_key_opens_until_it_ends(store: Store) -> None:
    key = ServiceKey(id="k1", name="bot", kind="log", by="root", created_at=NOW)
    store.add_service_key(key)
    with refused("there is a key named 'bot' already"):
        store.add_service_key(replace(key, id="k2"))
    same((store.service_key("k1"), store.service_key("k2")), (key, None))
    with refused("there is no key named 'other'"):
        store.end_service_key("other", ROOT)
    store.end_service_key("bot", ROOT)
    same((store.service_key("k1"), store.service_keys()), (None, []))
    for id, late in (("z", 1), ("y", 2), ("x", 2)):
        store.add_service_key(replace(key, id=id, name=id, created_at=minute(late)))
    same([one.id for one in store.service_keys()], ["z", "x", "y"])
    entries = _entries(store)
    same((entries["root", "key.made", "bot"], entries["terminal", "key.ended", "bot"]), (1, 1))


def a_secret_is_made_once(store: Store) -> None:
    first = store.server_secret("a")
    same((len(first), store.server_secret("a")), (64, first))
    same(len({first, store.server_secret("b")}), 2)


STORE_CHECKS: tuple[Callable[[Store], None], ...] = (
    searches_come_back_as_given,
    a_search_sent_twice_is_kept_once,
    text_that_no_database_could_hold_is_mended,
    errors_of_the_driver_do_not_escape,
    nothing_is_fine,
    new_feedback_is_counted,
    feedback_follows_from_searches_and_decisions,
    feedback_follows_in_a_second_world,
    feedback_follows_in_a_third_world,
    a_decision_of_the_moment_of_the_search_is_not_later,
    searches_are_purged_by_age,
    searches_that_a_decision_labelled_can_stay,
    runs_are_kept_once_and_listed_newest_first,
    a_run_keeps_its_summary_and_verdict,
    the_audit_trail_comes_newest_first_and_in_pages,
    health_counts_rows,
    an_account_is_one_whatever_its_case,
    a_session_lasts_until_its_time_or_its_end,
    a_password_changes_only_from_the_known_one,
    somebody_is_always_an_admin,
    access_goes_with_the_account,
    an_invitation_works_once_and_in_time,
    an_invitation_gives_what_its_giver_may_give,
    a_key_opens_until_it_ends,
    a_secret_is_made_once,
)


# ── a model of feedback ───────────────────────────────────────────────────────────────────────────

DOCUMENTS = "abcd"
SIGNS = (("click", 1), ("vote", 2), ("vote", 0))  # kinds of feedback that people give, with scores


def minute(n: int) -> datetime:
    return NOW + timedelta(minutes=n)


class World:
    """A small random world of searches, decisions, clicks and votes, and the feedback that follows
    from them. Every boundary comes up in it: equal times, equal cases, documents that are shown
    twice, and searches that arrive after the decision."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        early, late = ([self._search(n) for n in some] for some in (range(14), range(14, 22)))
        self.early, self.late = early, late
        self.decisions = [self._decision(id) for id in ("a", "D1", "D2")]
        self.own_case = [self._decision(id) for id in ("D3", "D4")]  # label only their own case
        self.signs = [self._sign() for _ in range(24)]
        self.searches = {each.id: each for each in [*early, *late]}
        self._feedback: dict[tuple[str, str, str, str], Feedback] = {}
        self._infer(early, self.decisions, ())
        self._infer(early, (), self.own_case)
        self._infer(late, self.decisions, self.own_case)
        for sign in sorted(self.signs, key=lambda s: (s.log_id, s.doc_id, s.kind, s.by, s.at)):
            self._add_sign(sign)

    def fill(self, store: Store) -> None:
        store.add_searches(self.early)
        store.add_decisions(self.decisions)
        store.add_decisions(self.own_case, same_case=True)
        store.add_searches([*self.late, self.early[0]])
        store.add_feedback(self.signs)

    def _search(self, n: int) -> SearchLog:
        dice = self._dice
        documents = dice.choices(DOCUMENTS, k=dice.randint(0, 4))
        return SearchLog(
            id=f"s{n:02d}",
            at=minute(dice.randint(0, 5)),
            query=f"q{dice.randint(0, 2)}",
            corpus=dice.choice(["", "c", "e"]),
            practice_area=dice.choice(["", "p"]),
            case_id=dice.choice(["", "k1", "k2"]),
            results=tuple(
                ShownResult(doc_id, rank) for rank, doc_id in enumerate(documents, start=1)
            ),
        )

    def _decision(self, id: str) -> Decision:
        dice = self._dice
        cites = tuple(dice.choices(DOCUMENTS, k=dice.randint(1, 3)))
        case_id = dice.choice(["", "k1", "k2"])
        return Decision(id=id, at=minute(dice.randint(0, 5)), case_id=case_id, cites=cites)

    def _sign(self) -> Feedback:
        dice = self._dice
        kind, score = dice.choice(SIGNS)
        return Feedback(
            log_id=f"s{dice.randint(0, 22):02d}",  # s22 never arrives
            doc_id=dice.choice(DOCUMENTS),
            kind="click" if kind == "click" else "vote",
            relevance_score=score,
            at=minute(dice.randint(0, 5)),
            by=dice.choice(["", "x"]),
            rank=dice.choice([None, None, 3]),
        )

    def _infer(
        self,
        searches: Iterable[SearchLog],
        any_case: Sequence[Decision],
        case_decisions: Sequence[Decision],
    ) -> None:
        """A document that a later decision cites scores 3 for the search; the first such decision
        is the provenance."""
        for search in searches:
            for doc_id in {shown.doc_id for shown in search.results}:
                citing = [
                    each
                    for each in [*any_case, *case_decisions]
                    if doc_id in each.cites
                    and search.at < each.at
                    and doc_id != each.id
                    and (each in any_case or (each.case_id and each.case_id == search.case_id))
                ]
                if citing:
                    first = min(citing, key=lambda each: (each.at, each.id))
                    label = Feedback(
                        log_id=search.id,
                        doc_id=doc_id,
                        kind="citation",
                        relevance_score=CITATION_SCORE,
                        at=first.at,
                        rank=self._rank(search.id, doc_id),
                        decision_id=first.id,
                    )
                    self._feedback.setdefault((search.id, doc_id, "citation", ""), label)

    def _rank(self, log_id: str, doc_id: str) -> int | None:
        results = self.searches[log_id].results if log_id in self.searches else ()
        return min((shown.rank for shown in results if shown.doc_id == doc_id), default=None)

    def _add_sign(self, sign: Feedback) -> None:
        key = (sign.log_id, sign.doc_id, sign.kind, sign.by)
        before = self._feedback.get(key)
        if before is None or (sign.kind == "vote" and before.at <= sign.at):
            rank = self._rank(sign.log_id, sign.doc_id) if sign.rank is None else sign.rank
            self._feedback[key] = replace(sign, rank=rank)

    def feedback(self, **fields: str) -> list[Feedback]:
        rows = (self._feedback[key] for key in sorted(self._feedback))
        return [
            row
            for row in rows
            if all(getattr(row, name) == value for name, value in fields.items())
        ]

    def of_query(self, query: str) -> list[Feedback]:
        asked = {each.id for each in self.searches.values() if each.query == query}
        return [row for row in self.feedback() if row.log_id in asked]

    def of_own_case(self, row: Feedback) -> bool:
        search = self.searches[row.log_id]
        return bool(search.case_id) and any(
            each.case_id == search.case_id and each.at > search.at and row.doc_id in each.cites
            for each in [*self.decisions, *self.own_case]
        )

    def of_other_case(self, row: Feedback) -> bool:
        if row.kind != "citation":
            return False
        case_id = self.searches[row.log_id].case_id
        made = {each.id: each.case_id for each in [*self.decisions, *self.own_case]}
        other = made[row.decision_id]
        return bool(case_id and other) and case_id != other and not self.of_own_case(row)

    def case_counts(self, decision_ids: Sequence[str]) -> CaseCounts:
        rows = [row for row in self.feedback(kind="citation") if row.decision_id in decision_ids]
        own, other = sum(map(self.of_own_case, rows)), sum(map(self.of_other_case, rows))
        return CaseCounts(own=own, other=other, unknown=len(rows) - own - other)

    def support(self, min_score: int, since: datetime | None) -> Counter[Support]:
        groups: dict[tuple[Any, ...], list[Feedback]] = {}
        for row in self.feedback():
            search = self.searches.get(row.log_id)
            against = min_score < CITATION_SCORE and (row.kind, row.relevance_score) == ("vote", 0)
            if search is None or not (row.relevance_score >= min_score or against):
                continue
            if since and search.at < since:
                continue
            rank = None if row.kind == "citation" else row.rank
            spelling = (search.query, search.corpus, search.practice_area)
            key = (*spelling, row.doc_id, row.kind, row.relevance_score, rank)
            groups.setdefault(key, []).append(row)
        return Counter(
            Support(
                **dict(zip(Support.__struct_fields__, key, strict=False)),
                searches=len({row.log_id for row in rows}),
                other_case=len({row.log_id for row in rows if self.of_other_case(row)}),
            )
            for key, rows in groups.items()
        )

    def showings(
        self, queries: Sequence[str], since: datetime | None
    ) -> dict[tuple[str, str, str], int]:
        return Counter(
            (each.query, each.corpus, doc_id)
            for each in self.searches.values()
            if each.query in queries and (since is None or each.at >= since)
            for doc_id in {shown.doc_id for shown in each.results}
        )
