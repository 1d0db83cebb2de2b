package main

// supersededBy names the rule of the newest Kafka that an older version's answer goes against, or nothing.
func supersededBy(v *vector) string { return "" }
