"""Machines that judge: the kind of plugin is here, so that packages can be made for it; no judge is
built in yet, and no command asks one."""

from __future__ import annotations

from assay.core import plugins

JUDGES = plugins.Kind(name="judge", group="assay.judges", built_in={})
