"""A program that takes its settings from the environment is told of names that are none.

The variables that the project's own tools, tests and Python package read would be such names, so
runtime/configuration.cc lists them. This rule finds one that it does not list: a user who sets it
for a tool could start no server in the same shell.
"""

import re

import source

_LIST = "runtime/configuration.cc"
_NAME = re.compile(r"""["'](GRAPHTREE_[A-Z0-9_]*[A-Z0-9])["']""")
_SETTING = re.compile(r'GRAPHTREE_SETTING\("([A-Z0-9_]+)"')
# Tests of names that are none.
_TESTS = ("runtime/configuration_test.cc", "tools/verbs/demo_test.cc")


def _known(sources):
    """The names that the list has; None where there is no such file."""
    for file in sources:
        if file.path == _LIST:
            settings = {"GRAPHTREE_" + name for name in _SETTING.findall(file.text)}
            return settings | set(_NAME.findall(file.text))
    return None


def check(sources):
    """Every quoted name of a variable that the list does not have."""
    known = _known(sources)
    if known is None:
        return
    for file in sources:
        if not (file.is_cpp or file.is_python) or file.path in _TESTS + (_LIST,):
            continue
        if file.path.startswith("tests/tidy/"):
            continue
        for number, line in enumerate(file.text.split("\n"), 1):
            for name in _NAME.findall(line):
                if name not in known:
                    yield source.Finding("environment", file.path, number,
                                         "%s is in no list of %s" % (name, _LIST))
