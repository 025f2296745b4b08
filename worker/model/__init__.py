"""The model room: the one client of the Messages API, its prices, and the bounded tool loop.

It may import `app.core`, the standard library and, inside `client.py` alone and only when the first model is made,
the anthropic SDK.
It refuses to retry without counting the attempt, to act on a reply that was cut, and to invent a price.
"""
