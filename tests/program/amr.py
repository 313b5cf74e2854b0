# SPDX-License-Identifier: GPL-3.0-or-later
"""The HDF5 layout of AMReX's plot and particle files, told by h5dump alone.

amr.py FILE... checks that boxes of a level lie side by side inside the domain and inside the level
below, that tables fit the data, and that every value of a plot file is its level. Prints levels,
boxes and values, or boxes and particles."""
import sys

import h5dump

BOX = "lo_i lo_j lo_k hi_i hi_j hi_k"


def need(condition, what):
    if not condition:
        sys.exit("AMReX: " + what)


def scalar(node, name, kind=None):
    need(name in node.attributes, f"no attribute {name}")
    found, shape, values = node.attributes[name]
    need(shape == [] and kind in (None, found), f"{name} is {found} {shape}")
    return values[0]


def boxes_of(level, domain):
    kind, shape, numbers = level.children["boxes"].data
    need(kind == BOX and shape == [scalar(level, "ngrid", "Integer4")], f"boxes: {kind} {shape}")
    boxes = [[int(x) for x in numbers[i:i + 6]] for i in range(0, len(numbers), 6)]
    cells = set()
    for lo_hi in boxes:
        lo, hi = lo_hi[:3], lo_hi[3:]
        need(all(0 <= a <= b <= domain for a, b in zip(lo, hi)), f"box {lo_hi} in a domain to {domain}")
        mine = {(x, y, z) for x in range(lo[0], hi[0] + 1) for y in range(lo[1], hi[1] + 1) for z in range(lo[2], hi[2] + 1)}
        need(not mine & cells, f"box {lo_hi} overlaps another")
        cells |= mine
    return boxes, cells


def size(box):
    return (box[3] - box[0] + 1) * (box[4] - box[1] + 1) * (box[5] - box[2] + 1)


def domain_of(level):
    kind, shape, numbers = level.attributes["prob_domain"]
    need(kind == BOX and shape == [] and numbers[:3] == [0, 0, 0] and len(set(numbers[3:])) == 1, f"prob_domain {kind} {numbers}")
    return int(numbers[3])


def plot(root):
    ncomp, nlevels = int(scalar(root, "num_components", "Integer4")), int(scalar(root, "num_levels", "Integer4"))
    need(scalar(root, "finest_level") == nlevels - 1, "finest_level")
    for i in range(ncomp):
        scalar(root, f"component_{i}", "text")
    need(len([n for n in root.children if n.startswith("level_")]) == nlevels, "the number of levels")
    coarse, expected, counts = None, None, [nlevels, 0, 0]
    for number in range(nlevels):
        level = root.children[f"level_{number}"]
        domain = domain_of(level)
        need(expected in (None, domain + 1), f"a domain of {domain + 1} cells, not of {expected}")
        need(abs(scalar(level, "dx", "Float8") * (domain + 1) - 1) < 1e-12, "dx")
        boxes, cells = boxes_of(level, domain)
        if coarse is not None:
            need({tuple(x // ratio for x in c) for c in cells} <= coarse, f"level {number} is not inside the one below")
        ratio = int(scalar(level, "ref_ratio", "Integer4"))
        expected, coarse = (domain + 1) * ratio, cells
        kind, shape, offsets = level.children["data:offsets=0"].data
        need(kind == "Integer8" and len(offsets) == len(boxes) + 1 and offsets[0] == 0, f"offsets: {kind} {shape}")
        for i, box in enumerate(boxes):
            need(offsets[i + 1] - offsets[i] == size(box) * ncomp, f"the offset of box {i + 1}")
        kind, shape, values = level.children["data:datatype=0"].data
        need(kind == "Float8" and shape == [offsets[-1]], f"data: {kind} {shape}")
        need(set(values) == {number}, f"values of level {number}")
        need(level.children["boxcenter"].data[1] == [len(boxes)], "boxcenter")
        counts = [nlevels, counts[1] + len(boxes), counts[2] + len(values)]
    print("plot", *counts)


def particles(root):
    level = root.children["level_0"]
    boxes, _ = boxes_of(level, domain_of(level))
    kind, shape, counts = level.children["nparticles_grid"].data
    need(kind == "Integer4" and shape == [len(boxes)], f"nparticles_grid: {kind} {shape}")
    n = int(sum(counts))
    need(scalar(root, "nparticles", "Integer8") == n, "nparticles")
    for name, kind, width in (("data:datatype=0", "Integer4", 2 + scalar(root, "num_component_int")),
                              ("data:datatype=1", "Float8", 3 + scalar(root, "num_component_real"))):
        found, shape, _ = level.children[name].data
        need(found == kind and shape == [n * width], f"{name}: {found} {shape}")
    print("particles", len(boxes), n)


for path in sys.argv[1:]:
    top = h5dump.load(path)
    need(scalar(top.children["Chombo_global"], "SpaceDim", "Integer4") == scalar(top, "dim"), "SpaceDim")
    if "num_components" in top.attributes:
        plot(top)
    else:
        particles(top)
