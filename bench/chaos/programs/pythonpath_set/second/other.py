WHERE = "second"
