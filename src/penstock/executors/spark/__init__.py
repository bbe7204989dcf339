"""The executor on Spark: the only place, with `penstock.spark`, that imports pyspark."""
