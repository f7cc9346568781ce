"""python -m unslow"""

from unslow.cli import main

main()
