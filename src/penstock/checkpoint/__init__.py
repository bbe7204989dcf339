"""Durable state: changelogs, snapshots, and the metadata that commits them."""
