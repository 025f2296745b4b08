"""Telemetry: a belt's spans as OpenTelemetry has them, sent to the operator's collector over OTLP/HTTP.

It may import `app.core` and OpenTelemetry, whose only door it is; nothing of that is loaded before somebody asks.
It refuses to hold work up: what a collector does not take in time is dropped and counted, and the ledger has it all.
"""
