"""Run the migrations when Alembic loads this file. The connection is given: migrations run inside
the transaction and under the lock of the caller."""

from __future__ import annotations

from alembic import context

from assay.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # the caller's transaction is the only one
)
context.run_migrations()
