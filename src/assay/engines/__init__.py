"""Search engines that can be measured: Python modules, HTTP services, stores, baselines, and
Assay's own engine on a corpus."""
