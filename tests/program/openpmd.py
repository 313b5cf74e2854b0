# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the openPMD standard (1.1.0) for HDF5 files, told by h5dump alone.

openpmd.py BLOCK GRID FILE... checks every rule for a series of files, and that every number is
block + 0.01 step + 0.0001 i for mini-blocks of BLOCK cells in a GRID (as a:b:c). Prints how many
iterations, mesh components and records of particles there are."""
import re
import sys

import h5dump

def need(condition, what):
    if not condition:
        sys.exit("openPMD: " + what)


def attribute(node, where, name, kind, length=None):
    """A scalar, or an array of that length."""
    need(name in node.attributes, f"{where} has no attribute {name}")
    found, shape, values = node.attributes[name]
    need(found == kind or (kind == "real" and found in ("Float4", "Float8")), f"{where}: {name} is {found}")
    need(shape == ([] if length is None else [length]), f"{where}: {name} has the shape {shape}")
    return values[0] if length is None else values


def child(node, where, path):
    for name in path.strip("/").split("/"):
        need(name in node.children, f"{where} has no {path}")
        node = node.children[name]
    return node


def record(node, where):
    attribute(node, where, "unitDimension", "Float8", 7)
    attribute(node, where, "timeOffset", "real")


def components(node):
    """A record is a dataset, a constant, or a group of such."""
    constant = "value" in node.attributes
    return {"": node} if node.is_dataset or constant else node.children


def extent(node, where):
    attribute(node, where, "unitSI", "Float8")
    if node.is_dataset:
        return node.data[1]
    need("value" in node.attributes, f"{where} is neither a dataset nor constant")
    need(node.attributes["shape"][0] == "UnsignedInteger8", f"{where}: shape is {node.attributes['shape'][0]}")
    return [int(x) for x in node.attributes["shape"][2]]


def mesh(node, where):
    parts = components(node)
    shapes = [extent(c, f"{where}/{name}") for name, c in parts.items()]
    dims = len(shapes[0])
    need(all(s == shapes[0] for s in shapes), f"{where}: components of different shapes")
    record(node, where)
    need(attribute(node, where, "geometry", "text") == "cartesian", f"{where}: geometry")
    need(attribute(node, where, "dataOrder", "text") == "C", f"{where}: dataOrder")
    need(len(set(attribute(node, where, "axisLabels", "text", dims))) == dims, f"{where}: axisLabels")
    attribute(node, where, "gridSpacing", "real", dims)
    attribute(node, where, "gridGlobalOffset", "Float8", dims)
    attribute(node, where, "gridUnitSI", "Float8")
    for name, c in parts.items():
        place = attribute(c, f"{where}/{name}", "position", "real", dims)
        need(all(0 <= x < 1 for x in place), f"{where}/{name}: position")
    return list(parts.values())


def species(node, where):
    need({"position", "positionOffset"} <= set(node.children), f"{where} has no position or positionOffset")
    shapes, found = [], []
    for name, r in node.children.items():
        record(r, f"{where}/{name}")
        for part, c in components(r).items():
            shapes.append(extent(c, f"{where}/{name}/{part}"))
            found.append((name, c))
    need(all(len(s) == 1 and s == shapes[0] for s in shapes), f"{where}: records of different lengths")
    return found


def expected(block, grid, step):
    """Numbers of a mesh in row-major order, the slow way."""
    dims = [b * g for b, g in zip(block, grid)]
    total = 1
    for d in dims:
        total *= d
    for flat in range(total):
        at, rest = [], flat
        for d in reversed(dims):
            at.insert(0, rest % d)
            rest //= d
        number = index = 0
        for x, b, g in zip(at, block, grid):
            number, index = number * g + x // b, index * b + x % b
        yield number + 0.01 * step + 0.0001 * index


def same(values, wanted, where):
    wanted = list(wanted)
    need(len(values) == len(wanted), f"{where} has {len(values)} numbers, not {len(wanted)}")
    for i, (a, b) in enumerate(zip(values, wanted)):
        need(abs(a - b) < 1e-9, f"{where}: number {i} is {a}, not {b}")


def iteration(node, step, root, block, grid):
    where = f"iteration {step}"
    need(abs(attribute(node, where, "time", "real") - step * attribute(node, where, "dt", "real")) < 1e-9, f"{where}: time")
    attribute(node, where, "timeUnitSI", "Float8")
    parts, records = 0, 0
    fields = child(node, where, attribute(root, "/", "meshesPath", "text"))
    for name, m in fields.children.items():
        for c in mesh(m, f"{where}, mesh {name}"):
            same(c.data[2], expected(block, grid, step), f"{where}, mesh {name}")
            parts += 1
    if "particlesPath" in root.attributes:
        for name, s in child(node, where, attribute(root, "/", "particlesPath", "text")).children.items():
            for which, c in species(s, f"{where}, species {name}"):
                records += 1
                if not c.is_dataset:
                    continue
                n = len(c.data[2]) // (grid[0] * (grid[1:] or [1])[0] * (grid[2:] or [1])[0])
                wanted = range(len(c.data[2])) if which == "id" else (
                    k // n + 0.01 * step + 0.0001 * (k % n) for k in range(len(c.data[2])))
                same(c.data[2], wanted, f"{where}, {name}/{which}")
    return parts, records


def main(block, grid, *files):
    block, grid = ([int(x) for x in text.split(":")] for text in (block, grid))
    counts = [0, 0, 0]
    for path in files:
        root = h5dump.load(path)
        need(attribute(root, "/", "openPMD", "text") == "1.1.0", "the version")
        attribute(root, "/", "openPMDextension", "UnsignedInteger4")
        need(attribute(root, "/", "basePath", "text") == "/data/%T/", "basePath")
        for name in ("meshesPath", "particlesPath"):
            need(name not in root.attributes or attribute(root, "/", name, "text").endswith("/"), name)
        steps = {int(name): node for name, node in child(root, "/", "data").children.items()}
        encoding = attribute(root, "/", "iterationEncoding", "text")
        form = attribute(root, "/", "iterationFormat", "text")
        if encoding == "fileBased":
            pattern = re.sub(r"%0?(\d*)T", lambda m: r"(\d{%s,})" % (m[1] or "1"), form.replace(".", r"\."))
            match = re.fullmatch(pattern, path.rsplit("/", 1)[-1])
            need(match and list(steps) == [int(match[1])], f"{path} has the iterations {list(steps)} and the format {form}")
        else:
            need(encoding == "groupBased" and form == "/data/%T/", f"encoding {encoding} with the format {form}")
        for step, node in steps.items():
            parts, records = iteration(node, step, root, block, grid)
            counts = [counts[0] + 1, counts[1] + parts, counts[2] + records]
    print(*counts)


main(*sys.argv[1:])
