"""The neuron-migrate application: discovery, pipeline, journal, reports and review."""
