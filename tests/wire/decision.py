"""What every transport asks and answers, in one form."""

import dataclasses

NEVER = -1
I32_MAX = 2**31 - 1
U32_MAX = 2**32 - 1
I64_MAX = 2**63 - 1


@dataclasses.dataclass(frozen=True)
class Limit:
    burst: int
    count: int
    period: int

    def parts(self):
        return (self.burst, self.count, self.period)


@dataclasses.dataclass(frozen=True)
class Decision:
    allowed: bool
    limit: int
    remaining: int
    reset_after: int
    retry_after: int

    def saturated(self, largest):
        """As a wire with narrower fields tells it."""
        fields = dataclasses.asdict(self)
        return Decision(**{name: min(value, largest) for name, value in fields.items()})


class Refused(Exception):
    """The server did not decide: a stable code, and the words for people."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text
