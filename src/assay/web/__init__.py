"""The web server: the log endpoint for services in any language, diagnostics and metrics, the
dashboard and the expert's review page. Parse, call one verb, render."""

from __future__ import annotations

from assay.core.extras import require_extra

require_extra("serve", "the workbench in the browser")
