"""The demo: a real package with a real defect, the model's part in mending it, and the whole product on one machine.

It may import the twin, the scripted model and the product; the module that fetches the input uses the standard
library only. It refuses an input whose hash is not the pinned one, and names no package index of its own.
"""
