"""Head and tail of endless output."""

from hypothesis import given, settings
from hypothesis import strategies as st

from worker.box.capture import Capture


@settings(max_examples=100)
@given(limit=st.integers(2, 40), chunks=st.lists(st.binary(max_size=30), max_size=20))
def test_head_and_tail_are_kept_and_the_rest_is_counted(limit: int, chunks: list[bytes]) -> None:
    capture = Capture(limit)
    for chunk in chunks:
        capture.add(chunk)
    whole = b"".join(chunks)
    assert capture.seen == len(whole)
    assert capture.dropped == max(0, len(whole) - limit)
    if len(whole) <= limit:
        assert capture.content() == whole
    else:
        note = b"\n[%d bytes of output left out here]\n" % capture.dropped
        assert capture.content() == whole[: limit // 2] + note + whole[-(limit - limit // 2) :]
