"""Speed and memory as ratios against peers, and studies; not installed."""
