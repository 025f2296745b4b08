"""The evaluation: sets of tasks run through the very functions of production, scored, reported and compared.

It may import the twin, the scripted model and the product, none of which may import it. It refuses to mix results of
different set-ups in one folder, and to begin a task that the money left would not hold.
"""
