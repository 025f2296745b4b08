"""The ledger's migrations: every step from an empty database to today's schema, oldest first.

They may import SQLAlchemy and Alembic alone, so that a released step never changes with the code.
They refuse to run by themselves: `app.ledger.migrate` calls them inside its transaction.
"""
