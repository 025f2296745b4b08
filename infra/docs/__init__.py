"""The documentation's pages, beside what is written into them from the code.

A page is Markdown written by hand; where it says `<!-- written: NAME -->`, a table stands that `python -m infra.docs`
writes. Nothing of the product imports from here.
"""
