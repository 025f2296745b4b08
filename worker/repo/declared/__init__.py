"""What a repository declares that it needs, and what its lock files settled on, by ecosystem.

One module for each family of ecosystems; each reads a file's text and yields names with ranges or versions. Nothing is
run and nothing is resolved: what cannot be read without that is said to be unread.
"""
