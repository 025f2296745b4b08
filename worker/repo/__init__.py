"""A repository at a commit: mirror, snapshot, search, symbols, and the engine that edits an overlay in memory.

May import `app.core`, `worker.box.tool` (every git command goes through it) and `worker.settings`.
Refuses to check out, to run hooks, filters or submodules, to follow links, and to write to a remote.
"""
