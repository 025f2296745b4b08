"""A stand-in for GitHub on loopback: REST, GraphQL, git over HTTP, App tokens, signed webhooks and pages to look at.

It imports nothing of `app` or `worker`, and they never import it: the demo and the tests reach it over HTTP only.
It refuses what GitHub refuses, with GitHub's own answers, and it is never a place to keep anything of value.
"""
