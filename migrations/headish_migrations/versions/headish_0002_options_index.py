"""A sparse index of the turns that set options, so that options resolve without reading the thread."""

import sqlalchemy as sa
from alembic import op

revision = "headish_0002"
down_revision = "headish_0001"


def upgrade() -> None:
    present = sa.text("inherited IS NOT NULL")
    op.create_index("turn_inherited", "turn", ["space", "chain", "pos"], sqlite_where=present, postgresql_where=present)


def downgrade() -> None:
    op.drop_index("turn_inherited", table_name="turn")
