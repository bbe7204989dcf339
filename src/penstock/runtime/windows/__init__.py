"""What windows are made of: assigners, triggers, evictors, and the operator that puts these together.

Files beside the rooms are what several of them need: how windows are cut into panes, and in which words a checkpoint
says how they are kept.
"""
