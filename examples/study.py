#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Medians and interquartile ranges of a study: study.py STUDY.csv [METRIC].

STUDY.csv is the long form that `tutti study ... --csv STUDY.csv` writes. Nothing but Python is needed; where matplotlib
is installed, STUDY.png shows every run over the points."""
import csv
import statistics
import sys

OF_A_RUN = ["point", "repetition", "round", "directory", "metric", "unit", "value"]


def read(path, metric):
    """The varied keys, the metric, its unit, and {values of the keys: values of the metric}, in the order of the file."""
    with open(path, newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    if not rows or not set(OF_A_RUN) <= set(rows[0]):
        sys.exit(f"{path}: is not the long form of a study")
    metric = metric or rows[0]["metric"]
    keys = [name for name in rows[0] if name not in OF_A_RUN]
    points, unit = {}, ""
    for row in rows:
        if row["metric"] == metric:
            points.setdefault(tuple(row[key] for key in keys), []).append(float(row["value"]))
            unit = row["unit"]
    if not points:
        sys.exit(f"{path}: has no metric {metric}")
    return keys, metric, unit, points


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3


def plot(path, keys, metric, unit, points):
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot
    names = [" ".join(f"{k}={v}" for k, v in zip(keys, point)) for point in points]
    for place, values in enumerate(points.values()):
        pyplot.plot(values, [place] * len(values), "o", alpha=0.5)
    pyplot.yticks(range(len(names)), names)
    pyplot.xlabel(f"{metric} [{unit}]")
    pyplot.tight_layout()
    pyplot.savefig(path.removesuffix(".csv") + ".png")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    keys, metric, unit, points = read(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None)
    print(*keys, "n", "median", "q1", "q3", sep="\t")
    for point, values in points.items():
        low, median, high = quartiles(values)
        print(*point, len(values), f"{median:.6g}", f"{low:.6g}", f"{high:.6g}", sep="\t")
    print(f"# {metric} [{unit}]")
    plot(sys.argv[1], keys, metric, unit, points)


main()
