"""The only GitHub client: connections, a reader, two writers, the App's own identity, and GitHub's errors as reasons.

It may import `app.core` and githubkit, which is imported nowhere else; importing this package alone loads neither.
It refuses to repeat a write, to follow a redirect of a write, to wait in place for a rate limit, and to put a
credential into a message.
"""
