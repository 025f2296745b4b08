"""A scripted Messages API: real HTTP, its own process, replies from a YAML script that the product has to earn.

It may import the standard library and PyYAML, and nothing of `app` or `worker`: it stands on the wire's other side.
It refuses what the real API refuses (no key, no version, tool results that answer nothing, loose strict schemas) and
goes no further in a script than the evidence that a request really shows.
"""
