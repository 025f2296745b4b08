"""The box: the only place that starts another process, and the sealed place where a repository's commands run.

It may import `app.core`, `app.settings` and `worker.settings`, and nothing else of the product.
It refuses to run a repository's command when it cannot prove that the seal holds, it takes no word from a
repository or a model about mounts, network or limits, and it never runs one as root.
"""
