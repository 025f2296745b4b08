"""The way out of an install run: a proxy in a process of its own, without credentials, for exact hosts only.

It is fed by a listener inside the box's empty network namespace, imports nothing but the standard library, and
drops root before it reads a byte. It refuses whatever it does not understand, and every refusal is told.
"""
