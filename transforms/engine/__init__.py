"""One file, one parse: the engine that transforms run on."""
