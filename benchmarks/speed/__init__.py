"""How fast: time and memory per structure and per case, ours and the peers'."""
