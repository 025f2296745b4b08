"""Ranking without a model: an issue's text and a commit in, files and symbols with a reason each out.

May import what stands in `worker.repo`, and msgspec for its records; `store` alone opens a cache on the disk.
Refuses to ask a model or the network, and to let a file's words decide anything but its place in a list.
"""
