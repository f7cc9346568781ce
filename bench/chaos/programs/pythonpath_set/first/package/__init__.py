WHERE = "first"
