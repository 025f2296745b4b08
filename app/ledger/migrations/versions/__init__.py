"""One file for each step; a released one is never edited.

It may import SQLAlchemy and Alembic alone. It refuses to know the product's own types.
"""
