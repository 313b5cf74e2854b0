# SPDX-License-Identifier: GPL-3.0-or-later
"""An HDF5 file as h5dump shows it: for scripts that check layouts and know nothing of tutti."""
import re
import subprocess
import xml.etree.ElementTree as tree

H5 = "{http://hdfgroup.org/HDF5/XML/schema/HDF5-File.xsd}"


class Node:
    """A group or dataset: attributes as {name: (type, shape, values)}."""

    def __init__(self, element):
        self.attributes, self.children, self.data = {}, {}, None
        self.is_dataset = element.tag == H5 + "Dataset"
        if self.is_dataset:
            self.data = value_of(element)
        for e in element:
            if e.tag == H5 + "Attribute":
                self.attributes[e.get("Name")] = value_of(e)
            elif e.tag in (H5 + "Group", H5 + "Dataset"):
                self.children[e.get("Name")] = Node(e)


def value_of(e):
    shape = [int(d.get("DimSize")) for d in e.find(H5 + "Dataspace").iter(H5 + "Dimension")]
    text = "".join(e.find(H5 + "Data").itertext())
    fields = [f.get("FieldName") for f in e.iter(H5 + "Field")]
    if fields:
        return " ".join(fields), shape, [float(x) for x in re.findall(r"[^\s{},]+", text)]
    kind = e.find(H5 + "DataType/" + H5 + "AtomicType")[0]
    name = kind.tag[len(H5):-len("Type")] + (kind.get("Size") or "")
    if kind.get("Sign") == "false":
        name = "Unsigned" + name
    if name.startswith("String"):
        return "text", shape, re.findall(r'"([^"]*)"', text)
    return name, shape, [float(x) for x in text.split()]


def load(path):
    text = subprocess.run(["h5dump", "-x", "-m", "%.17g", path], check=True, stdout=subprocess.PIPE).stdout
    return Node(tree.fromstring(text).find(H5 + "RootGroup"))
