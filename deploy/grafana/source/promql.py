"""
The few forms of PromQL that the dashboards are made of.
"""


def rate(metric: str, where: str, by: str = "") -> str:
    """
    How often a second, over the time that one point of the graph stands for.
    """
    return f"{_sum(by)}(rate({metric}{{{where}}}[$__rate_interval]))"


def per_minute(metric: str, where: str, by: str = "") -> str:
    """
    How often a minute, for what is rare.
    """
    return f"60 * {rate(metric, where, by)}"


def increase(metric: str, where: str, by: str = "", over: str = "$__range") -> str:
    """
    How many, in the whole range shown.
    """
    return f"{_sum(by)}(increase({metric}{{{where}}}[{over}]))"


def level(metric: str, where: str, by: str = "") -> str:
    return f"{_sum(by)}({metric}{{{where}}})"


def quantile(share: float, metric: str, where: str, by: str = "") -> str:
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, {rate(f'{metric}_bucket', where, labels)})"


def mean(metric: str, where: str, by: str = "", over: str = "$__rate_interval") -> str:
    """
    The mean of what a histogram counted; nothing where it counted nothing.
    """
    return f"{increase(f'{metric}_sum', where, by, over)} / ({increase(f'{metric}_count', where, by, over)} > 0)"


def share(metric: str, part: str, whole: str, by: str = "", over: str = "$__range") -> str:
    """
    How much of *whole* is *part*, both selections of one counter; nothing where the whole is nothing.
    """
    return f"{increase(metric, part, by, over)} / ({increase(metric, whole, by, over)} > 0)"


def _sum(by: str) -> str:
    return f"sum by ({by}) " if by else "sum"
