"""People: the first admin, invitations, passwords, sessions, leaving, keys, a proxy that signs in,
and who is let in from where."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.core.errors import Declined, InputError
from assay.store import Store
from assay.telemetry.recorder import Recorder, Recording
from assay.web.access import Access, Limiter, Rate, Refusal, proxy_signature
from assay.web.app import Serving, create_app, prepare
from assay.workbench.project import people
from assay.workbench.project import people as passwords
from assay.workbench.project.audit_trail import note
from assay.workbench.project.service import Service
from kit.people import enter, first_admin, invited, who
from kit.server import PASSWORD, join, local_client, take_token, visitor
from kit.sets import both, judged_set

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
ROOT = people.AT_THE_TERMINAL


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(store: Store, tmp_path: Path, clock: Clock) -> Service:
    return Service(store=store, home=tmp_path, clock=clock)


@pytest.fixture
def app(service: Service) -> Any:
    return create_app(service, access=Access(accounts=True))


@pytest.fixture
def admin(app: Any, service: Service) -> TestClient:
    return first_admin(app, service)


class TestJoining:
    def test_the_first_admin_and_a_judge(self, app: Any, admin: TestClient) -> None:
        assert admin.get("/api/me").json() == {"name": "Ada", "role": "admin", "accounts": True}
        link = invited(admin, "<b>דנה", "judge")
        judge = join(app, link, "somebody else")
        assert who(judge) == "<b>דנה", "the name is the one that was invited"
        page = admin.get("/people").text
        assert "&lt;b&gt;דנה" in page
        assert "<b>דנה" not in page
        refused = judge.get("/people?lang=en")
        assert refused.status_code == 403
        assert "<h1>Your role does not allow this</h1>" in refused.text
        assert "You need the role chair; yours is judge." in refused.text
        again = TestClient(app).get(link, params={"lang": "en"})
        assert again.status_code == 404, "it works once"
        assert 'href="/sign-in">Sign in</a></p>' in again.text, "who has joined is told the way"
        at_home = judge.get(link, params={"lang": "en"}).text
        assert "and do not need a link." in at_home
        assert 'href="/judge">' in at_home.partition("<main")[2]

    def test_a_judge_begins_where_documents_wait(
        self, app: Any, admin: TestClient, service: Service, tmp_path: Path
    ) -> None:
        """And who invites one that nothing is dealt to is told so."""
        service.gold_sets["set"] = judged_set(tmp_path, both(("q1", "d1")), judges=("ada", "Ben"))

        def told(name: str, role: str) -> bool:
            answer = admin.post("/people/invite", data={"name": name, "role": role})
            return "They are assigned to: Ben, ada." in answer.text

        assert told("Dana", "judge")
        assert not told("Ben", "judge")
        assert not told("Dana", "chair"), "a chair need not judge"
        for role, begins in (("judge", "/judge"), ("reader", "/")):
            path = invited(admin, f"a {role}", role).removeprefix("http://testserver")
            form = {"password": PASSWORD, "again": PASSWORD}
            assert visitor(app, path).post(path, data=form).headers["location"] == begins

    def test_the_first_link_is_one_until_there_is_an_admin(self, service: Service) -> None:
        first, second = people.first_link(service), people.first_link(service)
        assert first is not None
        assert second is not None
        with pytest.raises(InputError, match="was used"):
            people.accept(service, first.token, name="x", password=PASSWORD)
        people.accept(service, second.token, name="Ada", password=PASSWORD)
        assert people.first_link(service) is None

    def test_a_link_has_its_time(self, app: Any, admin: TestClient, clock: Clock) -> None:
        link = invited(admin, "late", "reader")
        clock.now = NOW + timedelta(days=8)
        assert "has expired" in TestClient(app).get(link).text

    @pytest.mark.parametrize(
        ("form", "message"),
        [
            ({"password": "short", "again": "short"}, "at least 10"),
            ({"password": PASSWORD, "again": "other"}, "differ"),
            ({"password": "aaaaaaaaaaaa", "again": "aaaaaaaaaaaa"}, "too easy"),
            ({"password": "x" * 1001, "again": "x" * 1001}, "at most 1,000"),
        ],
    )
    def test_a_password_that_will_not_do(
        self, app: Any, admin: TestClient, form: dict[str, str], message: str
    ) -> None:
        link = invited(admin, "p", "reader").removeprefix("http://testserver")
        client = visitor(app, link)
        answer = client.post(link, data=form)
        assert (answer.status_code, message in answer.text) == (400, True)
        assert client.post(link, data={"password": PASSWORD, "again": PASSWORD}).status_code == 303

    def test_a_chair_invites_judges_and_nobody_above(
        self, app: Any, service: Service, admin: TestClient
    ) -> None:
        chair = join(app, invited(admin, "Chair", "chair"))
        invited(chair, "J", "judge")
        for role in ("chair", "admin"):
            refused = chair.post("/api/people/invite", json={"name": "K", "role": role})
            assert refused.status_code == 403
            page = chair.post("/people/invite", data={"name": "K", "role": role})
            assert (page.status_code, "Ask an admin" in page.text) == (400, True)
        assert {one.name for one in people.list_people(service).links} == {"J"}

    def test_a_name_is_one_person(self, app: Any, service: Service, admin: TestClient) -> None:
        answer = admin.post("/people/invite", data={"name": "ADA", "role": "judge"})
        assert "Ada has an account already" in answer.text
        for name in ("", " ", "a\u202eb", "a\ufe0f", "x" * 81):
            answer = admin.post("/people/invite", data={"name": name, "role": "judge"})
            assert answer.status_code == 400, name

    @pytest.mark.parametrize("name", ["Аda", "аda", "ΑDA", "Ada\u3164", "Аԁа"])
    def test_a_name_that_looks_like_anothers_is_refused(
        self, app: Any, admin: TestClient, name: str
    ) -> None:
        """Letters of other scripts; under its own letters nobody else has the name."""
        answer = admin.post("/people/invite", data={"name": name, "role": "judge"})
        assert (answer.status_code, "Ada" in answer.text or "seen" in answer.text) == (400, True)
        invited(admin, "Karl I", "judge")
        told = admin.post("/api/people/invite", json={"name": "Кarl l", "role": "judge"})
        assert (told.status_code, "looks like" in told.text) == (400, True)
        invited(admin, "Анна", "judge")  # resembles nobody


class TestSigningIn:
    def test_in_and_out(self, app: Any, admin: TestClient) -> None:
        client = enter(app, "aDa")
        assert who(client) == "Ada"
        assert who(enter(app, "Ada", "wrong password")) == 401
        assert who(enter(app, "nobody")) == 401
        assert client.post("/sign-out").headers["location"] == "/sign-in"
        assert who(client) == 401
        assert who(admin) == "Ada", "signed out there, not here"
        other = enter(app, "Ada")
        assert admin.post("/sign-out/everywhere").status_code == 303
        assert (who(admin), who(other)) == (401, 401)

    def test_the_way_back(self, app: Any, admin: TestClient) -> None:
        client = visitor(app)
        asked = client.get("/review?at=1")
        assert asked.headers["location"] == "/sign-in?next=%2Freview%3Fat%3D1"
        page = client.get(asked.headers["location"]).text
        assert 'name="next" value="/review?at=1"' in page
        form = {"name": "Ada", "password": PASSWORD, "next": "https://evil.example/"}
        assert client.post("/sign-in", data=form).headers["location"] == "/"

    def test_judges_begin_with_what_they_judge(self, app: Any, admin: TestClient) -> None:
        join(app, invited(admin, "Ben", "judge"), "Ben")
        signed_in = visitor(app).post("/sign-in", data={"name": "Ben", "password": PASSWORD})
        assert signed_in.headers["location"] == "/judge"

    def test_a_cookie_that_scripts_and_other_sites_do_not_get(
        self, app: Any, admin: TestClient
    ) -> None:
        client = visitor(app)
        answer = client.post("/sign-in", data={"name": "Ada", "password": PASSWORD})
        cookie = answer.headers["set-cookie"]
        assert re.search("HttpOnly; Max-Age=1209600; Path=/; SameSite=lax$", cookie)
        secure = visitor(app, base_url="https://testserver")
        answer = secure.post("/sign-in", data={"name": "Ada", "password": PASSWORD})
        assert re.match("__Host-assay_session=.*Secure", answer.headers["set-cookie"])

    def test_a_session_ends(self, admin: TestClient, clock: Clock) -> None:
        clock.now = NOW + timedelta(days=13)
        assert who(admin) == "Ada"
        clock.now = NOW + timedelta(days=15)
        assert who(admin) == 401

    def test_a_clock_that_is_set_back_revives_nothing(
        self, app: Any, admin: TestClient, clock: Clock
    ) -> None:
        link = invited(admin, "Jo", "judge")
        clock.now = NOW + timedelta(days=8)
        assert (who(admin), visitor(app).get(link).status_code) == ("Ada", 404)
        clock.now = NOW
        assert visitor(app).get(link).status_code == 404
        clock.now = NOW + timedelta(days=15)
        assert who(admin) == 401
        clock.now = NOW
        assert who(admin) == 401

    def test_what_a_clock_that_ran_ahead_made_ends_with_it(
        self, app: Any, admin: TestClient, clock: Clock
    ) -> None:
        clock.now = NOW + timedelta(days=3650)
        ahead = enter(app, "Ada")
        link = invited(ahead, "Jo", "judge")
        assert (who(ahead), visitor(app).get(link).status_code) == ("Ada", 200)
        clock.now = NOW
        assert (who(ahead), visitor(app).get(link).status_code) == (401, 404)
        clock.now = NOW + timedelta(minutes=5)
        near = enter(app, "Ada")
        clock.now = NOW
        assert who(near) == "Ada", "a clock that is put right by minutes signs nobody out"

    def test_the_store_holds_nothing_that_opens_a_door(
        self, app: Any, service: Any, admin: TestClient, store_url: str
    ) -> None:
        link = invited(admin, "J", "judge")
        key = admin.post("/api/keys", json={"name": "bot"}).json()["key"]
        service.store.close()
        path = Path(store_url.removeprefix("sqlite:///"))
        kept = b"".join(
            one.read_bytes() for one in path.parent.glob(f"{path.name}*") if one.is_file()
        )
        session = admin.cookies["assay_session"]
        for secret in (session, key, link.rsplit("/", 1)[1], PASSWORD):
            assert secret.encode() not in kept
        assert b"$argon2id$" in kept

    def test_a_password_is_dear_to_guess(self) -> None:
        """What argon2 recommends, and weaker hashes of before are noticed."""
        assert "$m=65536,t=3,p=4$" in passwords.hash_password(PASSWORD)
        assert passwords.needs_rehash("$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo")

    def test_guessing_is_slowed_down(self, app: Any, admin: TestClient) -> None:
        client = visitor(app)
        form = {"name": "Ada", "password": "wrong password"}
        codes = [client.post("/sign-in", data=form).status_code for _ in range(8)]
        assert codes == [400] * 6 + [429] * 2
        form = {"name": "Ada", "password": PASSWORD}
        assert client.post("/sign-in", data=form).status_code == 429, "the right one waits too"

    def test_a_form_of_another_visit(self, app: Any, admin: TestClient) -> None:
        client = visitor(app)
        client.headers["x-csrf-token"] = take_token(visitor(app), "/sign-in")
        form = {"name": "Ada", "password": PASSWORD}
        assert client.post("/sign-in", data=form).status_code == 403

    def test_a_new_password(self, app: Any, admin: TestClient) -> None:
        other = enter(app, "Ada")
        new = "a new one, longer"
        form = {"old": "wrong", "password": new, "again": new}
        assert "not your current password" in admin.post("/me/password", data=form).text
        answer = admin.post("/me/password", data=form | {"old": PASSWORD})
        assert answer.headers["location"] == "/me"
        assert (who(admin), who(other)) == ("Ada", 401)
        assert who(enter(app, "Ada", new)) == "Ada"
        assert who(enter(app, "Ada")) == 401


class TestLeaving:
    def test_a_lost_password(self, app: Any, admin: TestClient) -> None:
        judge = join(app, invited(admin, "J", "judge"))
        page = admin.post("/people/password", data={"name": "J"}).text
        found = re.search(r'value="(http://testserver/invite/[^"]+)"', page)
        assert found
        assert who(judge) == "J", "until it is used"
        again = join(app, found[1])
        assert (who(again), who(judge)) == ("J", 401)
        assert again.get("/api/me").json()["role"] == "judge"

    def test_a_judge_leaves_and_comes_back(
        self, app: Any, service: Service, admin: TestClient
    ) -> None:
        judge = join(app, invited(admin, "J", "judge"))
        answer = admin.post("/people/remove", data={"name": "J", "why": "moved <on>"})
        assert answer.status_code == 303
        assert who(judge) == 401
        assert who(enter(app, "J")) == 401
        trail = admin.get("/people/history").text
        assert "moved &lt;on&gt;" in trail
        assert "has left" in admin.get("/people").text
        back = join(app, invited(admin, "j", "reader"))
        assert back.get("/api/me").json() == {"name": "J", "role": "reader", "accounts": True}

    def test_links_for_who_left_do_not_wait_for_their_return(
        self, app: Any, admin: TestClient
    ) -> None:
        """Whoever finds the old link of a removed person cannot take the account that is made when
        they come back."""
        join(app, invited(admin, "J", "judge"))
        page = admin.post("/people/password", data={"name": "J"}).text
        found = re.search(r'value="(http://testserver/invite/[^"]+)"', page)
        assert found
        admin.post("/people/remove", data={"name": "J", "why": "moved"})
        back = join(app, invited(admin, "J", "judge"))
        told = visitor(app).get(found[1].removeprefix("http://testserver"))
        assert "has expired" in told.text
        assert who(back) == "J"

    def test_links_of_who_left_do_not_wait_for_their_return(
        self, app: Any, service: Service, admin: TestClient
    ) -> None:
        second = join(app, invited(admin, "Second", "admin"))
        link = invited(second, "Ghost", "admin")
        people.remove(service, "Second", by=people.Actor("Ada", "admin"))
        join(app, invited(admin, "Second", "admin"))
        assert people.opened_link(service, link[-43:]) is None

    @pytest.mark.parametrize("how", ["removed", "demoted"])
    def test_links_go_with_who_made_them(
        self, app: Any, service: Service, admin: TestClient, how: str
    ) -> None:
        second = join(app, invited(admin, "Second", "admin"))
        boss, judge = invited(second, "Ghost", "admin"), invited(second, "J", "judge")
        if how == "removed":
            people.remove(service, "Second", by=people.Actor("Ada", "admin"))
        else:
            people.change_role(service, "Second", "chair", by=people.Actor("Ada", "admin"))
        stands = [bool(people.opened_link(service, link[-43:])) for link in (boss, judge)]
        assert stands == [False, how == "demoted"]
        left = [] if how == "removed" else ["J"]
        assert [one.name for one in service.store.invitations(service.clock())] == left

    def test_a_link_is_as_good_as_who_made_it(self, service: Service, admin: TestClient) -> None:
        """Also where the store still has it, as in the moment in which somebody is removed."""
        link = people.invite(service, "Ghost", "admin", by=people.Actor("Nobody", "admin"))
        assert people.opened_link(service, link.token) is None
        with pytest.raises(Declined):
            people.accept(service, link.token, name="Ghost", password=PASSWORD)

    def test_the_trail_is_paged_through(self, service: Service, admin: TestClient) -> None:
        for number in range(450):
            note(service, "Ada", "tested", f"thing/{number}")
        every = service.store.audit(action="tested", limit=1000)
        shown, address = [], "/people/history?action=tested"
        while address:
            page = admin.get(address).text
            shown += re.findall(r"<bdi>thing/([0-9]+)</bdi>", page)
            older = re.search(r'rel="next" href="([^"]+)"', page)
            address = older[1].replace("&amp;", "&") if older else ""
        assert shown == [entry.subject.removeprefix("thing/") for entry in every]
        assert len(set(shown)) == 450
        assert 'rel="prev" href="/people/history?offset=200&amp;action=tested"' in page
        part = admin.get("/api/audit?action=tested&limit=10&offset=445").json()
        assert [entry["subject"] for entry in part] == [entry.subject for entry in every[445:]]
        assert admin.get("/people/history?offset=x").status_code == 400
        assert admin.get("/people/history?offset=-5").status_code == 200

    def test_a_role_changes_at_once(self, app: Any, admin: TestClient) -> None:
        judge = join(app, invited(admin, "J", "judge"))
        assert judge.get("/people").status_code == 403
        admin.post("/people/role", data={"name": "J", "role": "chair"})
        assert judge.get("/people").status_code == 200
        (entry,) = admin.get("/api/audit?action=people.role").json()
        assert (entry["before"], entry["after"]) == ({"role": "judge"}, {"role": "chair"})

    def test_the_last_admin_stays(self, app: Any, admin: TestClient) -> None:
        for path, form in (
            ("/people/remove", {"name": "Ada"}),
            ("/people/role", {"name": "Ada", "role": "judge"}),
        ):
            assert "only admin" in admin.post(path, data=form).text
        join(app, invited(admin, "Bo", "admin"))
        assert admin.post("/people/remove", data={"name": "Ada"}).status_code == 303
        assert who(admin) == 401

    def test_a_link_taken_back(self, app: Any, service: Service, admin: TestClient) -> None:
        link = invited(admin, "J", "judge")
        (known,) = people.list_people(service).links
        assert admin.post("/people/take-back", data={"id": known.id}).status_code == 303
        assert TestClient(app).get(link).status_code == 404
        assert admin.post("/people/take-back", data={"id": known.id}).status_code == 400


class TestKeys:
    @pytest.fixture
    def recording(self, service: Service, store_url: str) -> Iterator[Service]:
        from assay.store import open_store

        recorder = Recorder(lambda: open_store(store_url), Recording(interval=0.01))
        yield Service(store=service.store, home=service.home, recorder=recorder)
        recorder.close()

    def test_a_key_that_logs_and_nothing_else(self, recording: Service) -> None:
        key = people.make_key(recording, "bot", "log", by=ROOT)
        access = Access(accounts=True, token="from outside")
        with TestClient(create_app(recording, access=access)) as client:
            for offered in (key, "from outside"):
                client.headers["authorization"] = f"Bearer {offered}"
                assert client.post("/api/log", json={"query": "q"}).status_code == 202
                assert client.get("/api/backlog").status_code == 403
                assert client.get("/metrics").status_code == 403
                assert client.get("/").status_code == 403
            people.end_key(recording, "bot", by=ROOT)
            client.headers["authorization"] = f"Bearer {key}"
            assert client.post("/api/log", json={"query": "q"}).status_code == 401
            del client.headers["authorization"]
            assert client.post("/api/log", json={"query": "q"}).status_code == 401

    def test_a_key_that_watches(self, service: Service, app: Any) -> None:
        key = people.make_key(service, "prometheus", "watch", by=ROOT)
        client = TestClient(app, headers={"authorization": f"Bearer {key}"})
        assert client.get("/metrics").status_code == 200
        assert client.get("/api/backlog").status_code == 200
        assert client.post("/api/log", json={"query": "q"}).status_code == 403

    def test_a_cookie_beside_a_key_does_not_count(
        self, service: Service, admin: TestClient
    ) -> None:
        admin.headers["authorization"] = "Bearer nothing"
        assert admin.get("/api/people").status_code == 401

    def test_too_many_calls(self) -> None:
        at = [0.0]
        limiter, rate = Limiter(lambda: at[0]), Rate(2, 0.5)
        for _ in range(2):
            limiter.take("a", rate)
        with pytest.raises(Refusal):
            limiter.take("a", rate)
        limiter.take("b", rate)
        at[0] = 2.0
        limiter.take("a", rate)
        with pytest.raises(Refusal):
            limiter.take("a", rate)

    def test_calls_of_one_person_are_limited(self, app: Any, admin: TestClient) -> None:
        app.state.limiter = Limiter(lambda: 0.0)
        codes = [admin.get("/api/me").status_code for _ in range(201)]
        assert codes == [200] * 200 + [429]
        refused = admin.get("/api/me")
        assert (refused.headers["retry-after"], "Too many" in refused.text) == ("1", True)
        assert admin.get("/people").status_code == 200, "pages are not calls"


class TestAProxyThatSignsIn:
    def test_its_word_holds_for_a_minute_and_one_call(self, service: Service) -> None:
        link = people.invite(service, "דנה", "judge", by=ROOT)
        people.accept(service, link.token, name="", password=PASSWORD)
        app = create_app(service, access=Access(accounts=True, proxy_secret="shared"))
        name = "דנה".encode().decode("latin-1")
        now = int(time.time())

        def asked(at: int, path: str = "/api/me", secret: str = "shared", who: str = name) -> int:
            headers = {
                "x-assay-user": who.encode("latin-1"),
                "x-assay-time": str(at).encode(),
                "x-assay-signature": proxy_signature(secret, name, str(at), "GET", path).encode(),
            }
            answer = TestClient(app, headers=headers).get("/api/me")
            return answer.status_code

        assert asked(now) == 200
        assert asked(now - 120) == 401
        assert asked(now, path="/api/people") == 401
        assert asked(now, secret="guessed") == 401
        assert asked(now, who="Ada") == 401
        plain = create_app(service, access=Access(accounts=True))
        headers = {"x-assay-user": "Ada", "x-assay-time": str(now), "x-assay-signature": ""}
        assert TestClient(plain, headers=headers).get("/api/me").status_code == 401


class TestFromWhere:
    def test_other_machines_need_a_proxy_and_accounts(self, service: Service) -> None:
        with pytest.raises(InputError, match="slow or half-sent requests") as refused:
            prepare(service, Serving(host="192.0.2.1", accounts=True))
        assert "--behind-proxy ADDRESS" in str(refused.value.hint)
        proxied = Serving(host="192.0.2.1", behind_proxy=("192.0.2.2",))
        with pytest.raises(InputError, match="lets other machines in"):
            prepare(service, replace(proxied, token="k7Qx2mZp9vLw4TnB"))
        for host in ("192.0.2.1", "0.0.0.0", "127.0.0.1"):
            with pytest.raises(InputError, match="needs the name"):
                prepare(service, replace(proxied, host=host, accounts=True))
        with pytest.raises(InputError, match="needs the name"):
            prepare(service, Serving(host="::", accounts=True, behind_proxy=("192.0.2.2",)))

    @pytest.mark.parametrize("address", ["proxy.example", "*", "", "10.0.0.5/24"])
    def test_a_proxy_is_named_by_its_address(self, service: Service, address: str) -> None:
        for host in ("0.0.0.0", "127.0.0.1"):
            serving = Serving(host=host, accounts=True, behind_proxy=("10.0.0.5", address))
            with pytest.raises(InputError, match="is not an IP address or network"):
                prepare(service, serving)

    @pytest.mark.parametrize("network", ["0.0.0.0/0", "::/0"])
    def test_nobody_is_believed_who_is_not_the_proxy(self, service: Service, network: str) -> None:
        with pytest.raises(InputError, match="choose their own address"):
            prepare(service, Serving(accounts=True, behind_proxy=(network,)))

    def test_a_server_on_all_addresses(self, service: Service) -> None:
        serving = Serving(
            host="0.0.0.0",
            accounts=True,
            address="https://assay.example",
            behind_proxy=("10.0.0.0/24", "fd00::5"),
        )
        app, way_in = prepare(service, serving)
        assert way_in.startswith("https://assay.example/invite/")
        here = TestClient(app, base_url="https://assay.example", follow_redirects=False)
        assert here.get("/").headers["location"] == "/sign-in?next=%2F"
        assert TestClient(app, base_url="https://other.example").get("/").status_code == 400

    def test_with_an_account_there_is_no_open_door_any_more(
        self, service: Service, admin: TestClient
    ) -> None:
        app, way_in = prepare(service, Serving())
        assert way_in == ""
        assert TestClient(app).get("/api/people").status_code == 401

    def test_alone_on_this_machine(self, service: Service) -> None:
        app, way_in = prepare(service, Serving())
        assert way_in == ""
        client = TestClient(app, follow_redirects=False)
        assert client.get("/").status_code == 200
        for header in ("x-forwarded-for", "forwarded"):
            refused = client.get("/", headers={header: "192.0.2.7"})
            assert (refused.status_code, "assay serve --accounts" in refused.text) == (403, True)

    def test_the_name_outlives_the_server(self, service: Service) -> None:
        first = local_client(service, "Päivi", access=prepare(service, Serving())[0].state.access)
        again, _ = prepare(service, Serving())
        client = TestClient(again, cookies=dict(first.cookies))
        assert client.get("/api/me").json()["name"] == "Päivi"

    def test_without_accounts_nobody_is_invited(self, service: Service) -> None:
        client = local_client(service)
        assert "assay serve --accounts" in client.get("/people").text
        answer = client.post("/people/invite", data={"name": "J", "role": "judge"})
        assert (answer.status_code, "no accounts" in answer.text) == (400, True)
        assert client.post("/api/keys", json={"name": "k"}).status_code == 400


class TestPages:
    @pytest.mark.parametrize("language", ["en", "fi", "he"])
    def test_every_page_in_every_language(self, app: Any, admin: TestClient, language: str) -> None:
        link = invited(admin, "J", "judge")
        for path in ("/people", "/people/history", "/me", "/api/docs"):
            page = admin.get(f"{path}?lang={language}")
            assert (page.status_code, f'lang="{language}"' in page.text) == (200, True)
        stranger = TestClient(app)
        for path in ("/sign-in", link.removeprefix("http://testserver"), "/nowhere"):
            assert f'lang="{language}"' in stranger.get(f"{path}?lang={language}").text

    def test_openapi(self, admin: TestClient) -> None:
        told = admin.get("/api/openapi.json").json()
        assert told["openapi"] == "3.1.0"
        invite = told["paths"]["/api/people/invite"]["post"]
        assert (invite["x-role"], invite["security"]) == ("chair", [{"session": []}])
        shape = invite["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        required = told["components"]["schemas"][shape.rsplit("/", 1)[1]]["required"]
        assert required == ["name", "role"]
        assert told["paths"]["/api/log"]["post"]["security"] == [{"session": []}, {"key": []}]
        asked = told["paths"]["/api/audit"]["get"]["parameters"]
        assert [one["name"] for one in asked] == ["subject", "action", "limit", "offset"]
        assert not [path for path in told["paths"] if not path.startswith(("/api/", "/metrics"))]

    def test_what_is_wrong_with_a_call(self, admin: TestClient) -> None:
        for body in (b"{", b"[]", b'{"name": "x", "role": "king"}', b'{"name": "x", "z": 1}'):
            answer = admin.post("/api/people/invite", content=body)
            assert answer.status_code == 400
            assert answer.json()["error"]
        assert admin.get("/api/audit?limit=0").status_code == 400
        assert admin.get("/api/nothing").json() == {"error": "Page not found."}


@pytest.mark.parametrize("role", ["reader", "judge", "chair"])
def test_what_was_done_to_people_is_for_those_who_may_read_the_trail(
    app: Any, admin: TestClient, service: Service, role: str
) -> None:
    guest = join(app, invited(admin, "Gil", role))
    note(service, "Ada", "people.removed", "Rita Reader", reason="see the HR file")
    note(service, "Ada", "run.cancelled", "set/q1", reason="he misread the rule", after={"n": 2})
    for answer in (guest.get("/?lang=en"), guest.get("/api/overview")):
        assert answer.status_code == 200
        assert "set/q1" in answer.text
        for secret in ("Rita Reader", "HR file", "he misread"):
            assert (secret in answer.text) == (role == "chair")
    assert (guest.get("/api/audit").status_code == 200) == (role == "chair")


@pytest.mark.parametrize("name", ["terminal", "Terminal", " TERMINAL ", "a" * 81])
def test_a_name_that_will_not_do_is_refused_and_not_cut(store: Store, name: str) -> None:
    """In the audit trail "terminal" would look like what is done at the terminal."""
    reserved = name.strip().lower() == "terminal"
    with pytest.raises(Declined) as error:
        people.invite(Service(store=store), name, "judge", by=people.AT_THE_TERMINAL)
    assert (error.value.word == "name_reserved") == reserved
    client = local_client(Service(store=store), "")
    refused = client.post("/me", data={"name": name})
    assert refused.status_code == 400
    assert reserved or "at most 80 characters" in refused.text
    assert "maxlength" not in client.get("/me").text


@pytest.mark.parametrize(("lang", "said"), [("en", "6,000"), ("fi", "Lyhennä"), ("he", "קצרו")])
def test_what_is_refused_is_said_in_the_language_of_the_page(
    store: Store, tmp_path: Path, lang: str, said: str
) -> None:
    gold = tmp_path / "set.json"
    gold.write_text('{"queries": [{"id": "q1", "text": "gifts"}]}')
    client = local_client(
        Service(store=store, gold_sets={"set": gold}, home=tmp_path, clock=lambda: NOW)
    )
    flag = {"set": "set", "query_id": "q1", "reason": "x" * 6000}
    refused = client.post(f"/api/flags?lang={lang}", json=flag)
    assert refused.status_code == 400
    assert said in refused.json()["error"]
    assert "kept Say" not in " ".join(refused.json()["error"].split())
