"""Alembic's environment: runs the migrations on the connection of the caller, inside of its transaction.

So an upgrade is one transaction, which includes DDL, and a failed one leaves nothing behind.
"""

from alembic import context


def run() -> None:
    # ``database/upgrade`` has set it, after it took the lock and the backup.
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, transaction_per_migration=False)
    with context.begin_transaction():
        context.run_migrations()


run()
