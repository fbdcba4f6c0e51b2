"""Us and the peers on the same arrays, in one run, as ratios."""
