"""One file per cause; `unslow.cause.load` finds them."""
