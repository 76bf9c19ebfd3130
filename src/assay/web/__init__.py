"""The web server: the pages of the workbench and the same calls as JSON, the log endpoint for
services in any language, diagnostics and metrics. Parse, call one verb, render."""

from __future__ import annotations

from assay.core.extras import require_extra

require_extra("serve", "the workbench in the browser")
