"""The box on a cluster: each run is a Job of its own under a second kernel (gVisor or Kata), by the promise of `Runs`.

It may import the rest of the box and httpx, which speaks to the cluster's API.
It refuses set-up commands, since its pods reach nothing, and any cluster in which its own probe saw a pod reach out.
"""
