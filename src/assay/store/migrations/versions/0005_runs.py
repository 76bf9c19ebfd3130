"""Runs keep their summary and verdict, and name their gold set by its path in the project.

Before, a run had the short name that the table gold_sets gave to the identity of a set: the address
of the git remote with a path, `./` with a path, or an absolute path. The remote is no longer part
of the identity, so a project that was moved or cloned again keeps its runs."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_SETS = sa.table("gold_sets", sa.column("identity"), sa.column("name"))
_RUNS = sa.table("runs", sa.column("gold"))


def upgrade() -> None:
    for name in ("summary", "verdict", "asked"):
        op.add_column("runs", sa.Column(name, sa.Text))
    _rename(dict(_paths()))


def downgrade() -> None:
    _rename({path: name for name, path in reversed(_paths())})  # the first of several names
    for column in ("asked", "verdict", "summary"):
        op.drop_column("runs", column)


def _rename(names: dict[str, str]) -> None:
    """In one statement: one set's new name may be the old name of another."""
    if names:
        new = sa.case(names, value=_RUNS.c.gold)
        op.get_bind().execute(_RUNS.update().where(_RUNS.c.gold.in_(names)).values(gold=new))


def _paths() -> list[tuple[str, str]]:
    """(short name, path in the project) of every gold set that the store knows, by identity."""
    project = _project()
    rows = op.get_bind().execute(sa.select(_SETS).order_by(_SETS.c.identity))
    return [(row.name, _path(row.identity, project)) for row in rows]


def _path(identity: str, project: Path | None) -> str:
    _, mark, path = identity.partition("#")
    if mark and not identity.startswith("./") and not Path(identity).exists():
        return path
    if not Path(identity).is_absolute():
        return identity.removeprefix("./")
    if project is not None and Path(identity).is_relative_to(project):
        return Path(identity).relative_to(project).as_posix()
    return identity


def _project() -> Path | None:
    """The folder that a store in a file belongs to; none for a store on a server."""
    url = op.get_bind().engine.url
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    folder = Path(url.database).resolve().parent
    return folder.parent if folder.name == ".assay" else folder
