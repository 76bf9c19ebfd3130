"""Several people change one account at once, through the pages and the calls of the server: whoever
comes first, the account, its sessions and the audit trail agree afterwards."""

from __future__ import annotations

import itertools
import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kit.people import enter, invited, same_visitor, unhurried_servers, who
from kit.server import PASSWORD, join, visitor
from kit.stores import accounts_held

THREADS = 6
LET_IN = 0.25  # seconds, at most, until every request has been let in and waits to write
CHANGED, RESET, AGAIN = "a changed password", "a password from a link", "a password of a new start"


class Race:
    """An account that several threads change at once. Every action is done at a server of its
    own."""

    def __init__(self, app: Any, admin: Any, name: str) -> None:
        self.admin, self.name = admin, name
        self.person = join(app, invited(admin, name, "admin"))
        page = admin.post("/people/password", data={"name": name}).text
        found = re.search(r'value="http://testserver(/invite/[^"]+)"', page)
        assert found
        self.link = found[1]

    def promote(self, app: Any) -> None:
        self._call(app, "role", role="admin")

    def demote(self, app: Any) -> None:
        self._call(app, "role", role="chair")

    def remove(self, app: Any) -> None:
        self._call(app, "remove")

    def sign_out(self, app: Any) -> None:
        self._call(app, "sign-out")

    def change_password(self, app: Any) -> None:
        form = {"old": PASSWORD, "password": CHANGED, "again": CHANGED}
        same_visitor(self.person, app).post("/me/password", data=form)

    def use_link(self, app: Any) -> None:
        visitor(app).post(self.link, data={"password": RESET, "again": RESET})

    def invite_again(self, app: Any) -> None:
        answer = self._call(app, "invite", role="judge")
        if answer.status_code == 201:
            path = answer.json()["link"].removeprefix("http://testserver")
            visitor(app).post(path, data={"password": AGAIN, "again": AGAIN})

    def sign_in(self, app: Any) -> Any:
        """Return the browser, signed in or not: the session may end before its next page."""
        client = visitor(app)
        client.post("/sign-in", data={"name": self.name, "password": PASSWORD})
        return client

    def _call(self, app: Any, action: str, **more: str) -> Any:
        body = {"name": self.name, **more}
        answer = same_visitor(self.admin, app).post(f"/api/people/{action}", json=body)
        assert answer.status_code in (200, 201, 400), answer.text
        return answer


ACTIONS: list[Callable[[Race, Any], Any]] = [
    Race.promote,
    Race.demote,
    Race.remove,
    Race.sign_out,
    Race.change_password,
    Race.use_link,
    Race.invite_again,
    Race.sign_in,
]

ONCE = {  # what threads that do the same thing leave in the trail one time
    "demote": "people.role",
    "remove": "people.removed",
    "change_password": "people.new_password",
    "use_link": "people.new_password",
}


def at_once(actions: list[Callable[[], Any]], store_url: str) -> list[Any]:
    """Run actions in threads of their own. All are let in by the server as the account is now, and
    only then does the first of them change it."""
    with ThreadPoolExecutor(len(actions)) as pool:
        with accounts_held(store_url):
            started = [pool.submit(action) for action in actions]
            wait_until_idle()
        return [each.result() for each in started]


def wait_until_idle() -> None:
    """Wait until no thread of this process has had work for three moments."""
    limit, idle = time.monotonic() + LET_IN, 0
    while idle < 3 and time.monotonic() < limit:
        before = time.process_time()
        time.sleep(0.01)
        idle = idle + 1 if time.process_time() - before < 0.001 else 0


def test_every_pair_of_actions(
    store: Any, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apps, admin = unhurried_servers(store, tmp_path, monkeypatch, THREADS)
    for number, pair in enumerate(itertools.combinations_with_replacement(ACTIONS, 2)):
        race = Race(apps[0], admin, f"person {number}")
        acts = [
            partial(act, race, app) for act, app in zip(itertools.cycle(pair), apps, strict=False)
        ]
        signed_in = [client for client in at_once(acts, store_url) if client is not None]
        done = check(race, apps[0], signed_in, " and ".join(act.__name__ for act in pair))
        if pair[0] is pair[1]:
            assert done[ONCE.get(pair[0].__name__, "people.joined")] == 1, pair[0].__name__


def check(race: Race, app: Any, signed_in: list[Any], names: str) -> Counter[str]:
    """Hold the account against its audit trail, which has no order within a moment, and return how
    often each action is in the trail."""
    listed = {one["name"]: one for one in race.admin.get("/api/people").json()["people"]}
    account = listed[race.name]
    trail = race.admin.get(f"/api/audit?subject={race.name}&limit=1000").json()
    did = Counter(entry["action"] for entry in trail)
    assert did["people.joined"] - did["people.removed"] == account["active"], names
    roles: Counter[str] = Counter()
    for entry in trail:
        if entry["action"] in ("people.joined", "people.role", "people.removed"):
            roles.update([(entry["after"] or {}).get("role", "")])
            roles.subtract([(entry["before"] or {}).get("role", "")])
    roles.pop("", None)
    assert +roles == (Counter([account["role"]]) if account["active"] else Counter()), names
    if did["people.new_password"] or did["people.removed"]:
        assert {who(client) for client in [race.person, *signed_in]} <= {401}, names
    opens = [
        password
        for password in (PASSWORD, CHANGED, RESET, AGAIN)
        if who(enter(app, race.name, password)) == race.name
    ]
    assert len(opens) == account["active"], names
    if not account["active"]:
        assert account["sessions"] == 0, names
    return did


@pytest.mark.parametrize(("action", "more"), [("role", {"role": "judge"}), ("remove", {})])
def test_admins_who_end_each_other_leave_one(
    store: Any,
    store_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    more: dict[str, str],
) -> None:
    apps, ada = unhurried_servers(store, tmp_path, monkeypatch, THREADS)
    bea = join(apps[0], invited(ada, "Bea", "admin"))

    def end(client: Any, name: str, app: Any) -> int:
        body = {"name": name, **more}
        answer = same_visitor(client, app).post(f"/api/people/{action}", json=body)
        return int(answer.status_code)

    pairs = itertools.cycle([(ada, "Bea"), (bea, "Ada")])
    acts = [partial(end, *pair, app) for pair, app in zip(pairs, apps, strict=False)]
    done = at_once(acts, store_url)
    assert 200 in done
    assert set(done) <= {200, 400, 401, 403}
    left = [client for client in (ada, bea) if client.get("/api/people").status_code == 200]
    assert len(left) == 1
    everybody = left[0].get("/api/people").json()["people"]
    assert [one["role"] for one in everybody if one["active"]].count("admin") == 1
    trail = left[0].get("/api/audit").json()
    ended = [one for one in trail if one["action"] in ("people.role", "people.removed")]
    assert len(ended) == 1
