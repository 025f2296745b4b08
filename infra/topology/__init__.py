"""What runs where: the parts of an installation, and the files for Compose and Kubernetes that are written from them.

`python -m infra.topology` writes the files anew; a test holds them against this and against the belt table.
"""
