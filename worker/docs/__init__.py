"""Documentation pages from the hosts that an operator lists: fetched over https and turned into plain text.

May import `app.core`, `worker.evidence` and, as the only room, httpcore and justhtml; it holds no credential.
Refuses every other host, every address that is not public or in a listed network, also after a redirect, and whatever
is neither text nor a page; no script of a page is run.
"""
