"""Alembic's environment: it runs on the connection that it is given, inside that connection's transaction.

So an upgrade is one transaction, DDL included, and a failed one leaves nothing behind.
"""

from alembic import context


def run() -> None:
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, transaction_per_migration=False)
    with context.begin_transaction():
        context.run_migrations()


run()
