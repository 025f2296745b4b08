"""The pure core: plan, digest, states, facts, effects, the one transition table, gates, commands, belt table, policy.

It may import pydantic, the canonical JSON library and the standard library's plain values, and nothing else of
the house.
It refuses clocks, chance, files, networks and databases: time enters as a fact, and the same facts give the same
state on any machine, next year.
"""
