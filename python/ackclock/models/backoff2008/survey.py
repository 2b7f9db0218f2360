from ackclock.models.formula import Array, Input, floats, formula

_TIMEOUTS = Input("ratio", "connections that see a timeout", default=0.08)
_CONSECUTIVE = Input("ratio", "those of them that see a consecutive one", default=0.52)


@formula(
    "B-E9", name="survey-backoff", result="share", unit="ratio", timeouts=_TIMEOUTS, consecutive=_CONSECUTIVE
)
def survey_backoff(timeouts: Array = 0.08, consecutive: Array = 0.52) -> Array:
    """Share of connections that see backoff: those with a timeout, of which a part has a consecutive one.

    timeouts, consecutive: ratios of shapes that broadcast. Returns a ratio.
    Source: Mondal & Kuzmanovic 2008 (unnumbered).
    """
    timeouts, consecutive = floats(timeouts, consecutive)
    return timeouts * consecutive
