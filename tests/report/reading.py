"""Pages as browsers read them: by html5lib."""

import html5lib

_HTML = "{http://www.w3.org/1999/xhtml}"


def parsed(html):
    """The tree; any error of the page raises."""
    return html5lib.HTMLParser(strict=True).parse(html)


def structure(tree):
    """Every element in order: its name and the names of its attributes."""
    return [
        (str(element.tag).replace(_HTML, ""), tuple(sorted(element.attrib)))
        for element in tree.iter()
    ]


def section(tree, name):
    """What a section says, as one line."""
    found = next(e for e in tree.iter(f"{_HTML}section") if e.attrib["id"] == name)
    return " ".join(" ".join(found.itertext()).split())


def words(tree):
    """All that the page says, scripts and styles included, and its attributes."""
    said = ["".join(tree.itertext())]
    said += [value for element in tree.iter() for value in element.attrib.values()]
    return "\n".join(said)


def sections(tree):
    return [element.attrib["id"] for element in tree.iter(f"{_HTML}section")]
