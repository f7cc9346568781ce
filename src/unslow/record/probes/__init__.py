"""One file per sight. A probe emits facts and never judges them."""
