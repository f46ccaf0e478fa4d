"""Expecting a refusal."""

import pytest

from decision import Refused


def refused(call, *args, **kwargs):
    """The refusal that the call is answered with."""
    with pytest.raises(Refused) as caught:
        call(*args, **kwargs)
    return caught.value


def refusal(call, *args, **kwargs):
    """Its code."""
    return refused(call, *args, **kwargs).code
