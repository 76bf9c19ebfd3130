"""The web server: the log endpoint for services in any language, diagnostics and metrics, the
dashboard and the expert's review page. Parse, call one verb, render."""
