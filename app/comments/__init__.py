"""Every word that is said on GitHub lives here: a value goes in, Markdown comes out.

It may import `app.core` and nothing else; there is no clock, no network and no ledger in this room.
It refuses to pass on live Markdown from models, issues, repositories or tool output: mentions, references,
links, images and HTML in their words are shown as plain text.
"""
