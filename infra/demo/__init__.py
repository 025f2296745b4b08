"""The demo's input and the model's part in it: a real package, a real defect, our own words.

It may import the standard library only.
It refuses an input whose hash is not the pinned one, and names no package index of its own.
"""
