"""kombu's Redis transport, with one difference: a bell whose acknowledgement fails is done with.

kombu's own counts it as being at work for as long as the connection is thought to stand. Once as many failed as a
worker may take at a time, it takes no more, asks nothing of Redis either, and so never notices that it has lost it.
Redis gives the bell again after its visibility time-out, which costs nothing: it is only a bell.
"""

from kombu.transport import redis, virtual


class BellQoS(redis.QoS):
    """What was taken and is not done with."""

    def ack(self, delivery_tag: str) -> None:
        try:
            super().ack(delivery_tag)  # type: ignore[no-untyped-call]
        except Exception:
            virtual.QoS.ack(self, delivery_tag)  # type: ignore[no-untyped-call]
            raise


class BellChannel(redis.Channel):
    """A channel that counts so."""

    QoS = BellQoS


class BellTransport(redis.Transport):
    """kombu's transport with our channel."""

    Channel = BellChannel


class SentinelBellChannel(redis.SentinelChannel):
    """The same where sentinels say which Redis is the one."""

    QoS = BellQoS


class SentinelBellTransport(redis.SentinelTransport):
    """kombu's transport with our channel."""

    Channel = SentinelBellChannel
