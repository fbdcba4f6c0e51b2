"""segbench compares segmentation models: a leaderboard anyone can reproduce."""
