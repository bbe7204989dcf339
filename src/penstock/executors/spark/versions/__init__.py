"""The versions of Spark that penstock runs on: what each has, and the way around what an older one lacks."""
